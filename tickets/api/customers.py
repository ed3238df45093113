from typing import Any

from django.db.models import F, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.field_tables import TableInput, properties
from callcentre.api.fields import Input, ListField, TextField
from callcentre.api.filters import FilterSet, IdFilter, ListFilter, TextFilter
from callcentre.api.openapi import array, integer, limit_parameter, mapping, minute, operation, page, shape, text
from callcentre.api.pagination import LimitOffset, read_limit
from callcentre.api.viewsets import ApiViewSet
from callcentre.core import times
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.lookups import get_or_404
from callcentre.core.parsing import Reject, parse_text
from callcentre.core.phone import PhoneError, normalise
from tickets.api.serializers import agent_field, custom_fields_field
from tickets.models import ChatState, Company, Customer
from tickets.models.api_rows import read_customers
from tickets.models.customer_fields import CREATE, CUSTOMER_FIELDS
from tickets.timeline import KIND_NAMES, Entry, Kind, Place, Reader, kinds, read_page
from tickets.verbs.customers import add_customer_note, create_company, create_customer

# Clients copy all customers; most other lists have shorter pages.
MAX_CUSTOMERS = 1000


class PhoneNumbersField(ListField):
    """An array of numbers, or one number; "" means none."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, str) and not data.strip():
            return []
        return super().to_internal_value(data if isinstance(data, list) else [data])


class CustomerInput(TableInput):
    table = CUSTOMER_FIELDS
    accepts = CREATE
    example = {"name": "Jan", "surname": "Kowal", "phone_numbers": ["+48 22 555 01 07"]}
    phone_numbers = PhoneNumbersField(
        "Phone numbers, the main one first; `phone_number` (one or an array) is understood too.",
        child=TextField(max_length=100),
        required=False,
        max_length=50,
        example=["+48 22 555 01 07"],
        errors=[ErrorCode.PHONE_LETTERS, ErrorCode.PHONE_INVALID, ErrorCode.PHONE_TOO_LONG],
    )
    custom_fields = custom_fields_field("Custom field -> value; an unknown name is refused.")


class CompanyInput(Input):
    name = TextField("Name of the company.", max_length=200, example="ACME")


class NoteInput(Input):
    message = TextField("The note.", max_length=100_000, example="Prefers to be called in the morning.")
    user_login = agent_field("Login of the active agent who wrote the note.", source="agent_login", required=False)


class PhoneFilter(TextFilter):
    """A phone number in any spelling. An invalid number finds nothing."""

    def filter(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        try:
            return queryset.filter(numbers__number=normalise(value))
        except PhoneError:
            return queryset.none()


class EmailFilter(TextFilter):
    def filter(self, queryset: Any, value: str) -> Any:
        return queryset.found_by_email(value)


class IdentifierFilter(TextFilter):
    def filter(self, queryset: Any, value: str) -> Any:
        return queryset.found_by_identifier(value)


class CustomerFilterSet(FilterSet):
    phone_number = PhoneFilter(help_text="One of the phone numbers, in any spelling.")
    email = EmailFilter(help_text="The e-mail address, also of a customer merged into another.")
    identifier = IdentifierFilter(help_text="The id of another system, also of a customer merged into another.")
    company_id = IdFilter("company", help_text="A company.")


class PlaceFilter(TextFilter):
    """The place in a timeline after which a page begins."""

    errors = (ErrorCode.PLACE_MALFORMED,)

    def parse(self, text: str) -> Any:
        place = Place.parse(parse_text(text))
        if place is None:
            raise Reject(ErrorCode.PLACE_MALFORMED)
        return place


class TimelineFilterSet(FilterSet):
    kind = ListFilter(choices=list(KIND_NAMES), help_text="Only entries of these kinds.")
    before = PlaceFilter(help_text="`next` of the page before, for the entries after it.")


CUSTOMER = shape(
    "Customer",
    "A person that the contact centre serves.",
    **properties(CUSTOMER_FIELDS),
    custom_fields=mapping("Custom field -> value, null where it has none.", {}, {"loyalty": "gold"}),
)
COMPANY = shape(
    "Company",
    "An organisation that customers belong to.",
    company_id=integer("Its id.", 4),
    name=text("Its name.", "ACME"),
)
_CALL: Any = {
    "recordings": array(text("A file name.", "1790001234.77.wav"), "The stored recordings, oldest first."),
    "summary": array(text("A sentence.", "The parcel is late."), "The summary by the model; empty if there is none."),
    "sentiment": text("How the customer felt; empty if unknown.", "NEUTRAL"),
}
# Kind of an entry -> its shape.
TIMELINE: Any = {
    "attempt": shape(
        "TimelineAttempt",
        "A call of the dialler. It is an entry of its own instead of a call.",
        outbound_id=text("The campaign.", "SALES"),
        record_id=integer("The record; it may be gone.", 4711),
        phone_number=text("The number called.", "+48 22 555 01 07"),
        connection_id=text("The call.", "1790001234.77"),
        outcome=text(
            "`answered`, `busy`, `no_answer`, `failed`, `dropped` or `machine`; empty while the call goes on.",
            "answered",
        ),
        status=text("The status that the agent chose as the result; empty if there is none.", "Sold"),
        note=text("The agent's note of the result.", "Wants a call in spring."),
        **_CALL,
    ),
    "call": shape(
        "TimelineCall",
        "A call that no dialler placed.",
        direction=text("The direction.", "INBOUND", enum=["INBOUND", "OUTBOUND"]),
        phone_number=text("The number of the customer, as it was sent.", "+48 22 555 01 07"),
        queue_id=integer("The queue.", 3, nullable=True),
        disposition=text("The result as in GET /connections; empty while the call goes on.", "ANSWERED"),
        billsec=integer("The talk in seconds.", 62),
        **_CALL,
    ),
    "chat": shape(
        "TimelineChat",
        "A chat of a client with one of the customer's addresses.",
        client_name=text("Name of the client.", "Jan Kowal"),
        chat_queue_id=integer("The queue.", 3),
        status=text("The state of the chat.", "closed", enum=ChatState.values),
        closed_at=minute("When it was closed.", "2026-11-20 10:30"),
    ),
    "note": shape(
        "TimelineNote",
        "A note about the customer.",
        message=text("The note.", "Prefers to be called in the morning."),
        author_name=text("Who wrote it.", "Anna Nowak"),
    ),
    "rating": shape(
        "TimelineRating",
        "A rating of a reply.",
        value=integer("1 (worst) to 5.", 5),
        ticket_id=text("The ticket.", "60"),
        message_id=integer("The reply.", 184),
    ),
    "ticket": shape(
        "TimelineTicket",
        "A ticket, by the time when it was opened.",
        subject=text("The subject.", "Parcel lost"),
        source=text("The way by which it came.", "email"),
        ticket_queue_id=integer("The ticket queue.", 1),
        full_status_name=text("The present status.", "Closed"),
        closed_at=minute("When it was closed.", "2026-11-21 09:00"),
    ),
}
ENTRY = shape(
    "TimelineEntry",
    "An entry of a timeline. Beside the common fields it has one object, named after its kind.",
    optional=tuple(TIMELINE),
    kind=text("The kind.", "note", enum=list(TIMELINE)),
    id=text("Id of the ticket, chat, note or rating; of a call and an attempt the id of the call.", "12"),
    at=minute("When it began, or was written.", "2026-11-20 10:15"),
    agent_login=text("Login of the agent; an empty string if there is none.", "agent1"),
    **TIMELINE,
)
_EXAMPLE = {
    "kind": "note",
    "id": "12",
    "at": "2026-11-20 10:00",
    "agent_login": "agent1",
    "note": {"message": "Prefers to be called in the morning.", "author_name": "Anna Nowak"},
}


class CustomerViewSet(ApiViewSet):
    """Customers: the people that the contact centre serves."""

    area = "customers"

    @operation(
        "list_customers",
        "List customers",
        "Ordered by id. Phone numbers match in any spelling.",
        answer=page(CUSTOMER),
        filter_set=CustomerFilterSet,
        is_paged=True,
        most=MAX_CUSTOMERS,
    )
    def list(self, request: Request) -> Response:
        paginator = LimitOffset(MAX_CUSTOMERS)
        customers = CustomerFilterSet.filtered(request, Customer.objects.current(), paginator.faults(request))
        keys = paginator.keys_of_page(customers.order_by("id"), request)
        ids = [] if keys is None else list(keys.values_list("pk", flat=True))
        return paginator.get_paginated_response(read_customers(ids))

    @operation(
        "read_customer",
        "Read a customer",
        "For a merged customer, returns the customer that it was merged into.",
        answer=CUSTOMER,
    )
    def retrieve(self, request: Request, customer_id: str) -> Response:
        return Response(read_customers([customer_or_404(customer_id).pk])[0])

    @operation(
        "create_customer",
        "Enter a customer",
        body=CustomerInput,
        answer=shape("CreatedCustomer", "The new customer.", customer_id=integer("The id.", 77)),
    )
    def create(self, request: Request) -> Response:
        data: Any = request.data
        is_singular = isinstance(data, dict) and data.get("phone_numbers") in (None, "", []) and "phone_number" in data
        if is_singular:
            data["phone_numbers"] = data["phone_number"]
        values, faults = self.read(CustomerInput)
        if is_singular:
            self.wire_names = {**self.wire_names, "phone_numbers": "phone_number"}
        return Response({"customer_id": create_customer(self.actor, faults, **values).pk}, status=201)

    @operation(
        "read_customer_timeline",
        "Read the timeline of a customer",
        "Calls, attempts of campaigns, tickets, chats, notes and ratings, newest first. A kind is there if"
        " the API user may read its rows: calls need `connections:read`, attempts `campaigns:read`;"
        " tickets, chats and ratings need `tickets:read`. To read on, give `next` as `before`; it is empty"
        " at the end. Entries that come meanwhile shift no page.",
        query=[limit_parameter()],
        filter_set=TimelineFilterSet,
        answer=shape(
            "Timeline",
            "A page of a timeline.",
            next=text("Where the next page begins; an empty string on the last page.", "1795165200000000.note.12"),
            result=array(ENTRY, "This page of them.", example=[_EXAMPLE]),
        ),
    )
    def timeline(self, request: Request, customer_id: str) -> Response:
        customer = customer_or_404(customer_id)
        faults: list[Fault] = []
        limit = read_limit(request.query_params, faults)
        given = TimelineFilterSet.values_of(request, faults)
        sees_calls = self.principal.has_right("connections:read")
        reader = Reader(
            frozenset(kind.name for kind in kinds() if self.principal.has_right(kind.api_right)),
            sees_recordings=sees_calls,
            sees_summaries=sees_calls,
        )
        page = read_page(customer, reader, only=given.get("kind", ()), before=given.get("before"), limit=limit)
        return Response({"next": str(page.next or ""), "result": [_entry_data(*one) for one in page.entries]})

    @operation("add_customer_note", "Add a note to a customer", is_extension=False, body=NoteInput)
    def add_note(self, request: Request, customer_id: str) -> None:
        customer = customer_or_404(customer_id)
        values, faults = self.read(NoteInput)
        add_customer_note(customer, self.actor, faults, **values)


class CompanyViewSet(ApiViewSet):
    """Companies that customers belong to."""

    area = "customers"

    @operation("list_companies", "List the companies", "Ordered by name.", answer=array(COMPANY))
    def list(self, request: Request) -> Response:
        return Response(list(Company.objects.values("name", company_id=F("id"))))

    @operation(
        "create_company",
        "Enter a company",
        body=CompanyInput,
        answer=shape("CreatedCompany", "The new company.", company_id=integer("The id.", 4)),
    )
    def create(self, request: Request) -> Response:
        values, faults = self.read(CompanyInput)
        return Response({"company_id": create_company(self.actor, faults, **values).pk}, status=201)


def _entry_data(kind: Kind, entry: Entry) -> dict[str, Any]:
    common = {"kind": kind.name, "id": entry.id, "at": times.minute(entry.at), "agent_login": entry.agent_login}
    return {**common, kind.name: entry.details}


def customer_or_404(customer_id: str) -> Customer:
    """Return the customer of this id, or the customer that it was merged into."""
    customer = get_or_404(Customer.objects.select_related("merged_into"), customer_id, ErrorCode.CUSTOMER_NOT_FOUND)
    return customer.merged_into or customer
