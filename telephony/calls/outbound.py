"""Outbound calls: the agent's phone rings first, then the customer's; then both talk in one bridge."""

from datetime import datetime

from django.conf import settings

from callcentre.core.changes import store
from telephony.calls import campaign_hooks, dialler_calls, legs, switch_requests
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
