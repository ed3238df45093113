from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.db.models import Sum
from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import Reject, parse_boolean
from callcentre.api.pagination import LimitOffset
from callcentre.api.viewsets import ApiViewSet
from callcentre.errors import Fault
from tickets.api.filters import TicketFilterSet
from tickets.api.serializers import (
    MESSAGE_COLUMNS,
    TICKET_COLUMNS,
    AgentResponseInput,
    CommentInput,
    CustomerResponseInput,
    TicketEditInput,
    TicketInput,
    custom_fields_data,
    ticket_data,
)
from tickets.models import (
    CustomField,
    Message,
    Ticket,
    TicketCategory,
    TicketCount,
    TicketQueue,
    TicketStatus,
    conversing,
    editing,
)
from tickets.models.opening import open_ticket


class TicketPages(LimitOffset):
    """All tickets are counted as they come and go; those of a filter when they are asked for."""

    def count_of(self, queryset: Any) -> int:
        if queryset.query.where:
            return super().count_of(queryset)
        return TicketCount.objects.aggregate(total=Sum("count"))["total"] or 0


class TicketViewSet(ApiViewSet):
    """Tickets: the conversations with customers."""

    area = "tickets"
    filterset_class = TicketFilterSet

    def list(self, request: Request) -> Response:
        paginator = TicketPages()
        faults = paginator.faults(request)
        include = _flag(request, "include_custom_fields", faults)
        tickets = TicketFilterSet.filtered(request, Ticket.objects.all(), faults)
        rows = paginator.paginate_queryset(tickets, request, columns=TICKET_COLUMNS)
        return paginator.get_paginated_response(_with_messages(rows, include_custom_fields=include))

    def create(self, request: Request) -> Response:
        values, faults = self.read(TicketInput)
        return Response({"ticket_id": str(open_ticket(self.actor, faults, **values).pk)}, status=201)

    def retrieve(self, request: Request, ticket_id: str) -> Response:
        rows = Ticket.objects.filter(pk=ticket_or_404(ticket_id).pk).values_list(*TICKET_COLUMNS)
        return Response(_with_messages(list(rows), include_custom_fields=True)[0])

    def update(self, request: Request, ticket_id: str) -> Response:
        ticket = ticket_or_404(ticket_id)
        values, faults = self.read(TicketEditInput, is_partial=True)
        editing.edit(self.actor, ticket, faults, **values)
        return Response(status=204)

    def comment(self, request: Request, ticket_id: str) -> Response:
        ticket = ticket_or_404(ticket_id)
        values, faults = self.read(CommentInput)
        conversing.comment(self.actor, ticket, faults, **values)
        return Response(status=204)

    def agent_response(self, request: Request, ticket_id: str) -> Response:
        ticket = ticket_or_404(ticket_id)
        values, faults = self.read(AgentResponseInput)
        conversing.reply(self.actor, ticket, faults, **values)
        return Response([], status=201)

    def customer_response(self, request: Request, ticket_id: str) -> Response:
        ticket = ticket_or_404(ticket_id)
        values, faults = self.read(CustomerResponseInput)
        conversing.receive(self.actor, ticket, faults, **values)
        return Response(status=204)


def ticket_or_404(ticket_id: str) -> Ticket:
    """Only the key of it: the verbs lock the ticket, and read it then."""
    if not (ticket_id.isascii() and ticket_id.isdecimal() and len(ticket_id) < 19):
        raise Http404
    ticket = Ticket.objects.only("pk").filter(pk=int(ticket_id)).first()
    if ticket is None:
        raise Http404
    return ticket


def _flag(request: Request, name: str, faults: list[Fault]) -> bool:
    try:
        return parse_boolean(text) if (text := request.query_params.get(name, "").strip()) else False
    except Reject as reject:
        faults.append(Fault(reject.fault.code, name))
        return False


def _with_messages(rows: Sequence[Any], *, include_custom_fields: bool) -> list[dict[str, Any]]:
    messages: dict[int, list[Any]] = defaultdict(list)
    for message in (
        Message.objects.filter(ticket__in=[row[0] for row in rows])
        .order_by("created_at", "id")
        .values_list(*MESSAGE_COLUMNS)
    ):
        messages[message[0]].append(message)
    result = [ticket_data(row, messages[row[0]]) for row in rows]
    if include_custom_fields:
        names = {field.name: str(field.pk) for field in CustomField.objects.of(CustomField.Owner.TICKET)}
        for ticket, row in zip(result, rows, strict=True):
            ticket["custom_fields"] = custom_fields_data(names, row[-1])
    return result


class TicketStatusViewSet(ApiViewSet):
    """Statuses that tickets can have."""

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
    """What tickets are about."""

    area = "tickets"

    def list(self, request: Request) -> Response:
        categories = TicketCategory.objects.filter(is_active=True).values_list("pk", "name")
        return Response([{"id": pk, "name": name} for pk, name in categories])


class TicketQueueViewSet(ApiViewSet):
    """Where tickets come in."""

    area = "tickets"

    def list(self, request: Request) -> Response:
        queues = TicketQueue.objects.active().values_list("pk", "name")
        return Response([{"id": pk, "name": name} for pk, name in queues])
