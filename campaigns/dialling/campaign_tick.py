"""One tick of one campaign: who is free, what is due, which records are called now."""

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson
from django.db import connection

from campaigns.dialling import choice, dials, previews, sharing
from campaigns.dialling.agents import CampaignAgent, agents_of
from campaigns.dialling.choice import Group, ReservedRecord
from campaigns.dialling.hours import open_groups, read_hours
from campaigns.dialling.obstacles import is_switched_on
from campaigns.models import Attempt, Campaign
from telephony.calls import placement
from telephony.leader_election import is_connected
from telephony.models import Agent

# Between two writes of an unchanged state.
STATE_SECONDS = 2.0

_STORE = """
INSERT INTO campaigns_diallerstate (campaign_id, at, owner, state, code, pace, wants_agents, turn)
VALUES (%(campaign)s, now(), %(owner)s, %(state)s, %(code)s, %(pace)s, %(wants)s, 0)
ON CONFLICT (campaign_id) DO UPDATE SET at = EXCLUDED.at, owner = EXCLUDED.owner, state = EXCLUDED.state,
  code = EXCLUDED.code, pace = EXCLUDED.pace, wants_agents = EXCLUDED.wants_agents
"""


class CampaignTick:
    """A campaign of this dialler, with what it remembers between two ticks."""

    def __init__(self, campaign_id: int, owner: str) -> None:
        self._campaign_id = campaign_id
        self._owner = owner
        # Another holder than that of a process before: its reservations end by themselves.
        self._holder = f"dialler:{uuid.uuid4().hex[:20]}"
        # Whether it has records to call, while other campaigns have the same agents.
        self._wants = False
        # Calls for each free agent, and other figures of the pacer.
        self._pace: dict[str, Any] = {}
        self._stored: tuple[Any, ...] = ()
        self._stored_at = 0.0

    def run(self, campaign: Campaign, now: datetime) -> None:
        """Use the agents who are free. Store the state of the dialling."""
        agents = agents_of(campaign.pk)
        free = [agent for agent in agents if agent.is_free]
        code = _obstacle(agents, free) or self._use(campaign, free, now)
        self._store(code)

    def _use(self, campaign: Campaign, free: Sequence[CampaignAgent], now: datetime) -> str:
        """Dial for the free agents that are left to this campaign. Return the code of the reason if nothing is done."""
        found = choice.groups_of(campaign.pk)
        groups = open_groups(read_hours(campaign), found, now)
        left = sharing.left_by_queues(free)
        own = self._share(campaign, left, groups, now)
        if not groups:
            return "outside_hours" if found else "no_record"
        if not own:
            return "agents_elsewhere" if self._wants or not left else "no_record"
        used, code = _WAYS[Campaign.Dialer(campaign.dialer)](self, campaign, own, groups, now)
        if used and self._wants:
            sharing.take_turns(campaign, used)
        # Others may have agents that this campaign could not use.
        self._wants = self._wants and used > 0
        return "" if used else code

    def _share(
        self, campaign: Campaign, free: Sequence[CampaignAgent], groups: Sequence[Group], now: datetime
    ) -> Sequence[CampaignAgent]:
        """Return the free agents that other campaigns leave to this one."""
        contenders = sharing.contenders_for(campaign, free, now)
        if len(contenders) < 2:
            self._wants = False
            return free
        own, *others = contenders
        ids = [agent.id for agent in free]
        self._wants = choice.has_due(campaign.pk, groups=groups, free_agents=ids, now=now)
        if not self._wants:
            return []
        rivals = [other for other in others if other.wants]
        if not own.wants:
            turn = sharing.first_turn(own, rivals)
            sharing.set_turn(campaign, turn)
            own = replace(own, turn=turn)
        return sharing.allot(own, rivals, free)

    # The ways of dialling: each returns the agents that it has used, and why none, if so.

    def _dial_one_to_one(
        self, campaign: Campaign, free: Sequence[CampaignAgent], groups: Sequence[Group], now: datetime
    ) -> tuple[int, str]:
        """Call one record for each free agent."""
        self._pace = {"lines_per_agent": 1}
        ids = [agent.id for agent in free]
        reserved = choice.reserve(campaign.pk, self._holder, len(free), groups=groups, free_agents=ids, now=now)

        def dial(record: ReservedRecord, agent: CampaignAgent) -> bool:
            mode = Attempt.Mode.ONE_TO_ONE
            return dials.dial_with_agent(campaign, record.id, self._holder, _caller(agent), mode) is not None

        return self._match(campaign, reserved, free, dial)

    def _offer(
        self, campaign: Campaign, free: Sequence[CampaignAgent], groups: Sequence[Group], now: datetime
    ) -> tuple[int, str]:
        """Offer one record to each free agent, none that the agent has skipped a short time ago."""
        self._pace = {"lines_per_agent": 1}
        ids = [agent.id for agent in free]
        skipped = previews.skipped_by(ids, now)
        # Records that were skipped come first again, so that the others are behind them.
        count = len(free) + len(set().union(*skipped.values()))
        reserved = choice.reserve(campaign.pk, self._holder, count, groups=groups, free_agents=ids, now=now)

        def offer(record: ReservedRecord, agent: CampaignAgent) -> bool:
            return previews.offer_record(campaign, record.id, self._holder, _caller(agent))

        return self._match(campaign, reserved, free, offer, lambda record, agent: record.id not in skipped[agent.id])

    def _match(
        self,
        campaign: Campaign,
        reserved: Sequence[ReservedRecord],
        free: Sequence[CampaignAgent],
        act: Callable[[ReservedRecord, CampaignAgent], bool],
        fits: Callable[[ReservedRecord, CampaignAgent], bool] = lambda record, agent: True,
    ) -> tuple[int, str]:
        """Use each record for the first agent it fits, an agent's own record for that agent only."""
        waiting = list(free)
        unused, used = [], 0
        for record in reserved:
            able = (one for one in waiting if record.agent_id in (None, one.id) and fits(record, one))
            agent = next(able, None)
            if agent is None:
                unused.append(record.id)
                continue
            waiting.remove(agent)
            # A tick with many agents takes a while: a pause holds for its later calls.
            if is_switched_on(campaign) and act(record, agent):
                used += 1
            else:
                unused.append(record.id)
        if unused:
            choice.give_back(unused, self._holder)
        if len(reserved) == len(unused):
            return used, "no_record"
        return used, "agents_busy" if placement.is_line_free() else "no_line"

    def _store(self, code: str) -> None:
        state = "waiting" if code else "dialling"
        row = (state, code, self._wants, orjson.dumps(self._pace).decode())
        if row == self._stored and time.monotonic() - self._stored_at < STATE_SECONDS:
            return
        values: dict[str, Any] = {"campaign": self._campaign_id, "owner": self._owner}
        values |= dict(zip(("state", "code", "wants", "pace"), row, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(_STORE, values)
        self._stored, self._stored_at = row, time.monotonic()


def _obstacle(agents: Sequence[CampaignAgent], free: Sequence[CampaignAgent]) -> str:
    if not is_connected():
        return "no_switch"
    if not agents:
        return "no_agent"
    return "" if free else "agents_busy"


def _caller(agent: CampaignAgent) -> Agent:
    return Agent(pk=agent.id, login=agent.login, number=agent.number)


_WAYS = {
    Campaign.Dialer.PREVIEW: CampaignTick._offer,
    Campaign.Dialer.PROGRESSIVE: CampaignTick._dial_one_to_one,
    Campaign.Dialer.PREDICTIVE: CampaignTick._dial_one_to_one,
}
