"""Answered calls of diallers, and the agents who take them by their standing lines.

A dialler may call more numbers than agents are free. The thread that hears the answer looks for a free agent; in one
transaction the agent rings, talks, and both are joined. Without an agent the call waits; the listener tries again
whenever an agent becomes free. After two seconds the person hears the campaign's message, and the call ends.
"""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from callcentre.core.changes import store
from telephony import call_clock, events
from telephony.calls import bridges, campaign_hooks, legs, lines, switch_requests
from telephony.channels import play_id
from telephony.models import Agent, Connection, Leg
from telephony.models.agent_intervals import StateKind
from telephony.switch.base import Detected, Played, SwitchError
from telephony.verbs import ledger, presence

logger = logging.getLogger(__name__)

Disposition, Party, State = Connection.Disposition, Connection.Party, Connection.State

# An answered call that has no agent by then is dropped.
DROP_AFTER = timedelta(seconds=2)
# The result of a detection, or the end of a message, that was not reported is overdue by then.
DETECTION_LIMIT, MESSAGE_LIMIT = timedelta(seconds=7), timedelta(seconds=75)


def find_agent(connection: Connection, customer: Leg, at: datetime) -> None:
    """Join the answered call with a free agent, or let it wait for one."""
    if not _match(connection, customer, at):
        rang = {"ring_seconds": connection.ring_seconds}
        store(connection, state=State.WAITING, answered_at=connection.answered_at or at, **rang)


def _match(connection: Connection, customer: Leg, at: datetime) -> bool:
    passed: list[int] = []
    while (agent_id := campaign_hooks.of(connection).next_agent(connection, passed)) is not None:
        passed.append(agent_id)
        if not ledger.lock(agent_id).is_in(StateKind.FREE) or ledger.call_on_phone(agent_id):
            continue
        agent = Agent.objects.get(pk=agent_id)
        if leg := lines.attach(connection, agent, Leg.Role.AGENT, at, is_joined=True):
            connection.agent = agent
            presence.ring(agent, connection, at)
            talk(connection, leg, customer, at)
            return True
    return False


def talk(connection: Connection, agent: Leg, customer: Leg, at: datetime) -> None:
    is_first = connection.join_count == 0
    connection.state, connection.answered_at = State.TALKING, connection.answered_at or at
    connection.join_count += 1
    connection.save(update_fields=["state", "agent", "answered_at", "ring_seconds", "join_count"])
    if connection.campaign_code and connection.agent:
        presence.talk(connection.agent, connection, at)
    if is_first:
        events.connection_answered(connection)
    campaign_hooks.of(connection).joined(connection)
    bridges.join(connection, agent, customer)


def match_again(connection: Connection, at: datetime) -> bool:
    """Find another agent for a person whose agent was lost at once. Return whether that is possible.

    A line that is hung up in the moment of the join must not end the call.
    """
    customer, agent = connection.leg_of(Leg.Role.CUSTOMER), connection.agent
    if connection.state != State.TALKING or customer is None or agent is None:
        return False
    if not campaign_hooks.of(connection).unjoin(connection, timezone.now() - DROP_AFTER):
        return False
    _take_from_agent(connection, agent, at)
    find_agent(connection, customer, at)
    return True


def _take_from_agent(connection: Connection, agent: Agent, at: datetime) -> None:
    bridges.destroy(connection)
    store(connection, state=State.WAITING, agent=None)
    presence.leave_call(agent, connection, at)


def drop_unheard(connection: Connection, agent: Leg, at: datetime) -> bool:
    """Drop a person who was joined to a phone that had vanished from the network. Return whether that is so."""
    customer = connection.leg_of(Leg.Role.CUSTOMER)
    # By the instant of the event, as a listener under load may handle it later.
    since = legs.unheard_since(agent, at)
    if since is None or connection.state != State.TALKING or customer is None or connection.agent is None:
        return False
    if not campaign_hooks.of(connection).is_unheard(connection, since):
        return False
    _take_from_agent(connection, connection.agent, at)
    _drop(connection, customer, at)
    return True


def match_waiting() -> bool:
    """Join or drop the answered calls that wait for an agent. Return whether calls still wait."""
    waiting = campaign_hooks.waiting()
    for connection_id, answered_at in waiting:
        _try_again(connection_id, is_over=timezone.now() >= answered_at + DROP_AFTER)
    return bool(waiting)


@transaction.atomic
def _try_again(connection_id: int, *, is_over: bool) -> None:
    connection = legs.lock(connection_id)
    customer = connection.leg_of(Leg.Role.CUSTOMER) if connection else None
    if connection is None or customer is None or connection.state != State.WAITING or connection.waiting_since:
        return
    at = legs.instant(connection, call_clock.now())
    if is_over:
        _drop(connection, customer, at)
    else:
        _match(connection, customer, at)


def _drop(connection: Connection, customer: Leg, at: datetime) -> None:
    """Play the message of the campaign, then hang up."""
    message = campaign_hooks.of(connection).dropped(connection, timezone.now())
    if not message:
        _end(connection, at)
        return
    store(connection, state=State.PLAYING)

    def refused(error: SwitchError) -> None:
        logger.warning("the message of a dropped call could not be played", extra={"error": str(error)})
        end_message(connection.pk)

    switch_requests.send("play", customer.channel_id, [message], play_id(connection.pk, 1), refused=refused)


def _end(connection: Connection, at: datetime) -> None:
    legs.end(connection, at, Disposition.FAILED, cause=legs.NORMAL, hung_up_by=Party.SYSTEM)


@transaction.atomic
def end_message(connection_id: int) -> None:
    connection = legs.lock(connection_id)
    if connection and connection.state == State.PLAYING:
        _end(connection, legs.instant(connection, call_clock.now()))


def played(event: Played) -> None:
    """Hang up: the customer has heard the message."""
    if event.is_failed:
        logger.warning("the message of a dropped call was not heard", extra={"channel": event.channel_id})
    connection_id = Leg.objects.filter(channel_id=event.channel_id).values_list("connection_id", flat=True).first()
    if connection_id:
        end_message(connection_id)


@transaction.atomic
def detected(event: Detected) -> None:
    """Go on with an answered call, now that the switch has judged who has answered."""
    if (found := legs.lock_by_channel(event.channel_id)) is None:
        return
    connection, customer = found
    if connection.state == State.DETECTING and customer.ended_at is None:
        judge(connection, customer, legs.instant(connection, event.at), who=event.who)


def judge(connection: Connection, customer: Leg, at: datetime, *, who: str) -> None:
    """Hang up on a machine; connect a person. A doubt counts as a person."""
    connection.state = State.DIALLING
    campaign_hooks.of(connection).detected(connection, timezone.now(), who)
    if who == "machine":
        _end(connection, at)
    else:
        person_answered(connection, customer, at)


def person_answered(connection: Connection, customer: Leg, at: datetime) -> None:
    """Join the agent who is held for the call, or find one."""
    if agent := connection.leg_of(Leg.Role.AGENT):
        talk(connection, agent, customer, at)
    elif connection.campaign_code and connection.agent_id is None:
        find_agent(connection, customer, at)


def overdue(now: datetime) -> list[int]:
    """Return the calls whose detection or message should have ended by now."""
    late = Connection.objects.filter(
        direction=Connection.Direction.OUTBOUND,
        state__in=(State.DETECTING, State.PLAYING),
        legs__role=Leg.Role.CUSTOMER,
        legs__up_at__lt=now - DETECTION_LIMIT,
    )
    return list(late.order_by("id").values_list("pk", flat=True))


@transaction.atomic
def go_on(pk: int, now: datetime) -> None:
    connection = legs.lock(pk)
    customer = connection.leg_of(Leg.Role.CUSTOMER) if connection else None
    if connection is None or customer is None or customer.up_at is None:
        return
    at = legs.instant(connection, now)
    if connection.state == State.DETECTING and customer.up_at < now - DETECTION_LIMIT:
        judge(connection, customer, at, who="unsure")
    elif connection.state == State.PLAYING and customer.up_at < now - MESSAGE_LIMIT:
        _end(connection, at)
