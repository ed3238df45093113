"""Callers of a queue, customers who are called, and agents, as the switch tells of them."""

from datetime import timedelta
from typing import Any, cast

from django.utils import timezone

from telephony.calls import commands, distribution, inbound, placement, reconciliation, switch_events, switch_requests
from telephony.models import Agent, AgentState, Connection, Queue
from telephony.switch.base import Arrived, Ended, Ringing, Up
from telephony.verbs import connections, presence
from tests.conftest import ACTOR
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import AgentFactory, QueueMemberFactory
from webhooks.models import Event

CALLER, HOTLINE = "+48225550107", "+48225550100"


def free_agent(login: str = "anna", number: str = "101") -> Agent:
    agent: Agent = AgentFactory(login=login, number=number)
    presence.log_in(agent, ACTOR)
    return agent


def member(queue: Queue, login: str, number: str, *, minutes_free: int = 5, priority: int = 50) -> Agent:
    agent: Agent = AgentFactory(login=login, number=number)
    QueueMemberFactory(queue=queue, agent=agent, priority=priority)
    presence.log_in(agent, ACTOR, timezone.now() - timedelta(minutes=minutes_free))
    return agent


def call_in(channel: str = "caller-1", caller: str = CALLER, dialled: str = HOTLINE) -> Connection:
    switch_events.handle(Arrived(channel, timezone.now(), caller, dialled))
    return Connection.objects.get(legs__channel_id=channel)


def talk_in(channel: str = "caller-1") -> Connection:
    """A caller who talks with the first free agent."""
    call = call_in(channel)
    distribute()
    pick_up(call)
    return fresh(call)


def distribute(seconds_from_now: int = 0) -> None:
    now = timezone.now() + timedelta(seconds=seconds_from_now)
    for pk in distribution.overdue(now):
        inbound.overflow(pk, now)
    distribution.distribute(now)
    end_refused_legs()


def wait_too_long(call: Connection, seconds: int = 700) -> Connection:
    """Let the caller have waited for so long, and the listener have noticed."""
    start = timezone.now().replace(microsecond=0) - timedelta(seconds=seconds)
    Connection.objects.filter(pk=call.pk).update(created_at=start, waiting_since=start)
    distribute()
    return fresh(call)


def end_refused_legs() -> None:
    """End the legs that the switch has refused, as the listener does at its next tick."""
    for _connection_id, channel_id in switch_events.refused_legs():
        switch_events.end_refused(channel_id)


def pick_up(connection: Connection) -> None:
    switch_events.handle(Up(ringing_channel(connection), timezone.now()))


def ring_out(connection: Connection, cause: int = 19) -> None:
    """The phone rings and is not picked up."""
    switch_events.handle(Ringing(ringing_channel(connection), timezone.now()))
    switch_events.handle(Ended(ringing_channel(connection), timezone.now(), cause))


def give_up(connection: Connection) -> None:
    channel = connection.legs.filter(role="customer").get().channel_id
    switch_events.handle(Ended(channel, timezone.now(), 16))


def ringing_channel(connection: Connection) -> str:
    return str(connection.legs.filter(role="agent").latest("id").channel_id)


def offers(connection: Connection) -> list[tuple[str, str]]:
    return list(connection.offers.values_list("agent__login", "outcome"))


def state(agent: Agent) -> str:
    current = AgentState.objects.filter(agent=agent, ended_at=None).first()
    return current.kind if current else ""


def actions() -> list[str]:
    about_calls = Event.objects.filter(subject__startswith="connection:").order_by("id")
    return list(about_calls.values_list("action", flat=True))


def fresh(call: Connection) -> Connection:
    return Connection.objects.get(pk=call.pk)


def channel(call: Connection, number: int) -> str:
    """The channel of a leg of a call out: 1 the agent's, 2 the customer's, 3 the first target's."""
    return f"callcentre-{call.pk}-{number}"


def double() -> RecordingSwitch:
    """The switch of the fixture `switch`."""
    return cast("RecordingSwitch", vars(switch_requests)["current_switch"]())


def talk_out(number: str = CALLER) -> Connection:
    """A call out of the agent with the phone 101, who talks with the customer."""
    call = connections.call(ACTOR, sip="101", phone_number=number)
    placement.place(call.pk)
    for leg in (1, 2):
        switch_events.handle(Up(channel(call, leg), timezone.now()))
    double().told.clear()
    return fresh(call)


def carry_out_all() -> None:
    for pk, connection_id in commands.outstanding():
        commands.carry_out(pk, connection_id)


def repair(looks: int = 2) -> None:
    """Compare with the channels of the switch so often, and make the repairs."""
    comparison = reconciliation.Comparison()
    for _ in range(looks):
        for difference in comparison.compare(double()).repairs:
            difference.act()


def ask(call: Connection, kind: str, **arguments: Any) -> None:
    command = commands.ask(ACTOR, fresh(call), kind, arguments)
    commands.carry_out(command.pk, call.pk)
