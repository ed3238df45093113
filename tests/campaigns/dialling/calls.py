"""A campaign with agents who are free, and its calls as the switch reports them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from campaigns.dialling.campaign_tick import CampaignTick
from campaigns.models import Attempt, Campaign, DiallingDay, Record
from telephony.calls import lines, switch_events
from telephony.models import Agent, AgentLine, AgentState, Connection, Leg
from telephony.switch.base import Ended, Ringing, Up
from telephony.verbs import presence
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory


def dialling_campaign(agents: int = 1, records: int = 1, **values: Any) -> Campaign:
    """Return a campaign that is dialled, with agents in outbound mode who are free, and records to call."""
    campaign: Campaign = CampaignFactory(is_dialling=True, **values)
    for number in range(agents):
        add_agent(campaign, f"agent{number + 1}", str(101 + number))
    RecordFactory.create_batch(records, campaign=campaign)
    return campaign


def add_agent(campaign: Campaign, login: str, number: str, **values: Any) -> Agent:
    agent: Agent = AgentFactory(login=login, number=number, outbound_mode=True, **values)
    campaign.agents.add(agent)
    presence.log_in(agent, ACTOR, timezone.now() - timedelta(minutes=5))
    return agent


def tick(campaign: Campaign) -> None:
    campaign.refresh_from_db()
    CampaignTick(campaign.pk, "test").run(campaign, timezone.now())


def open_call() -> Connection:
    return Connection.objects.open().get()


def pick_up(connection: Connection, role: str) -> None:
    switch_events.handle(Up(_channel(connection, role), timezone.now()))


def ring(connection: Connection, role: str) -> None:
    switch_events.handle(Ringing(_channel(connection, role), timezone.now()))


def hang_up(connection: Connection, role: str, cause: int = 16, tech_cause: str = "") -> None:
    switch_events.handle(Ended(_channel(connection, role), timezone.now(), cause, tech_cause))


def refreshed(call: Connection) -> Connection:
    return Connection.objects.get(pk=call.pk)


def predictive(agents: int = 1, records: int = 1, **values: Any) -> Campaign:
    """Return a predictive campaign whose agents have standing lines."""
    campaign = dialling_campaign(agents, records, dialer="predictive", **values)
    with_lines(campaign)
    return campaign


def set_states(kind: str, **values: Any) -> None:
    """Set the states of all agents."""
    AgentState.objects.filter(ended_at=None).update(kind=kind, **values)


def person_waits(campaign: Campaign) -> Connection:
    """Let a number be called, and a person answer while all agents are in wrap-up."""
    tick(campaign)
    call = open_call()
    set_states("wrap_up")
    pick_up(call, Leg.Role.CUSTOMER)
    return refreshed(call)


def counts_of_day() -> tuple[int, int, int]:
    """Return the attempts, live answers and drops of the only campaign's day."""
    return DiallingDay.objects.values_list("attempts", "live_answers", "drops").get()


def talking(campaign: Campaign) -> Connection:
    """Let the dialler place a call, and agent and customer pick up."""
    tick(campaign)
    call = open_call()
    answered_call(call)
    return call


def answered_call(connection: Connection) -> None:
    """Let agent and customer pick up."""
    pick_up(connection, Leg.Role.AGENT)
    pick_up(connection, Leg.Role.CUSTOMER)


def unanswered_call(connection: Connection, cause: int) -> None:
    """Let the agent pick up, and end the customer's leg with this cause."""
    pick_up(connection, Leg.Role.AGENT)
    hang_up(connection, Leg.Role.CUSTOMER, cause)


def only_record() -> Record:
    return Record.objects.get()


def only_attempt() -> Attempt:
    return Attempt.objects.get()


def _channel(connection: Connection, role: str) -> str:
    return connection.legs.filter(role=role, ended_at=None).latest("id").channel_id


def with_lines(campaign: Campaign) -> None:
    """Give all agents of the campaign standing lines that are up."""
    for agent in campaign.agents.order_by("id"):
        agent.has_line = True
        agent.save(update_fields=["has_line"])
        lines.ask_for_line(agent, ACTOR)
        switch_events.handle(Up(line_of(agent).channel_id, timezone.now()))


def line_of(agent: Agent) -> AgentLine:
    return AgentLine.objects.get(agent=agent, ended_at=None)
