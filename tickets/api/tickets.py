from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import QuerySet, Sum
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

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
    TicketEditInput,
    TicketInput,
)
from tickets.models import Ticket, TicketCategory, TicketQueue, TicketStatus
from tickets.models.ticket import TicketCount
from tickets.models.ticket_rows import read_tickets
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


class TicketViewSet(ApiViewSet):
    """Tickets: the conversations with customers."""

    area = "tickets"

    def list(self, request: Request) -> Response:
        paginator = TicketPages()
        faults = paginator.faults(request)
        include = _flag(request, "include_custom_fields", faults)
        tickets = TicketFilterSet.filtered(request, Ticket.objects.all(), faults)
        page = paginator.page(tickets, request, with_custom_fields=include)
        return paginator.get_paginated_response(page)

    def create(self, request: Request) -> Response:
        values, faults = self.read(TicketInput)
        return Response({"ticket_id": str(open_ticket(self.actor, faults, **values).ticket_id)}, status=201)

    def retrieve(self, request: Request, ticket_id: str) -> Response:
        return Response(read_tickets([ticket_or_404(ticket_id).pk], with_custom_fields=True)[0])

    def update(self, request: Request, ticket_id: str) -> Response:
        with named_ticket(ticket_id) as ticket:
            values, faults = self.read(TicketEditInput, is_partial=True)
            edit_ticket(ticket, self.actor, faults, **values)
        return Response(status=204)

    def comment(self, request: Request, ticket_id: str) -> Response:
        with named_ticket(ticket_id) as ticket:
            values, faults = self.read(CommentInput)
            comment_on(ticket, self.actor, faults, **values)
        return Response(status=204)

    def agent_response(self, request: Request, ticket_id: str) -> Response:
        with named_ticket(ticket_id) as ticket:
            values, faults = self.read(AgentResponseInput)
            reply_to(ticket, self.actor, faults, **values)
        return Response([], status=201)

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


class TicketStatusViewSet(ApiViewSet):
    """The statuses of tickets."""

    area = "tickets"

    def list(self, request: Request) -> Response:
        statuses = TicketStatus.objects.prefetch_related("substatuses")
        return Response(
            [
                {
                    "id": status.pk,
                    "name": status.name,
                    "kind": status.kind,
                    "order": status.order,
                    "substatuses": [{"id": each.pk, "name": each.name} for each in status.substatuses.all()],
                }
                for status in statuses
            ]
        )


class TicketCategoryViewSet(ApiViewSet):
    """The categories of tickets."""

    area = "tickets"

    def list(self, request: Request) -> Response:
        return Response(list(TicketCategory.objects.filter(is_active=True).values("id", "name")))


class TicketQueueViewSet(ApiViewSet):
    """The queues of tickets."""

    area = "tickets"

    def list(self, request: Request) -> Response:
        return Response(list(TicketQueue.objects.active().values("id", "name")))
