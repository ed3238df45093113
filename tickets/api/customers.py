from typing import Any

from django.db.models import F, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.field_tables import TableInput
from callcentre.api.fields import ListField, TextField
from callcentre.api.filters import FilterSet, IdFilter, ListFilter, TextFilter
from callcentre.api.pagination import LimitOffset, read_limit
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.lookups import get_or_404
from callcentre.core.parsing import Reject, parse_text
from callcentre.core.phone import PhoneError, normalise
from callcentre.core.times import minute
from tickets.api.serializers import ValueMapField
from tickets.models import Company, Customer
from tickets.models.customer_fields import CREATE, CUSTOMER_FIELDS
from tickets.models.customer_rows import read_customers
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
    phone_numbers = PhoneNumbersField(child=TextField(max_length=100), required=False, max_length=50)
    custom_fields = ValueMapField(required=False)


class CompanyInput(Input):
    name = TextField(max_length=200)


class NoteInput(Input):
    message = TextField(max_length=100_000)
    user_login = TextField(source="agent_login", required=False, max_length=100)


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

    class Meta:
        model = Customer
        fields: list[str] = []


class PlaceFilter(TextFilter):
    """The place in a timeline after which a page begins."""

    def parse(self, text: str) -> Any:
        place = Place.parse(parse_text(text))
        if place is None:
            raise Reject(ErrorCode.PLACE_MALFORMED)
        return place


class TimelineFilterSet(FilterSet):
    kind = ListFilter(choices=list(KIND_NAMES), help_text="Only entries of these kinds.")
    before = PlaceFilter(help_text="`next` of the page before, for the entries after it.")

    class Meta:
        model = Customer
        fields: list[str] = []


class CustomerViewSet(ApiViewSet):
    """Customers: the people that the contact centre serves."""

    area = "customers"

    def list(self, request: Request) -> Response:
        paginator = LimitOffset(MAX_CUSTOMERS)
        customers = CustomerFilterSet.filtered(request, Customer.objects.current(), paginator.faults(request))
        keys = paginator.keys_of_page(customers.order_by("id"), request)
        ids = [] if keys is None else list(keys.values_list("pk", flat=True))
        return paginator.get_paginated_response(read_customers(ids))

    def retrieve(self, request: Request, customer_id: str) -> Response:
        return Response(read_customers([customer_or_404(customer_id).pk])[0])

    def create(self, request: Request) -> Response:
        data: Any = request.data
        is_singular = isinstance(data, dict) and data.get("phone_numbers") in (None, "", []) and "phone_number" in data
        if is_singular:
            data["phone_numbers"] = data["phone_number"]
        values, faults = self.read(CustomerInput)
        if is_singular:
            self.wire_names = {**self.wire_names, "phone_numbers": "phone_number"}
        return Response({"customer_id": create_customer(self.actor, faults, **values).pk}, status=201)

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

    def add_note(self, request: Request, customer_id: str) -> Response:
        customer = customer_or_404(customer_id)
        values, faults = self.read(NoteInput)
        add_customer_note(customer, self.actor, faults, **values)
        return Response(status=204)


class CompanyViewSet(ApiViewSet):
    """Companies that customers belong to."""

    area = "customers"

    def list(self, request: Request) -> Response:
        return Response(list(Company.objects.values("name", company_id=F("id"))))

    def create(self, request: Request) -> Response:
        values, faults = self.read(CompanyInput)
        return Response({"company_id": create_company(self.actor, faults, **values).pk}, status=201)


def _entry_data(kind: Kind, entry: Entry) -> dict[str, Any]:
    common = {"kind": kind.name, "id": entry.id, "at": minute(entry.at), "agent_login": entry.agent_login}
    return {**common, kind.name: entry.details}


def customer_or_404(customer_id: str) -> Customer:
    """Return the customer of this id, or the customer that it was merged into."""
    customer = get_or_404(Customer.objects.select_related("merged_into"), customer_id, ErrorCode.CUSTOMER_NOT_FOUND)
    return customer.merged_into or customer
