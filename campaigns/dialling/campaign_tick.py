"""One tick of one campaign: who is free, what is due, which records are called now."""

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone

from campaigns.dialling import choice, dials, pacing, previews, sharing
from campaigns.dialling.agents import CampaignAgent, agents_of
from campaigns.dialling.choice import Group, ReservedRecord
from campaigns.dialling.hours import Hours, open_groups, read_hours
from campaigns.dialling.pacing import Pacing
from campaigns.models import Attempt, Campaign, DiallerState
from telephony.calls import placement, switch_requests
from telephony.leader_election import is_connected
from telephony.models import Agent

PREDICTIVE = Campaign.Dialer.PREDICTIVE
# An unchanged state is written this often.
STATE_SECONDS = 2.0
# The reasons of `CampaignAgent.rest`.
RESTS = ("trunk_failed", "call_refused")


class CampaignTick:
    """A campaign of this dialler, with the state that is kept between two ticks."""

    def __init__(self, campaign_id: int, owner: str) -> None:
        self._campaign_id = campaign_id
        self._owner = owner
        # Each process has its own name as holder, so it never takes the reservations of a dialler that has died.
        self._holder = f"dialler:{uuid.uuid4().hex[:20]}"
        # Whether other campaigns have some of its free agents, and whether it has records to call meanwhile.
        self._shares = self._wants = False
        # Calls for each free agent, and other figures of the pacer.
        self._pace: dict[str, Any] = {}
        self._pacing = Pacing(campaign_id)
        self._stored: dict[str, Any] = {}
        self._stored_at = 0.0

    def run(self, campaign: Campaign, now: datetime) -> None:
        """Use the agents who are free. Store the state of the dialling."""
        self._pacing.read_calls()
        agents = agents_of(campaign.pk)
        free = [agent for agent in agents if agent.is_free]
        # Calls of a predictive campaign may begin before an agent is free.
        ahead = [one for one in agents if one.takes_calls_ahead] if campaign.dialer == PREDICTIVE else []
        code = _obstacle(agents, free or ahead)
        if code in RESTS:
            # Meanwhile others may have the agents.
            self._wants = False
        code = code or self._use(campaign, agents, free, now)
        self._store(code)

    def _use(
        self, campaign: Campaign, agents: Sequence[CampaignAgent], free: Sequence[CampaignAgent], now: datetime
    ) -> str:
        """Dial for the free agents that are left to this campaign. Return the code of the reason if nothing is done."""
        found = choice.groups_of(campaign.pk)
        hours = read_hours(campaign)
        groups = open_groups(hours, found, now)
        left, served = sharing.left_by_queues(free, campaign)
        own = self._share(campaign, left, groups, now)
        if not groups:
            return "outside_hours" if found else "no_record"
        if campaign.dialer == PREDICTIVE and any(agent.takes_calls_ahead for agent in agents):
            callers = max(0, sharing.callers_for(agents) - served)
            used, code = self._dial_ahead(campaign, agents, own, groups, now, hours=hours, callers=callers)
            if used and self._wants:
                sharing.take_turns(campaign, used)
            if code == "agents_busy" and free and not own:
                code = "agents_elsewhere"
            return "" if used else code
        if not own:
            return "agents_elsewhere" if self._wants or not left else "no_record"
        own = self._pacing.not_promised(free, own)
        if not own:
            return "agents_elsewhere"
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
        self._shares = len(contenders) > 1
        if not self._shares:
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
            DiallerState.objects.filter(campaign=campaign).update(turn=turn)
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

        return self._match(reserved, free, lambda record, agent: self._dial(campaign, record, agent))

    def _dial_ahead(
        self,
        campaign: Campaign,
        agents: Sequence[CampaignAgent],
        own: Sequence[CampaignAgent],
        groups: Sequence[Group],
        now: datetime,
        *,
        hours: Hours,
        callers: int,
    ) -> tuple[int, str]:
        """Call as many records as the pacer says, for the agents with lines; one for each free agent without a line.

        Records that need a guaranteed agent are called for one of the free agents.
        """
        with_lines = [agent for agent in own if agent.is_line_ready]
        others = [agent for agent in own if not agent.is_line_ready]
        takers = [agent for agent in agents if agent.takes_calls_ahead]
        pace = self._pacing.decide(campaign, takers, with_lines, callers, now)
        self._pace = pacing.figures(pace)
        figures = self._pace | ({pacing.PLACED_FOR: [agent.id for agent in with_lines]} if self._shares else {})
        count = pace.calls + len(others)
        ids = [agent.id for agent in own]
        reserved = choice.reserve(campaign.pk, self._holder, count, groups=groups, free_agents=ids, now=now)
        left, used, unused = pace.calls, 0, []
        for record in reserved:
            # An agent without a line takes any record; one with a line is held for a record that needs an agent.
            held = with_lines if record.needs_agent and left > 0 else []
            agent = next((one for one in [*others, *held] if record.agent_id in (None, one.id)), None)
            is_ahead = agent is None and not record.needs_agent and left > 0
            if agent is None and not is_ahead:
                unused.append(record.id)
                continue
            if agent in others:
                others.remove(agent)
            else:
                left -= 1
                with_lines = [one for one in with_lines if one is not agent]
            if agent:
                is_called = self._dial(campaign, record, agent)
            else:
                mode = Attempt.Mode.PREDICTIVE
                call = dials.dial(campaign, record.id, self._holder, mode, hours=hours, figures=figures)
                is_called = call is not None
            used += is_called
            if not is_called:
                unused.append(record.id)
        choice.give_back(unused, self._holder)
        if not count:
            is_due = choice.has_due(campaign.pk, groups=groups, free_agents=ids, now=now)
            return 0, "agents_busy" if is_due else "no_record"
        return used, _reason_of_rest(reserved, unused)

    def _dial(self, campaign: Campaign, record: ReservedRecord, agent: CampaignAgent) -> bool:
        return dials.dial(campaign, record.id, self._holder, Attempt.Mode.ONE_TO_ONE, _caller(agent)) is not None

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

        return self._match(reserved, free, offer, lambda record, agent: record.id not in skipped[agent.id])

    def _match(
        self,
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
            if act(record, agent):
                used += 1
            else:
                unused.append(record.id)
        choice.give_back(unused, self._holder)
        return used, _reason_of_rest(reserved, unused)

    def _store(self, code: str) -> None:
        state = "waiting" if code else "dialling"
        stored = {"owner": self._owner, "state": state, "code": code, "pace": self._pace, "wants_agents": self._wants}
        if stored == self._stored and time.monotonic() - self._stored_at < STATE_SECONDS:
            return
        row = DiallerState(campaign_id=self._campaign_id, at=timezone.now(), **stored)
        changed = ["at", *stored]
        DiallerState.objects.bulk_create(
            [row], update_conflicts=True, unique_fields=["campaign"], update_fields=changed
        )
        self._stored, self._stored_at = stored, time.monotonic()


def _obstacle(agents: Sequence[CampaignAgent], free: Sequence[CampaignAgent]) -> str:
    if not is_connected() or not switch_requests.has_room():
        return "no_switch"
    if not agents:
        return "no_agent"
    if agents[0].rest:
        return agents[0].rest
    if free:
        return ""
    return "phones_unreachable" if any(agent.is_resting for agent in agents) else "agents_busy"


def _reason_of_rest(reserved: Sequence[ReservedRecord], unused: Sequence[int]) -> str:
    """Return the code of the reason for which the other records were not called."""
    if not switch_requests.has_room():
        return "no_switch"
    if reserved and not placement.is_line_free():
        return "no_line"
    return "no_record" if len(reserved) == len(unused) else "agents_busy"


def _caller(agent: CampaignAgent) -> Agent:
    return Agent(pk=agent.id, login=agent.login, number=agent.number, has_line=agent.has_line)


_WAYS = {
    Campaign.Dialer.PREVIEW: CampaignTick._offer,
    Campaign.Dialer.PROGRESSIVE: CampaignTick._dial_one_to_one,
    Campaign.Dialer.PREDICTIVE: CampaignTick._dial_one_to_one,
}
