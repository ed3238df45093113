"""The free agents that a campaign may use now, while other campaigns and queues want the same ones.

Of campaigns that share an agent and have records to call, the one with the lowest order gets the agent. Campaigns of
the same order take turns in proportion to their parity. Each campaign has a turn in its row of DiallerState; each call
moves it on by 1 / parity, and the campaign with the lowest turn is next. Every process computes the same from the rows,
so campaigns of several processes need no other agreement, and the lock of the agent decides in the end. A campaign that
had nothing to call begins again beside the others, so that it does not catch up.

Agents whom waiting callers of queues need are left to these.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F
from django.utils import timezone

from callcentre.core.statements import Statement, rows_of
from campaigns.dialling.agents import CampaignAgent
from campaigns.models import Campaign
from campaigns.models.dialling import DiallerState
from telephony.calls.candidates import ORDER_OF_WAITS, WAITS, values_at
from telephony.models.connection import IS_ANSWERED_WITHOUT_AGENT
from telephony.models.skill import IS_ABLE, SKILLS_OF_MEMBER

# An older state belongs to a dialler that has died: its campaign wants no agent.
FRESH = timedelta(seconds=6)

# All campaigns that are dialled and have one of the agents, with these agents, the campaign itself first.
_CONTENDERS = """
SELECT c.id, c."order", c.parity, COALESCE(s.turn, 0), COALESCE(s.wants_agents AND s.at > %(since)s, false),
  array_agg(member.agent_id)
FROM campaigns_campaign_agents member
JOIN campaigns_campaign c ON c.id = member.campaign_id AND (c.is_dialling AND c.is_active OR c.id = %(campaign)s)
LEFT JOIN campaigns_diallerstate s ON s.campaign_id = c.id
WHERE member.agent_id = ANY(%(agents)s)
GROUP BY c.id, s.campaign_id ORDER BY c.id <> %(campaign)s, c.id
"""
# Answered calls of other campaigns without an agent, then callers for whom no phone rings and call-backs, one row each,
# in the order in which the distribution serves them. Campaigns have negative numbers here.
_WAITING = Statement("""
SELECT place FROM (
  SELECT -call.campaign_id AS place, NULL AS rank, NULL AS waiting_since, call.id AS connection_id, NULL AS callback_id
  FROM telephony_connection call
  WHERE {is_answered_without_agent} AND call.campaign_id <> %(own)s
  UNION ALL
  SELECT queue_id, rank, waiting_since, connection_id, callback_id FROM ({waits}) w
) AS places ORDER BY places.rank NULLS FIRST, {order_of_waits}
""").of(
    is_answered_without_agent=IS_ANSWERED_WITHOUT_AGENT, waits=WAITS, order_of_waits=ORDER_OF_WAITS.format("places")
)
_MEMBERS = Statement("""
SELECT place, agent_id FROM (
  SELECT m.queue_id AS place, m.agent_id, m.priority FROM telephony_queuemember m {skills_of_member} WHERE {is_able}
  UNION ALL
  SELECT -campaign_id, agent_id, 0 FROM campaigns_campaign_agents
) AS members
WHERE place = ANY(%(places)s) AND agent_id = ANY(%(agents)s) ORDER BY priority
""").of(skills_of_member=SKILLS_OF_MEMBER, is_able=IS_ABLE)
_CALLERS = Statement("""
SELECT count(*) FROM ({waits}) w
WHERE w.queue_id IN (
  SELECT m.queue_id FROM telephony_queuemember m {skills_of_member} WHERE m.agent_id = ANY(%(agents)s) AND {is_able})
""").of(waits=WAITS, skills_of_member=SKILLS_OF_MEMBER, is_able=IS_ABLE)


@dataclass(frozen=True, slots=True)
class Contender:
    """A campaign, and those of the free agents that it may use. `wants`: it has records to call now."""

    campaign_id: int
    order: int
    parity: int
    turn: float
    wants: bool
    agents: frozenset[int]


def left_by_queues(free: Sequence[CampaignAgent], campaign: Campaign) -> tuple[list[CampaignAgent], int]:
    """Return the free agents whom no waiting caller of a queue needs, and no answered call of another campaign.

    Also return the number of callers for whom an agent was set aside.
    """
    ids = [agent.id for agent in free]
    waiting = rows_of(_WAITING, {"own": campaign.pk, **values_at(timezone.now())}) if free else []
    if not waiting:
        return list(free), 0
    members: defaultdict[int, list[int]] = defaultdict(list)
    for place, agent_id in rows_of(_MEMBERS, {"places": list({place for (place,) in waiting}), "agents": ids}):
        members[place].append(agent_id)
    needed: set[int] = set()
    served = 0
    for (place,) in waiting:
        able = next((agent_id for agent_id in members[place] if agent_id not in needed), None)
        if able is not None:
            needed.add(able)
            served += place > 0
    return [agent for agent in free if agent.id not in needed], served


def callers_for(agents: Sequence[CampaignAgent]) -> int:
    """Return how many callers wait, without a ringing phone, in queues of which one of the agents is a member."""
    ((callers,),) = rows_of(_CALLERS, {"agents": [agent.id for agent in agents], **values_at(timezone.now())})
    return int(callers)


def contenders_for(campaign: Campaign, free: Sequence[CampaignAgent], now: datetime) -> list[Contender]:
    """Return the campaigns that may use one of the free agents; the given one is the first."""
    values = {"campaign": campaign.pk, "agents": [agent.id for agent in free], "since": now - FRESH}
    return [
        Contender(pk, order, parity, turn, wants, frozenset(agents))
        for pk, order, parity, turn, wants, agents in rows_of(_CONTENDERS, values)
    ]


def allot(own: Contender, rivals: Sequence[Contender], free: Sequence[CampaignAgent]) -> list[CampaignAgent]:
    """Return the free agents that a campaign gets: each goes to the contender of the lowest order, then turn.

    The turns go on from agent to agent, so that several agents are shared at once.
    """
    contenders = [own, *rivals]
    turns = {contender.campaign_id: contender.turn for contender in contenders}
    allotted = set()
    for agent_id in sorted(agent.id for agent in free):
        wanting = [contender for contender in contenders if agent_id in contender.agents]
        if not wanting:
            continue
        winner = min(wanting, key=lambda one: (one.order, turns[one.campaign_id], one.campaign_id))
        turns[winner.campaign_id] += 1 / winner.parity
        if winner is own:
            allotted.add(agent_id)
    return [agent for agent in free if agent.id in allotted]


def first_turn(own: Contender, rivals: Iterable[Contender]) -> float:
    """Return the turn of a campaign that wants agents again: it waits for one turn at most, and catches nothing up."""
    others = [rival.turn for rival in rivals if rival.order == own.order]
    if not others:
        return own.turn
    lowest = min(others)
    return min(max(own.turn, lowest), lowest + 1 / own.parity)


def take_turns(campaign: Campaign, calls: int) -> None:
    """Move the campaign's turn on by its calls."""
    DiallerState.objects.filter(campaign=campaign).update(turn=F("turn") + calls / campaign.parity)
