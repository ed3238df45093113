"""One tick of one campaign: who is free, what is due, which records are called now."""

import uuid
from datetime import datetime

from campaigns.dialling import choice, dials
from campaigns.dialling.agents import CampaignAgent, agents_of
from campaigns.dialling.hours import open_groups, read_hours
from campaigns.models import Attempt, Campaign, DiallerState
from telephony.leader_election import is_connected
from telephony.models import Agent

# Between two writes of an unchanged state.
STATE_SECONDS = 5.0


class CampaignTick:
    """A campaign of this dialler, with what it remembers between two ticks."""

    def __init__(self, campaign_id: int, owner: str) -> None:
        self._campaign_id = campaign_id
        self._owner = owner
        # Another holder than that of a process before: its reservations end by themselves.
        self._holder = f"dialler:{uuid.uuid4().hex[:20]}"

    def run(self, campaign: Campaign, now: datetime) -> None:
        """Call the next records for the agents who are free. Store the state of the dialling."""
        agents = agents_of(campaign.pk)
        free = [agent for agent in agents if agent.is_free]
        code = self._obstacle(agents, free)
        placed = 0 if code else self._dial_one_to_one(campaign, free, now)
        if not code and free and not placed:
            code = "no_record"
        self._store(code, agents)

    def _obstacle(self, agents: list[CampaignAgent], free: list[CampaignAgent]) -> str:
        if not is_connected():
            return "no_switch"
        if not agents:
            return "no_agent"
        return "" if free else "agents_busy"

    def _dial_one_to_one(self, campaign: Campaign, free: list[CampaignAgent], now: datetime) -> int:
        """Call one record for each free agent. Return the number of calls."""
        groups = open_groups(read_hours(campaign), choice.groups_of(campaign.pk), now)
        ids = [agent.id for agent in free]
        reserved = choice.reserve(campaign.pk, self._holder, len(free), groups=groups, free_agents=ids, now=now)
        waiting = {agent.id: agent for agent in free}
        unused, placed = [], 0
        for record in reserved:
            agent = waiting.get(record.agent_id) if record.agent_id else next(iter(waiting.values()), None)
            if agent is None:
                unused.append(record.id)
                continue
            del waiting[agent.id]
            caller = Agent(pk=agent.id, login=agent.login, number=agent.number)
            mode = Attempt.Mode.ONE_TO_ONE
            if dials.dial_with_agent(campaign, record.id, self._holder, caller, mode):
                placed += 1
            else:
                unused.append(record.id)
        if unused:
            choice.give_back(unused, self._holder)
        return placed

    def _store(self, code: str, agents: list[CampaignAgent]) -> None:
        state = "waiting" if code else "dialling"
        DiallerState.objects.update_or_create(
            campaign_id=self._campaign_id, defaults={"owner": self._owner, "state": state, "code": code}
        )
