"""Events of standing lines, and what is due for them. A repeated or late event changes nothing.

Locks: the call that the line is in, the agent, the line.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction

from callcentre.core.changes import store
from callcentre.core.pubsub import publish
from callcentre.core.statements import rows_of
from telephony import causes
from telephony.calls import (
    consultations,
    dialler_calls,
    failed_transfers,
    inbound,
    legs,
    lines,
    placement,
    switch_requests,
    transfers,
)
from telephony.calls.offers import CALL_REJECTED
from telephony.models import AgentLine, Connection, Leg
from telephony.verbs import ledger

P = ParamSpec("P")
R = TypeVar("R")
State = AgentLine.State

# A tone whose end was not reported is over by then.
TONE_LIMIT = timedelta(seconds=2)
# The line may change its call this often while its locks are acquired.
ATTEMPTS = 5

# An agent who is logged out has a line for a call only, which then ends.
_END_UNUSED = """
UPDATE telephony_agentline line SET hangup_asked_at = %(now)s
WHERE ended_at IS NULL AND hangup_asked_at IS NULL AND connection_id IS NULL AND state = 'up'
  AND NOT EXISTS (SELECT FROM telephony_agentsession WHERE agent_id = line.agent_id AND ended_at IS NULL)
  AND NOT EXISTS (SELECT FROM telephony_connection WHERE agent_id = line.agent_id AND state = 'queued')
RETURNING id
"""
_DUE = """
SELECT channel_id, CASE
  WHEN state = 'refused' THEN 'refused' WHEN connection_id IS NULL OR cause IS NOT NULL THEN 'hang_up' ELSE 'tone' END
FROM telephony_agentline
WHERE ended_at IS NULL AND (state = 'refused'
  OR hangup_asked_at IS NOT NULL AND (connection_id IS NULL OR cause IS NOT NULL)
  OR state = 'up' AND connection_id IS NOT NULL AND joined_at IS NULL AND called_at < %s)
ORDER BY id
"""


def ringing(channel_id: str) -> None:
    AgentLine.objects.filter(channel_id=channel_id, state=State.ASKED).update(state=State.RINGING)


class _InAnotherCallError(Exception):
    """The line has changed its call while its locks were acquired."""


def _in_order(act: Callable[P, R]) -> Callable[P, R]:
    """Run in a transaction, and in another one if the line has changed its call: no call is locked after an agent."""

    @wraps(act)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for _ in range(ATTEMPTS):
            with suppress(_InAnotherCallError), transaction.atomic():
                return act(*args, **kwargs)
        raise RuntimeError(f"The line {args[0]} changes its call too often.")

    return run


@_in_order
def up(channel_id: str, at: datetime) -> None:
    """Handle the phone that was picked up: the line takes the call that it rang for, or hears silence."""
    if (found := _lock(channel_id)) is None:
        return
    line, connection = found
    if line.state == State.UP:
        return
    if line.ended_at:
        # The line was given up as lost before the switch got the request.
        switch_requests.hang_up(channel_id)
        return
    store(line, state=State.UP, up_at=at)
    if line.hangup_asked_at:
        switch_requests.hang_up(channel_id)
    elif connection:
        _take_part(line, connection, at)
    else:
        lines.silence_idle(line.pk)


@_in_order
def tone_over(channel_id: str, at: datetime) -> None:
    found = _lock(channel_id)
    if found is None or found[0].ended_at:
        return
    line, connection = found
    switch_requests.send("stop_tone", channel_id)
    if connection and line.joined_at is None:
        _take_part(line, connection, at)


def _take_part(line: AgentLine, connection: Connection, at: datetime) -> None:
    at = legs.instant(connection, at)
    store(line, joined_at=at)
    leg = _leg_of(line, connection)
    leg.state, leg.up_at = Leg.State.UP, at
    picked_up(connection, leg, at)


def picked_up(connection: Connection, leg: Leg, at: datetime) -> None:
    """Go on with the call: the phone of an agent, a target or one consulted was picked up."""
    if connection.agent_lost_at and leg.role == Leg.Role.AGENT:
        failed_transfers.phone_is_back(connection, leg)
    elif leg.role == Leg.Role.CONSULTED:
        consultations.up(connection, leg, at)
    elif leg.role == Leg.Role.TARGET:
        transfers.target_up(connection, leg, at)
    elif connection.waiting_since:
        inbound.agent_up(connection, leg, at)
    else:
        placement.agent_up(connection, leg, at)


def ended(channel_id: str, at: datetime, cause: int | None, tech_cause: str = "", cause_text: str = "") -> None:
    """End a line that is gone. The call that it was in, or that waited for it, ends as if the agent had hung up."""
    text = (cause_text or causes.text_of(cause))[: causes.LONGEST]
    if waiting_agent_id := _end(channel_id, at, cause, tech_cause, text):
        # In a transaction of its own, since calls are locked before agents.
        placement.end_oldest_queued(waiting_agent_id, at, cause, text)


@_in_order
def _end(channel_id: str, at: datetime, cause: int | None, tech_cause: str, text: str) -> int | None:
    """End the line. Return its agent if calls may wait for this line, which was not picked up."""
    if (found := _lock(channel_id)) is None or found[0].ended_at:
        return None
    line, connection = found
    leg = _leg_of(line, connection) if connection else None
    if cause is None and line.cause is not None:
        cause, text = line.cause, causes.text_of(line.cause)
    was_up = line.state == State.UP
    line.state, line.ended_at, line.cause, line.cause_text = State.ENDED, at, cause, text
    line.connection_id, line.role, line.called_at, line.joined_at = None, "", None, None
    line.save()
    if connection and leg and connection.state != Connection.State.ENDED:
        at = legs.instant(connection, at)
        leg.state, leg.ended_at = Leg.State.ENDED, at
        leg.cause, leg.cause_text, leg.tech_cause = cause, text, tech_cause
        if was_up and not leg.up_at:
            # The agent has hung up during the tone.
            leg.cause = CALL_REJECTED
        hung_up(connection, leg, at)
    elif not was_up and line.hangup_asked_at is None:
        return line.agent_id
    return None


def hung_up(connection: Connection, leg: Leg, at: datetime) -> None:
    """Go on with the call, or end it: the phone of an agent, a target or one consulted has ended."""
    if leg.role == Leg.Role.CONSULTED:
        consultations.ended(connection, leg, at)
    elif consultations.left(connection, leg, at):
        return
    elif leg.role == Leg.Role.TARGET:
        failed_transfers.target_ended(connection, leg, at)
    elif connection.waiting_since:
        failed_transfers.agent_ended(connection, leg, at)
    elif leg.line is None or not dialler_calls.match_again(connection, at):
        placement.agent_ended(connection, leg, at)


def hang_up_lost(number: str, at: datetime) -> None:
    """Mark the line that a phone had before its registration ended, so that it is hung up as if packets had stopped.

    The request is repeated until the line has ended (`due`), also when the listener restarts.
    """
    lost = AgentLine.objects.filter(agent__number=number, ended_at=None, asked_at__lt=at).exclude(state=State.REFUSED)
    if lost.update(hangup_asked_at=at, cause=legs.NO_MEDIA):
        publish("calls")


def due(now: datetime) -> list[tuple[str, str]]:
    """Return the channels of lines for which something is due: refused, hang_up or tone."""
    rows_of(_END_UNUSED, {"now": now})
    return rows_of(_DUE, [now - TONE_LIMIT])


def do_due(channel_id: str, what: str, now: datetime) -> None:
    line = AgentLine.objects.get(channel_id=channel_id)
    match what:
        case "refused":
            ended(channel_id, now, line.cause, cause_text=line.cause_text)
        case "hang_up":
            switch_requests.hang_up(channel_id, line.cause or 16)
        case "tone":
            tone_over(channel_id, now)


def _lock(channel_id: str) -> tuple[AgentLine, Connection | None] | None:
    """Lock a line, after its call and its agent. Return it with its call; None for an unknown channel."""
    known = AgentLine.objects.filter(channel_id=channel_id).values_list("connection_id", "agent_id").first()
    if known is None:
        return None
    connection = legs.lock(known[0]) if known[0] else None
    ledger.lock_in_order([known[1]])
    line = AgentLine.objects.select_for_update(no_key=True).get(channel_id=channel_id)
    if line.connection_id != known[0]:
        raise _InAnotherCallError
    return line, connection


def _leg_of(line: AgentLine, connection: Connection) -> Leg:
    return next(leg for leg in connection.all_legs if leg.line and leg.line.pk == line.pk)
