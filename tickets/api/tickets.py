from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import QuerySet, Sum
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.field_tables import properties
from callcentre.api.openapi import array, flag, integer, mapping, operation, page, shape, text
from callcentre.api.pagination import LimitOffset, limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.lookups import get_or_404, pk_or_404
from callcentre.core.parsing import Reject, parse_boolean
from tickets.api.filters import TicketFilterSet
from tickets.api.serializers import (
    AgentResponseInput,
    CommentInput,
    CustomerResponseInput,
    MacroInput,
    TakeNextInput,
    TicketEditInput,
    TicketInput,
)
from tickets.models import Macro, Team, Ticket, TicketCategory, TicketQueue, TicketStatus, TicketType
from tickets.models.api_rows import read_tickets
from tickets.models.ticket import TicketCount
from tickets.models.ticket_fields import MESSAGE_FIELDS, TICKET_FIELDS, WHOLE_TICKET_FIELDS
from tickets.verbs.assignment import take_next_as
from tickets.verbs.automation import use_macro_of
from tickets.verbs.messages import comment_on, receive_message, reply_to
from tickets.verbs.tickets import edit_ticket, open_ticket


class TicketPages(LimitOffset):
    """Pages of tickets. A trigger counts all tickets; filtered ones are counted only if they fill a page."""

    def page(self, queryset: QuerySet[Ticket], request: Request, *, with_custom_fields: bool) -> list[dict[str, Any]]:
        limit, offset = limit_and_offset(request.query_params, [])
        if queryset.query.is_empty():
            self.count = 0
            return []
        keys = self.keys_of_page(queryset, request) if offset else queryset.values("pk")[:limit]
        ids = [] if keys is None else list(keys.values_list("pk", flat=True))
        result = read_tickets(ids, with_custom_fields=with_custom_fields)
        if not offset:
            self.count = len(result) if len(result) < limit else self.count_of(queryset)
        return result

    def count_of(self, queryset: Any) -> int:
        if queryset.query.where:
            return super().count_of(queryset)
        return int(TicketCount.objects.aggregate(total=Sum("count"))["total"] or 0)


MESSAGE = shape("TicketMessage", "A part of the conversation.", **properties(MESSAGE_FIELDS))
_CONVERSATION: dict[str, Any] = {
    "messages": array(MESSAGE, "Oldest first."),
    "custom_fields": mapping(
        "Custom field -> value, null where it has none; in lists with `include_custom_fields`.",
        {},
        {"order_number": "A-1204", "priority": None},
    ),
}
TICKET = shape(
    "Ticket",
    "A matter of a customer and its conversation.",
    optional=("custom_fields",),
    **properties(TICKET_FIELDS),
    **_CONVERSATION,
)
WHOLE_TICKET = shape(
    "WholeTicket", "A ticket with all that it has.", **properties(WHOLE_TICKET_FIELDS), **_CONVERSATION
)
NAMED = shape(
    "Named", "An entry that tickets refer to.", id=integer("Its id.", 2, of="pk"), name=text("Its name.", "Complaints")
)
STATUS = shape(
    "TicketStatus",
    "A status that tickets can have.",
    id=integer("The status's id.", 2, of="pk"),
    name=text("Its name.", "Waiting for customer"),
    kind=text("What the service makes of it.", "waiting_for_customer"),
    order=integer("Order among the statuses; of a kind's, the lowest is the one that tickets move to.", 20),
    substatuses=array(NAMED, "Finer words for it."),
)


class TicketViewSet(ApiViewSet):
    """Tickets: the conversations with customers."""

    area = "tickets"

    @operation(
        "list_tickets",
        "List tickets",
        "Ordered by their last change, newest first, with their messages.",
        is_extension=False,
        answer=page(TICKET),
        filter_set=TicketFilterSet,
        is_paged=True,
        query=[flag("include_custom_fields", "Adds `custom_fields` to each ticket.")],
        errors={ErrorCode.NOT_CHOICE: "order"},
    )
    def list(self, request: Request) -> Response:
        paginator = TicketPages()
        faults = paginator.faults(request)
        include = _flag(request, "include_custom_fields", faults)
        tickets = TicketFilterSet.filtered(request, Ticket.objects.all(), faults)
        page = paginator.page(tickets, request, with_custom_fields=include)
        return paginator.get_paginated_response(page)

    @operation(
        "create_ticket",
        "Open a ticket",
        "With the customer's first message. No mail is sent. Replies to a ticket of the source `email` go"
        " to `from`: an address, also as `Jan Kowal <jan@client.example>`.",
        body=TicketInput,
        answer=shape("CreatedTicket", "The new ticket.", ticket_id=text("Its id.", "5012")),
        errors=[ErrorCode.TICKET_QUEUE_MISSING],
    )
    def create(self, request: Request) -> Response:
        values, faults = self.read(TicketInput)
        return Response({"ticket_id": str(open_ticket(self.actor, faults, **values).ticket_id)}, status=201)

    @operation(
        "take_next_ticket",
        "Take the next ticket",
        "Assigns the ticket without an agent that wants work first: by priority, then the earliest due time, then"
        " age. Tickets of a team are for its members; those that wait for the customer, or are postponed, are left"
        " out. Agents who ask at the same time get different tickets.",
        body=TakeNextInput,
        answer=shape("TakenTicket", "The ticket, which is the agent's now.", ticket_id=text("Its id.", "5012")),
        status=200,
        is_empty_if="No ticket waits for the agent.",
    )
    def take_next(self, request: Request) -> Response:
        values, faults = self.read(TakeNextInput)
        ticket = take_next_as(self.actor, faults, **values)
        return Response({"ticket_id": str(ticket.pk)}) if ticket else Response(status=204)

    @operation("read_ticket", "Read a ticket", "With its custom fields, priority, type and team.", answer=WHOLE_TICKET)
    def retrieve(self, request: Request, ticket_id: str) -> Response:
        pk = ticket_or_404(ticket_id).pk
        return Response(read_tickets([pk], with_custom_fields=True, are_whole=True)[0])

    @operation(
        "edit_ticket",
        "Edit a ticket",
        "Missing fields, and fields that are null, stay as they are. A change of status leaves a message"
        " with a `system_comment`. Replies go to `from`: an address, also as `Jan Kowal"
        " <jan@client.example>`. A ticket without a customer gets the one with that address.",
        body=TicketEditInput,
        is_partial=True,
        errors=[ErrorCode.TICKET_MERGED],
    )
    def update(self, request: Request, ticket_id: str) -> Response:
        with named_ticket(ticket_id) as ticket:
            values, faults = self.read(TicketEditInput, is_partial=True)
            edit_ticket(ticket, self.actor, faults, **values)
        return Response(status=204)

    @operation(
        "comment_ticket",
        "Comment a ticket",
        "For the other agents. The status stays.",
        is_extension=False,
        body=CommentInput,
        errors=[ErrorCode.TICKET_MERGED],
    )
    def comment(self, request: Request, ticket_id: str) -> Response:
        with named_ticket(ticket_id) as ticket:
            values, faults = self.read(CommentInput)
            comment_on(ticket, self.actor, faults, **values)
        return Response(status=204)

    @operation(
        "use_ticket_macro",
        "Use a macro on a ticket",
        "All its actions, or none of them.",
        body=MacroInput,
        errors=[ErrorCode.TICKET_MERGED],
    )
    def macro(self, request: Request, ticket_id: str) -> Response:
        with named_ticket(ticket_id) as ticket:
            values, faults = self.read(MacroInput)
            use_macro_of(ticket, self.actor, faults, **values)
        return Response(status=204)

    @operation(
        "respond_to_ticket",
        "Send a message to the customer",
        "For tickets of the sources `email`, `marketplace_message` and `marketplace_dispute`. A worker"
        " sends it. A ticket that is new or in progress then waits for the customer.",
        is_extension=False,
        body=AgentResponseInput,
        answer={"type": "array", "items": {"type": "object"}, "maxItems": 0, "example": []},
        status=201,
        errors=[ErrorCode.TICKET_MERGED, ErrorCode.REPLY_UNSUPPORTED, ErrorCode.RECIPIENT_UNKNOWN],
    )
    def agent_response(self, request: Request, ticket_id: str) -> Response:
        with named_ticket(ticket_id) as ticket:
            values, faults = self.read(AgentResponseInput)
            reply_to(ticket, self.actor, faults, **values)
        return Response([], status=201)

    @operation(
        "add_customer_response",
        "Add a reply of the customer",
        "The ticket becomes new again, even if it was closed. After a merge it is the other ticket.",
        is_extension=False,
        body=CustomerResponseInput,
    )
    def customer_response(self, request: Request, ticket_id: str) -> Response:
        with named_ticket(ticket_id) as ticket:
            values, faults = self.read(CustomerResponseInput)
            receive_message(ticket, self.actor, faults, **values)
        return Response(status=204)


def ticket_or_404(ticket_id: str) -> Ticket:
    """Return the ticket with only its key."""
    return get_or_404(Ticket.objects.only("pk"), ticket_id, ErrorCode.TICKET_NOT_FOUND)


@contextmanager
def named_ticket(ticket_id: str) -> Iterator[Ticket]:
    """Yield a ticket with only its key, for a verb that finds and locks the row itself.

    The row is looked for only after a refusal: an unknown id is 404 even if the request has other faults.
    """
    try:
        yield Ticket(pk=pk_or_404(Ticket, ticket_id, ErrorCode.TICKET_NOT_FOUND))
    except (Invalid, Conflict, APIException):
        ticket_or_404(ticket_id)
        raise


def _flag(request: Request, name: str, faults: list[Fault]) -> bool:
    try:
        return parse_boolean(text) if (text := request.query_params.get(name, "").strip()) else False
    except Reject as reject:
        faults.append(Fault(reject.fault.code, name))
        return False


class TicketWordsViewSet(ApiViewSet):
    """The lists of words by which tickets are sorted, and the macros."""

    area = "tickets"

    @operation("list_ticket_statuses", "List the statuses of tickets", answer=array(STATUS))
    def statuses(self, request: Request) -> Response:
        statuses = TicketStatus.objects.prefetch_related("substatuses")
        return Response(
            [STATUS.data(one, substatuses=[NAMED.data(each) for each in one.substatuses.all()]) for one in statuses]
        )

    @operation("list_ticket_categories", "List the categories of tickets", answer=array(NAMED))
    def categories(self, request: Request) -> Response:
        return _active(TicketCategory)

    @operation("list_ticket_macros", "List the macros", answer=array(NAMED))
    def macros(self, request: Request) -> Response:
        return _active(Macro)

    @operation("list_ticket_teams", "List the teams", answer=array(NAMED))
    def teams(self, request: Request) -> Response:
        return _active(Team)

    @operation("list_ticket_types", "List the types of tickets", answer=array(NAMED))
    def types(self, request: Request) -> Response:
        return _active(TicketType)

    @operation("list_ticket_queues", "List the ticket queues", answer=array(NAMED))
    def queues(self, request: Request) -> Response:
        return _active(TicketQueue)


def _active(model: Any) -> Response:
    return Response(list(model.objects.filter(is_active=True).values("id", "name")))
