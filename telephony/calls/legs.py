"""Legs of connections, and the end of calls, for outbound and inbound calls. The connection is locked."""

from datetime import datetime, timedelta
from functools import partial

import structlog
from django.conf import settings
from django.db import transaction
from prometheus_client import Counter

from callcentre.core.changes import store
from callcentre.core.pubsub import publish
from telephony import call_clock, causes, channels, events
from telephony.calls import (
    bridges,
    call_ends,
    campaign_hooks,
    consulted,
    lines,
    offers,
    switch_requests,
)
from telephony.models import Agent, Connection, Leg
from telephony.verbs import ledger, presence

NORMAL = 16
# Q.850 cause of a phone that sends no packets any more, and the time for the switch to notice that beyond its limit.
NO_MEDIA, UNHEARD_MARGIN = 44, timedelta(seconds=2)

ended = Counter("callcentre_calls", "Calls that are over", ["direction", "disposition"])


def lock(pk: int) -> Connection | None:
    """Lock a connection until the transaction ends. Return it with its agent and queue. Read its legs after this."""
    everything = Connection.objects.select_related("agent", "queue").order_by()
    connection = everything.select_for_update(of=("self",), no_key=True).filter(pk=pk).first()
    if connection is None:
        return None
    # A statement that waited for the lock returns the connection as it is now, but the agent and queue from before.
    for name in ("agent", "queue"):
        joined = connection._state.fields_cache.get(name)
        if (joined.pk if joined else None) != getattr(connection, f"{name}_id"):
            del connection._state.fields_cache[name]
    bind_log_context(connection)
    return connection


def lock_by_channel(channel_id: str) -> tuple[Connection, Leg] | None:
    """Lock the connection of a channel. Return it and the channel's leg, or None for an unknown channel.

    The legs are read after the lock is acquired, because rows may change during the wait for it.
    """
    of_channel = Leg.objects.filter(channel_id=channel_id).values("connection")
    locked = Connection.objects.select_for_update(no_key=True).order_by().filter(pk__in=of_channel)
    if not (pks := list(locked.values_list("pk", flat=True))):
        return None
    joined = Leg.objects.select_related("agent", "connection__agent", "connection__queue")
    legs = list(joined.filter(connection=pks[0]).order_by("id"))
    connection = legs[0].connection
    for leg in legs:
        leg.connection = connection
    connection.all_legs = [*legs, *connection.line_legs()]
    bind_log_context(connection)
    return connection, next(leg for leg in legs if leg.channel_id == channel_id)


def bind_log_context(connection: Connection) -> None:
    """Add the call, and the request that asked for it, to the log lines of this thread."""
    structlog.contextvars.bind_contextvars(connection_id=connection.uid, request_id=connection.request_id)


def instant(connection: Connection, at: datetime) -> datetime:
    """Return the whole second to store for an event of a call, which is not before its earlier events."""
    second = call_clock.on_call(connection.pk, at).replace(microsecond=0)
    return max(second, *filter(None, (connection.created_at, connection.waiting_since, connection.answered_at)))


def add_leg(
    connection: Connection,
    role: str,
    number: str,
    at: datetime,
    *,
    agent: Agent | None = None,
    channel_id: str = "",
    state: str = Leg.State.ASKED,
) -> Leg:
    """Store a new leg. Its channel gets an id of ours, unless it is a caller's, which has an id and is up already."""
    known = connection.all_legs  # read before the insert
    leg = Leg.objects.create(
        connection=connection,
        role=role,
        number=number,
        agent=agent,
        channel_id=channel_id or channels.channel_id(connection.pk, len(known) + 1),
        state=state,
        asked_at=at,
        up_at=at if state == Leg.State.UP else None,
    )
    known.append(leg)
    return leg


def ring_agent(
    connection: Connection,
    agent: Agent,
    at: datetime,
    *,
    role: str,
    presented: str,
    ring_seconds: int,
    is_awaited: bool = False,
) -> None:
    """Call an agent: by the standing line of an agent who has one, else by a new leg."""
    if lines.ring(connection, agent, role, at, presented=presented, ring_seconds=ring_seconds):
        return
    leg = add_leg(connection, role, agent.number, at, agent=agent)
    switch_requests.call_agent(leg, presented, ring_seconds, is_awaited=is_awaited)


def mark_ended(leg: Leg, at: datetime, cause: int | None, tech_cause: str = "", cause_text: str = "") -> None:
    """Store the end of a leg and its cause. Without a cause and a text, the text that the row has stays."""
    leg.was_refused = leg.state == Leg.State.REFUSED
    known = leg.cause_text if cause is None else ""
    text = (cause_text or known or causes.text_of(cause))[: causes.LONGEST]
    store(leg, state=Leg.State.ENDED, ended_at=at, cause=cause, cause_text=text, tech_cause=tech_cause[:10])


def hang_up(leg: Leg, at: datetime, cause: int = NORMAL) -> None:
    """Ask the switch to hang up this leg. `hangup_asked_at` is set until the switch reports the end.

    A standing line only leaves the call.
    """
    if leg.line:
        lines.release(leg)
    elif leg.ended_at is None:
        if leg.hangup_asked_at is None:
            store(leg, hangup_asked_at=at)
        switch_requests.hang_up(leg.channel_id, cause)


def end(
    connection: Connection, at: datetime, failure: str, *, cause: int | None, cause_text: str = "", hung_up_by: str
) -> None:
    """End a call, once: store its result, record CONNECTION_ENDED, hang up its legs, release its agent.

    A call that was answered has the result ANSWERED, another one `failure`. An open offer and the wait in a queue end
    with the call. This stores `ring_seconds` too, which the caller of this function has counted.
    """
    if connection.state == Connection.State.ENDED:
        return
    if connection.waiting_since:
        offers.end_with_call(connection, at)
    if any(leg.role == Leg.Role.CONSULTED for leg in connection.all_legs):
        consulted.end(connection, at)
    connection.state, connection.ended_at, connection.is_on_hold = Connection.State.ENDED, at, False
    connection.disposition = Connection.Disposition.ANSWERED if connection.answered_at else failure
    connection.cause, connection.hung_up_by = cause, hung_up_by
    # A caller who has heard why no agent answers keeps this reason.
    connection.cause_text = connection.cause_text or cause_text or causes.text_of(cause)
    connection.save(
        update_fields=[
            *("state", "ended_at", "is_on_hold", "disposition", "cause", "cause_text", "hung_up_by"),
            *("ring_seconds", "wait_seconds"),
        ]
    )
    if connection.has_talks:
        offers.end_talk(connection, at)
    call_ends.settle(connection, at)
    _part(connection, at, (cause or NORMAL) if hung_up_by == Connection.Party.SYSTEM else NORMAL)
    for supervision in bridges.supervisors_in(connection):
        bridges.end_supervision(connection, supervision, at)
    if connection.agent:
        presence.leave_call(connection.agent, connection, at, connection.wrap_up_seconds)
    events.connection_ended(connection)
    campaign_hooks.of(connection).ended(connection, at)
    transaction.on_commit(ended.labels(connection.direction, connection.disposition).inc, robust=True)


def _part(connection: Connection, at: datetime, hangup_cause: int) -> None:
    """Hang up the legs of a call that ends, and destroy its bridge. Standing lines only leave it."""
    # Agents whose phones ring as targets, while the call still belongs to another agent.
    rung = [leg.agent for leg in connection.open_legs if leg.role == Leg.Role.TARGET and leg.agent and not leg.up_at]
    if rung and connection.agent:
        ledger.lock_in_order([connection.agent.pk, *(agent.pk for agent in rung)])
    present = connection.open_legs
    for leg in present:
        if leg.line is None:
            hang_up(leg, at, hangup_cause)
    if connection.join_count:
        # This may take a second, as the recording is completed before.
        destroy = partial(switch_requests.send_now, "destroy_bridge", connection.bridge_id)
        transaction.on_commit(partial(switch_requests.send_later, connection.pk, destroy), robust=True)
    # A line hears silence again once it is in no bridge.
    for leg in present:
        if leg.line:
            lines.release(leg)
    for agent in rung:
        presence.leave_call(agent, connection, at)


def unheard_since(leg: Leg, at: datetime) -> datetime | None:
    """Return the instant since which this phone, whose leg has ended, was silent; None if it has not vanished.

    The switch ends a phone that sends nothing for RTP_TIMEOUT. A person who was joined to it later was not heard.
    """
    return at - settings.RTP_TIMEOUT - UNHEARD_MARGIN if leg.cause == NO_MEDIA else None


def may_come_back(leg: Leg) -> bool:
    """Return whether the leg of a phone in the browser, which has ended, was lost in a talk."""
    return bool(leg.cause == NO_MEDIA and leg.up_at and leg.agent and leg.agent.uses_browser_phone)


def await_phone(connection: Connection, leg: Leg, at: datetime) -> bool:
    """Let the customer hear music until the phone in the browser of this leg, which has ended, is back.

    Return whether it may come back: it was lost in a talk, or did not answer when it was rung again. What happens next
    is in telephony.calls.failed_transfers.
    """
    customer = connection.leg_of(Leg.Role.CUSTOMER)
    if connection.state != Connection.State.TALKING or customer is None or leg.agent is None:
        return False
    if connection.agent_lost_at:
        return True
    if not may_come_back(leg):
        return False
    store(connection, agent_lost_at=at)
    if not connection.is_on_hold:
        bridges.destroy(connection)
        switch_requests.play_music(customer, connection.music_class)
    publish("calls")
    return True


def hold(connection: Connection) -> None:
    """Let the customer hear music, and the agent nothing."""
    store(connection, is_on_hold=True)
    bridges.destroy(connection)
    if customer := connection.leg_of(Leg.Role.CUSTOMER):
        switch_requests.play_music(customer, connection.music_class)
    for leg in connection.open_legs:
        if leg.line:
            switch_requests.send("play_silence", leg.channel_id)


def resume(connection: Connection) -> None:
    """Let all talk again, but an agent whose phone is lost."""
    store(connection, is_on_hold=False)
    if not connection.agent_lost_at:
        join_again(connection)


def join_again(connection: Connection) -> None:
    store(connection, join_count=connection.join_count + 1)
    if customer := connection.leg_of(Leg.Role.CUSTOMER):
        switch_requests.send("stop_music", customer.channel_id)
    bridges.join(connection, *(leg for leg in connection.open_legs if not leg.hangup_asked_at))


def end_with_leg(connection: Connection, leg: Leg, at: datetime, failure: str, hung_up_by: str) -> None:
    end(connection, at, failure, cause=leg.cause, cause_text=leg.cause_text, hung_up_by=hung_up_by)
