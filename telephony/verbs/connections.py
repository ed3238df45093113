"""The verb that requests a call. What happens to the call afterwards is in telephony.calls."""

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import connection as database
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.request_id import current_request_id
from callcentre.core.statements import Statement, row_of
from telephony.models import Agent, Connection
from telephony.numbers import comparable, read_number

_COLUMNS = (
    *("direction", "state", "src", "dst", "src_number", "dst_number", "queue_id", "customer_id", "caller_id"),
    *("created_at", "place_until", "request_id", "disposition", "hung_up_by", "ring_seconds", "wait_seconds"),
    *("is_on_hold", "join_count"),
)
_INSERT = Statement("""
INSERT INTO telephony_connection ({columns}, agent_id)
SELECT {values}, id FROM telephony_agent WHERE number = %s AND is_active
RETURNING id, agent_id
""").of(columns=", ".join(_COLUMNS), values=", ".join("%s" for _ in _COLUMNS))


def call(
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    sip: str = "",
    phone_number: str = "",
    caller_id: str | None = None,
    queue_id: int | None = None,
    customer_id: int | None = None,
) -> Connection:
    """Request a call from an agent's phone to a number; a worker places it and finds the customer. Raises Invalid.

    `caller_id` is the number presented, by default that of the settings.
    """
    faults = [*faults]
    number = read_number(phone_number, faults)
    if faults:
        if sip and not Agent.objects.active().filter(number=sip).exists():
            faults.append(Fault(ErrorCode.SIP_UNKNOWN, "sip"))
        raise Invalid(faults)
    now = timezone.now()
    connection = Connection(
        direction=Connection.Direction.OUTBOUND,
        state=Connection.State.QUEUED,
        src=sip,
        dst=phone_number,
        src_number=comparable(sip),
        dst_number=number,
        queue_id=queue_id,
        customer_id=customer_id,
        caller_id=settings.CALLER_ID if caller_id is None else caller_id,
        created_at=now.replace(microsecond=0),
        place_until=now + timedelta(seconds=settings.PLACE_LIMIT_SECONDS),
        request_id=current_request_id()[:64],
    )
    _insert(connection)
    enqueue("telephony.place_call", connection.pk)
    return connection


def _insert(connection: Connection) -> None:
    """Find the active agent whose phone is `src` and insert the call, in one statement. Raises Invalid."""
    row = row_of(_INSERT, [getattr(connection, name) for name in _COLUMNS] + [connection.src])
    if row is None:
        raise Invalid([Fault(ErrorCode.SIP_UNKNOWN, "sip")])
    connection.pk, connection.agent_id = row
    connection._state.adding, connection._state.db = False, database.alias
