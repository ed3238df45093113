"""Callers of a queue and its agents, as the switch tells of them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from telephony.calls import commands, distribution, inbound, switch_events
from telephony.models import Agent, AgentState, Connection, Queue
from telephony.switch.base import Arrived, Ended, Ringing, Up
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory, QueueMemberFactory
from webhooks.models import Event

CALLER, HOTLINE = "+48225550107", "+48225550100"


def member(queue: Queue, login: str, number: str, *, minutes_free: int = 5, priority: int = 50) -> Agent:
    agent: Agent = AgentFactory(login=login, number=number)
    QueueMemberFactory(queue=queue, agent=agent, priority=priority)
    presence.log_in(agent, ACTOR, timezone.now() - timedelta(minutes=minutes_free))
    return agent


def call_in(channel: str = "caller-1", caller: str = CALLER, dialled: str = HOTLINE) -> Connection:
    switch_events.handle(Arrived(channel, timezone.now(), caller, dialled))
    return Connection.objects.get(legs__channel_id=channel)


def distribute(seconds_from_now: int = 0) -> None:
    now = timezone.now() + timedelta(seconds=seconds_from_now)
    for pk in distribution.overdue(now):
        inbound.overflow(pk, now)
    distribution.distribute(now)
    end_refused_legs()


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


def ask(call: Connection, kind: str, **arguments: Any) -> None:
    call = Connection.objects.get(pk=call.pk)
    command = commands.ask(ACTOR, call, kind, arguments)
    commands.carry_out(command.pk, call.pk)
