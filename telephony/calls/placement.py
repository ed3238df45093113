"""Outbound calls: the agent's phone rings first, then the customer's; then both talk in one bridge.

A requested call is placed at most once: the row is committed as being placed before the switch is asked.

If a worker dies in between, the agent's leg stays ASKED. The listener compares it with the switch's channels
(telephony.calls.reconciliation) and continues the call or ends it. The request is never repeated.

While no listener is connected to the switch, calls stay QUEUED, because a phone that rang would get no customer. They
wait until a listener is connected, or until their time is over. A call also stays QUEUED while the agent's phone is in
another call: an agent's customers are called one at a time.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from callcentre.core.advisory_locks import lock_until_commit
from callcentre.core.changes import store
from callcentre.core.statements import row_of, rows_of
from telephony import causes, events
from telephony.calls import campaign_hooks, dialler_calls, legs, lines, switch_requests
from telephony.calls.offers import CALL_REJECTED, NO_ANSWER, NO_USER_RESPONDING, USER_BUSY
from telephony.channels import channel_id
from telephony.customers import customer_of
from telephony.leader_election import IS_CONNECTED, is_connected
from telephony.models import Agent, Connection, Leg
from telephony.models.connection import LINE_IS_READY, PHONE_IS_IN_CALL
from telephony.verbs import presence

Disposition, Party, State = Connection.Disposition, Connection.Party, Connection.State

_DISPOSITIONS = {
    USER_BUSY: Disposition.BUSY,
    NO_USER_RESPONDING: Disposition.NO_ANSWER,
    NO_ANSWER: Disposition.NO_ANSWER,
}

# Older calls were not placed by their own task.
OVERDUE_SECONDS = 1.0
# Calls of one sweep; the next sweep is a second later.
MOST_AT_ONCE = 50
# Q.850 causes of a call that was not placed in time: no listener was connected, no line was free, no attempt was made.
OUT_OF_ORDER, NO_CIRCUIT, TEMPORARY_FAILURE = 38, 34, 41

# Locks a call and its agent, in the order of all locks. It waits while another call rings the agent.
_LOCK = """
SELECT c.id FROM telephony_connection c JOIN telephony_agent a ON a.id = c.agent_id
WHERE c.id = %s AND c.state = 'queued' FOR NO KEY UPDATE
"""
_IS_SECOND = """EXISTS (
  SELECT FROM telephony_connection older
  WHERE older.agent_id = telephony_connection.agent_id AND older.state = 'queued' AND older.place_until >= %(now)s
    AND older.id < telephony_connection.id
)"""
# The time limit of a call begins when its agent's phone is free.
_WAIT_ON = f"""
UPDATE telephony_connection SET place_until = %(until)s
WHERE id = %(id)s AND state = 'queued' AND {IS_CONNECTED} AND {PHONE_IS_IN_CALL} RETURNING id
"""  # noqa: S608  (of our own constants)
# The agent should have a standing line, and none is up: it is rung first.
_LACKS_LINE = f"""EXISTS (
  SELECT FROM telephony_agent a WHERE a.id = telephony_connection.agent_id AND a.has_line
  AND NOT EXISTS (SELECT FROM telephony_agentline WHERE agent_id = a.id AND {LINE_IS_READY})
)"""  # noqa: S608
_CLAIMED = ("created_at", "src", "dst", "dst_number", "queue_id", "customer_id", "request_id", "agent_id")
# The customer is found by the number, unless the request has named the customer.
_CLAIM = f"""
WITH claimed AS (
  UPDATE telephony_connection SET state = 'originating', customer_id = COALESCE(customer_id, {{customer}})
  WHERE id = %(id)s AND state = 'queued' AND place_until >= %(now)s AND {IS_CONNECTED}
    AND NOT {PHONE_IS_IN_CALL} AND NOT {_IS_SECOND}
    AND NOT {_LACKS_LINE}
  RETURNING id, {", ".join(_CLAIMED)}
), leg AS (
  INSERT INTO telephony_leg (connection_id, role, agent_id, number, channel_id, state, asked_at, tech_cause)
  SELECT claimed.id, 'agent', agent_id, src, %(channel)s, 'asked', %(now)s, '' FROM claimed
  JOIN telephony_agent a ON a.id = agent_id AND NOT a.has_line
)
SELECT {", ".join(f"c.{name}" for name in _CLAIMED)}, a.login, a.has_line
FROM claimed c JOIN telephony_agent a ON a.id = c.agent_id
"""  # noqa: S608  (names of columns)
_OVERDUE = f"""
SELECT id FROM telephony_connection
WHERE state = 'queued' AND created_at < %(before)s AND (place_until < %(soon)s OR NOT {PHONE_IS_IN_CALL})
ORDER BY created_at, id LIMIT %(most)s
"""  # noqa: S608
# Only one transaction at a time counts calls and places one.
_LOCK_SPACE = 0x63616C6C
# No call is placed later than the time limit after its creation, so calls placed in the last second began within it.
_PLACED = """
SELECT count(*) FROM telephony_connection c JOIN telephony_leg l ON l.connection_id = c.id
WHERE c.direction = 'OUTBOUND' AND c.created_at > %s AND l.asked_at > %s
  AND NOT EXISTS (SELECT FROM telephony_leg earlier WHERE earlier.connection_id = c.id AND earlier.id < l.id)
"""


def place(pk: int) -> None:
    """Ring the agent's phone for a call that is still QUEUED, or end a call that had to wait too long.

    A call waits while no listener is connected, while the phone is in another call, and while the limits are reached.
    """
    now = timezone.now()
    with transaction.atomic():
        if is_line_free() and (connection := _claimed(pk, now)):
            events.connection_started(connection)
            if connection.agent:
                presence.ring(connection.agent, connection, now)
            if connection.agent and connection.agent.has_line:
                _call_by_line(pk, now)
                return
            leg = Leg(channel_id=channel_id(pk, 1), number=connection.src)
            switch_requests.call_agent(leg, connection.dst, settings.AGENT_RING_SECONDS, is_awaited=True)
        elif not _rings_line(pk, now):
            until = now + timedelta(seconds=settings.PLACE_LIMIT_SECONDS)
            if not rows_of(_WAIT_ON, {"id": pk, "until": until}):
                _give_up_late(pk, now)


def _call_by_line(pk: int, now: datetime) -> None:
    """Call the number at once: the agent hears it ring on the standing line."""
    connection = legs.lock(pk)
    assert connection is not None
    assert connection.agent is not None
    at = legs.instant(connection, now)
    leg = lines.attach(connection, connection.agent, Leg.Role.AGENT, at, is_joined=True)
    if leg:
        agent_up(connection, leg, at)


def _rings_line(pk: int, now: datetime) -> bool:
    """Ring the agent's phone for a standing line, for which the call waits. Return whether it does."""
    waiting = Connection.objects.filter(pk=pk, state=State.QUEUED, place_until__gte=now, agent__has_line=True)
    agent_id = waiting.values_list("agent", flat=True).first()
    return bool(agent_id and lines.begin_for_call(agent_id))


@transaction.atomic
def end_oldest_queued(agent_id: int, at: datetime, cause: int | None, cause_text: str) -> None:
    """End the oldest call that waits for the agent's line, which was not picked up."""
    calls = Connection.objects.filter(agent=agent_id, state=State.QUEUED).order_by("id")
    pk = calls.values_list("pk", flat=True).first()
    connection = legs.lock(pk) if pk else None
    if connection and connection.state == State.QUEUED:
        failed, party, at = Disposition.FAILED, Party.AGENT, legs.instant(connection, at)
        legs.end(connection, at, failed, cause=cause, cause_text=cause_text, hung_up_by=party)


def _claimed(pk: int, now: datetime) -> Connection | None:
    """Claim a call for placement and return it with its agent; None if it cannot be placed now."""
    values = {"id": pk, "now": now, "channel": channel_id(pk, 1)}
    if not row_of(_LOCK, [pk]) or (row := row_of(_CLAIM.format(customer=customer_of("dst_number")), values)) is None:
        return None
    *claimed, login, has_line = row
    connection = Connection(pk=pk, **dict(zip(_CLAIMED, claimed, strict=True)))
    connection.agent = Agent(pk=connection.agent_id, login=login, has_line=has_line)
    legs.bind_log_context(connection)
    return connection


def _give_up_late(pk: int, now: datetime) -> None:
    late = Connection.objects.filter(pk=pk, state=State.QUEUED, place_until__lt=now)
    connection = legs.lock(pk) if late.exists() else None
    if connection and connection.state == State.QUEUED:
        cause, reason = OUT_OF_ORDER, causes.NO_CONNECTION
        if is_connected():
            cause, reason = (NO_CIRCUIT, causes.NO_LINE) if _has_limits() else (TEMPORARY_FAILURE, causes.NOT_TRIED)
        failed, party, at = Disposition.FAILED, Party.SYSTEM, legs.instant(connection, now)
        legs.end(connection, at, failed, cause=cause, cause_text=reason, hung_up_by=party)


def queued() -> list[int]:
    calls = Connection.objects.filter(state=State.QUEUED).order_by("created_at", "id")
    return list(calls.values_list("pk", flat=True))


def overdue(now: datetime) -> list[int]:
    """Return the calls whose task was lost or that had to wait; while the agent's phone is in a call, only rarely."""
    before, soon = now - timedelta(seconds=OVERDUE_SECONDS), now + timedelta(seconds=settings.PLACE_LIMIT_SECONDS / 2)
    return [pk for (pk,) in rows_of(_OVERDUE, {"before": before, "soon": soon, "most": MOST_AT_ONCE})]


def _has_limits() -> bool:
    return bool(settings.CALLS_PER_SECOND or settings.TRUNK_LIMIT)


def is_line_free() -> bool:
    """Return whether the limits allow one more call now. With limits, others wait until the transaction ends."""
    if not _has_limits():
        return True
    lock_until_commit(_LOCK_SPACE)
    placed_ones = Connection.objects.open().exclude(state=State.QUEUED)
    if settings.TRUNK_LIMIT and placed_ones.count() >= settings.TRUNK_LIMIT:
        return False
    if settings.CALLS_PER_SECOND:
        second = timezone.now() - timedelta(seconds=1)
        placed = row_of(_PLACED, [second - timedelta(seconds=settings.PLACE_LIMIT_SECONDS), second])
        return bool(placed[0] < settings.CALLS_PER_SECOND)
    return True


def agent_up(connection: Connection, leg: Leg, at: datetime) -> None:
    """Call the customer: the agent has picked up. In a dialler's call the agent stays ringing until the answer."""
    if connection.state != State.ORIGINATING:
        return
    store(connection, state=State.DIALLING)
    if connection.agent and not connection.campaign_code:
        presence.talk(connection.agent, connection, at)
    customer = legs.add_leg(connection, Leg.Role.CUSTOMER, connection.dst_number, at)
    switch_requests.call_number(customer, connection.caller_id, settings.RING_SECONDS)


def customer_up(connection: Connection, leg: Leg, at: datetime, heard_at: datetime) -> None:
    """Join agent and customer, who has picked up at `heard_at`; detect machines first, if the campaign does."""
    if connection.state != State.DIALLING:
        return
    connection.ring_seconds = rang(leg, at)
    if campaign_hooks.of(connection).answered(connection, heard_at):
        store(connection, state=State.DETECTING, ring_seconds=connection.ring_seconds)
        switch_requests.send("detect", leg.channel_id)
    else:
        dialler_calls.person_answered(connection, leg, at)


def agent_ended(connection: Connection, leg: Leg, at: datetime) -> None:
    """End the call: the agent did not pick up, has hung up, or has a dead phone."""
    if dialler_calls.drop_unheard(connection, leg, at) or legs.await_phone(connection, leg, at):
        return
    customer = connection.leg_of(Leg.Role.CUSTOMER)
    if customer and not connection.answered_at:
        connection.ring_seconds = rang(customer, at)
    legs.end_with_leg(connection, leg, at, Disposition.FAILED, Party.AGENT)


def customer_ended(connection: Connection, leg: Leg, at: datetime) -> None:
    """End the call: the customer has hung up, or could not be reached."""
    if leg.up_at:
        hung_up_by = Party.CUSTOMER
    else:
        connection.ring_seconds = rang(leg, at)
        hung_up_by = Party.CUSTOMER if leg.cause in (USER_BUSY, CALL_REJECTED) else Party.SYSTEM
    legs.end_with_leg(connection, leg, at, _failure(leg), hung_up_by)


def _failure(leg: Leg) -> str:
    """Return the result for a phone that was not picked up. Without a cause, one that rang did not answer."""
    if leg.cause is None and leg.ringing_at:
        return Disposition.NO_ANSWER
    return _DISPOSITIONS.get(leg.cause or 0, Disposition.FAILED)


def rang(leg: Leg, until: datetime) -> int:
    """Return the whole seconds for which the phone rang, at most the limit even if the end was noticed later."""
    if leg.ringing_at is None:
        return 0
    seconds = int((until - leg.ringing_at.replace(microsecond=0)).total_seconds())
    return min(max(seconds, 0), settings.RING_SECONDS)
