from collections.abc import Callable

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import IdField, Input, TextField
from callcentre.api.filters import FilterSet, IdFilter, InstantFilter, ListFilter
from callcentre.api.openapi import count, integer, operation, page, second, shape, text
from callcentre.api.pagination import LimitOffset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from callcentre.core.lookups import get_or_404
from telephony.api.connections import NumberFilter
from telephony.calls import callbacks
from telephony.models import CallBack


class CallBackInput(Input):
    queue_id = IdField("Queue whose agents call.", example=3, errors=[ErrorCode.QUEUE_UNKNOWN])
    phone_number = TextField(
        "Number to be called, in any spelling.",
        max_length=100,
        example="+48 22 555 01 07",
        errors=[ErrorCode.PHONE_LETTERS, ErrorCode.PHONE_INVALID, ErrorCode.PHONE_TOO_LONG],
    )


class CallBackFilterSet(FilterSet):
    queue_id = IdFilter("queue", help_text="A queue.")
    phone_number = NumberFilter(field_name="number", help_text="A number, in any spelling.")
    state = ListFilter(choices=CallBack.State.values, help_text="One or more states.")
    date_from = InstantFilter("created_at", lookup_expr="gte", help_text="Asked for at or after.")
    date_to = InstantFilter("created_at", lookup_expr="lte", is_upper_bound=True, help_text="Asked for at or before.")


_ROWS = CallBack.objects.select_related("agent", "caller", "connection")


def _uid(name: str) -> Callable[[CallBack], str | None]:
    """Return what reads the id of the call that a row names."""
    return lambda row: getattr(row, name).uid if getattr(row, name) else None


CALLBACK = shape(
    "CallBack",
    "A person who waits for a call of an agent, in a place of a queue.",
    id=integer("The call-back's id.", 17),
    queue_id=integer("The queue.", 3),
    phone_number=text("The number in its normal form.", "+48225550107", of="number"),
    customer_id=integer("Customer with the number.", 77, nullable=True),
    origin=text(
        "Who asked for it: the caller by a `key`, the queue after a long `wait`, a client of the `api`, or a `person`"
        " of the back office.",
        "key",
        enum=CallBack.Origin.values,
        write=str,
    ),
    state=text(
        "`waiting` for its turn or for the next attempt, `calling` now, or `ended`.",
        "ended",
        enum=CallBack.State.values,
        write=str,
    ),
    disposition=text(
        "The result; an empty string until the end.", "ANSWERED", enum=["", *CallBack.Disposition.values], write=str
    ),
    attempts=count("Calls of the number so far.", 1),
    waiting_seconds=count(
        "From the start of the wait until the person talked with an agent, or until the end; 0 before.",
        240,
        of="wait_seconds",
    ),
    created_at=second("When it was asked for: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:00"),
    waiting_since=second("The place in the queue: the start of the wait.", "2026-11-21 09:28:10"),
    next_attempt_at=second("The number is not called before.", "2026-11-21 09:30:00"),
    ended_at=second("The end; an empty string until then.", "2026-11-21 09:33:00"),
    agent_login=text(
        "Agent of the last call; an empty string for none.",
        "agent1",
        of=lambda row: row.agent.login if row.agent else "",
        write=str,
    ),
    caller_connection_id=text("The call of the caller who waited.", "1416225570.341", nullable=True, of=_uid("caller")),
    connection_id=text("The last call of an agent.", "1416225810.352", nullable=True, of=_uid("connection")),
)


class CallBackViewSet(ApiViewSet):
    """Calls that people have asked for, each in a place of a queue."""

    area = "connections"

    @operation(
        "list_callbacks",
        "List the call-backs",
        "Newest first, with those that have ended.",
        answer=page(CALLBACK),
        filter_set=CallBackFilterSet,
        is_paged=True,
    )
    def list(self, request: Request) -> Response:
        paginator = LimitOffset()
        rows = CallBackFilterSet.filtered(request, CallBack.objects.order_by("-id"), paginator.faults(request))
        keys = paginator.keys_of_page(rows, request)
        found = [] if keys is None else _ROWS.filter(pk__in=keys).order_by("-id")
        return paginator.get_paginated_response([CALLBACK.data(row) for row in found])

    @operation("read_callback", "Read a call-back", answer=CALLBACK)
    def retrieve(self, request: Request, callback_id: str) -> Response:
        return Response(CALLBACK.data(get_or_404(_ROWS, callback_id, ErrorCode.CALLBACK_NOT_FOUND)))

    @operation(
        "create_callback",
        "Ask for a call-back",
        "An agent of the queue calls the number in turn, behind all who wait now, within the opening hours. The queue"
        " says how often a number that does not answer is called. The end is the event `CALLBACK_ENDED`.",
        body=CallBackInput,
        answer=shape("CreatedCallBack", "The call-back.", id=integer("Its id.", 17)),
        conflicts=[ErrorCode.CALLBACK_EXISTS],
    )
    def create(self, request: Request) -> Response:
        values, faults = self.read(CallBackInput)
        return Response({"id": callbacks.ask(self.actor, faults, **values).pk}, status=201)

    @operation(
        "cancel_callback",
        "Cancel a call-back",
        "One that waits. A call that has begun goes on.",
        conflicts=[ErrorCode.CALLBACK_NOT_WAITING],
    )
    def destroy(self, request: Request, callback_id: str) -> Response:
        found = get_or_404(CallBack.objects.all(), callback_id, ErrorCode.CALLBACK_NOT_FOUND)
        callbacks.cancel(found, self.actor)
        return Response(status=204)
