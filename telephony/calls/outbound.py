"""A call that somebody asked for: the agent's phone first, then the customer's, then both in one bridge."""

from datetime import datetime

from django.conf import settings

from telephony import events
from telephony.calls import bridges, legs, switch_requests
from telephony.calls.offers import CALL_REJECTED, NO_ANSWER, NO_USER_RESPONDING, USER_BUSY
from telephony.models import Connection, Leg
from telephony.verbs import presence

Disposition, Party, State = Connection.Disposition, Connection.Party, Connection.State

_DISPOSITIONS = {
    USER_BUSY: Disposition.BUSY,
    NO_USER_RESPONDING: Disposition.NO_ANSWER,
    NO_ANSWER: Disposition.NO_ANSWER,
}


def agent_up(connection: Connection, leg: Leg, at: datetime) -> None:
    """The agent has picked up: the customer is called."""
    if connection.state != State.ORIGINATING:
        return
    connection.state = State.DIALLING
    connection.save(update_fields=["state"])
    if connection.agent:
        presence.talk(connection.agent, connection, at)
    customer = legs.add_leg(connection, Leg.Role.CUSTOMER, connection.dst_number, at)
    switch_requests.call_number(customer, connection.caller_id, settings.RING_SECONDS)


def customer_up(connection: Connection, leg: Leg, at: datetime) -> None:
    """The customer has picked up: they talk."""
    agent = connection.leg_of(Leg.Role.AGENT)
    if connection.state != State.DIALLING or agent is None:
        return
    connection.state, connection.answered_at = State.TALKING, at
    connection.ring_seconds = rang(leg, at)
    connection.join_count = 1
    connection.save(update_fields=["state", "answered_at", "ring_seconds", "join_count"])
    events.connection_answered(connection)
    bridges.join(connection, agent, leg)


def agent_ended(connection: Connection, leg: Leg, at: datetime, cause: int | None) -> None:
    """His phone was not picked up, or he has hung up."""
    customer = connection.leg_of(Leg.Role.CUSTOMER)
    if customer and not connection.answered_at:
        connection.ring_seconds = rang(customer, at)
    _end(connection, leg, at, Disposition.FAILED, Party.AGENT)


def customer_ended(connection: Connection, leg: Leg, at: datetime, cause: int | None) -> None:
    """The customer has hung up, or could not be reached."""
    if leg.up_at:
        hung_up_by = Party.CUSTOMER
    else:
        connection.ring_seconds = rang(leg, at)
        hung_up_by = Party.CUSTOMER if cause in (USER_BUSY, CALL_REJECTED) else Party.SYSTEM
    _end(connection, leg, at, _failure(leg, cause), hung_up_by)


def _failure(leg: Leg, cause: int | None) -> str:
    """Of a phone that was not picked up. Where nobody has heard why, one that rang was not answered."""
    if cause is None and leg.ringing_at:
        return Disposition.NO_ANSWER
    return _DISPOSITIONS.get(cause or 0, Disposition.FAILED)


def rang(leg: Leg, until: datetime) -> int:
    """How long the phone has rung, in whole seconds; one that was silent has not. None rings for longer than it was to,
    however late it is found out that it has stopped."""
    if leg.ringing_at is None:
        return 0
    seconds = int((until - leg.ringing_at.replace(microsecond=0)).total_seconds())
    return min(max(seconds, 0), settings.RING_SECONDS)


def _end(connection: Connection, leg: Leg, at: datetime, failure: str, hung_up_by: str) -> None:
    """End the call for what its leg says. An answered one was answered, however it ends; another ends as `failure`."""
    legs.end(
        connection,
        at,
        Disposition.ANSWERED if connection.answered_at else failure,
        cause=leg.cause,
        cause_text=leg.cause_text,
        hung_up_by=hung_up_by,
        wrap_up_seconds=connection.queue.wrap_up_seconds if connection.queue and connection.answered_at else 0,
    )
