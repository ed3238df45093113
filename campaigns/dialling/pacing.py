"""The pacer's view of a campaign: its agents, calls and counts, read from the rows."""

import time
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import orjson

from callcentre.core.statements import Statement, rows_of
from campaigns.dialling.agents import CampaignAgent
from campaigns.dialling.day_counts import days_of
from campaigns.dialling.pacer import (
    CALLS_KEPT,
    HANDLINGS_KEPT,
    MAX_CALLS,
    MIN_CALLS,
    Busy,
    Estimates,
    Floor,
    Law,
    Pace,
    Window,
    decide,
)
from campaigns.models import Campaign

LAW = Law()
# Between two reads of the last calls and handling times.
ESTIMATES_SECONDS = 5.0

# The name, among the figures of a call, of the ids of the free agents that it was placed for. Only calls of campaigns
# that share their agents have it.
PLACED_FOR = "placed_for"
# Calls that were not placed for a known agent, and have none yet, of the campaign and of others with one of its agents:
# whether they are its own, the begins of those that ring, the number of those answered, the campaign's agents, and the
# free agents that the calls were placed for.
_OPEN = Statement("""
SELECT call.campaign_id = %(campaign)s,
  COALESCE(array_agg(EXTRACT(epoch FROM call.dialled_at)::float8 ORDER BY call.dialled_at)
    FILTER (WHERE call.answered_at IS NULL), ARRAY[]::float8[]),
  count(call.answered_at),
  ARRAY(SELECT agent_id FROM campaigns_campaign_agents WHERE campaign_id = call.campaign_id),
  array_agg(DISTINCT call.figures->>'{placed_for}')
FROM campaigns_attempt call
WHERE call.ended_at IS NULL AND call.joined_at IS NULL AND call.outcome = '' AND call.mode = 'predictive'
  AND call.campaign_id IN (
    SELECT theirs.campaign_id FROM campaigns_campaign_agents own
    JOIN campaigns_campaign_agents theirs ON theirs.agent_id = own.agent_id
    WHERE own.campaign_id = %(campaign)s)
GROUP BY call.campaign_id
""").of(placed_for=PLACED_FOR)
# The last calls, latest first: seconds until they needed an agent or stopped ringing, and whether a person answered.
_CALLS = """
SELECT EXTRACT(epoch FROM COALESCE(answered_at, ended_at) - dialled_at)::float8
    + COALESCE((figures->>'detection_seconds')::float8, 0),
  answered_at IS NOT NULL AND outcome <> 'machine'
FROM campaigns_attempt
WHERE campaign_id = %(campaign)s AND mode = 'predictive' AND dialled_at > %(since)s
  AND (joined_at IS NOT NULL OR ended_at IS NOT NULL) AND outcome NOT IN ('not_dialled', 'cancelled')
ORDER BY dialled_at DESC, id DESC LIMIT %(most)s
"""
# The last handling times, latest first: talk and wrap-up.
_HANDLINGS = """
SELECT EXTRACT(epoch FROM COALESCE(w.ended_at, t.ended_at) - t.joined_at)::float8
FROM (
  SELECT agent_id, connection_id, joined_at, ended_at FROM campaigns_attempt
  WHERE campaign_id = %(campaign)s AND dialled_at > %(since)s AND joined_at IS NOT NULL AND ended_at IS NOT NULL
  ORDER BY dialled_at DESC, id DESC LIMIT %(most)s
) AS t
LEFT JOIN LATERAL (
  SELECT ended_at FROM telephony_agentstate
  WHERE agent_id = t.agent_id AND started_at BETWEEN date_trunc('second', t.joined_at) AND t.ended_at + interval '5 s'
    AND kind = 'wrap_up' AND connection_id = t.connection_id LIMIT 1
) AS w ON true
"""
# Older calls say nothing about the present ones.
_LOOK_BACK = timedelta(days=2)


class OpenCalls(NamedTuple):
    """The calls of one campaign that have no agent yet, and the agents of this campaign.

    `placed_for` has the lists of agents that the calls were placed for, as JSON. One without a list may need any agent.
    """

    is_own: bool
    ringing_since: Sequence[float]
    answered: int
    agents: Sequence[int]
    placed_for: Sequence[str | None]

    @property
    def promised(self) -> set[int]:
        """The agents that the calls were placed for."""
        if None in self.placed_for:
            return set(self.agents)
        return {agent for agents in self.placed_for for agent in orjson.loads(agents or "[]")}

    def beyond(self, free: Collection[int], own: Collection[int]) -> "OpenCalls":
        """Return the calls that may take one of the agents `own`, which are those of the `free` ones that we may use.

        The other free agents of the calls' campaign come first. Answered calls take agents before those that ring.
        """
        if self.is_own:
            return self
        left = sum(agent in free and agent not in own for agent in self.agents)
        shared = len(self.promised.intersection(own))
        count = min(shared, max(0, len(self.ringing_since) + self.answered - left))
        answered = min(count, self.answered)
        return self._replace(ringing_since=self.ringing_since[: count - answered], answered=answered)


class Pacing:
    """The pacing of one campaign, with the estimates that it keeps for a few seconds."""

    def __init__(self, campaign_id: int) -> None:
        self._campaign_id = campaign_id
        self._estimates = Estimates()
        self._read_at = float("-inf")
        self._open: list[OpenCalls] = []

    def read_calls(self) -> None:
        """Read the calls without an agent, before the agents are read.

        A call that is joined in between counts twice then, as a call and by its busy agent. The other order would
        count neither, and a free agent too many.
        """
        self._open = [OpenCalls(*row) for row in rows_of(_OPEN, {"campaign": self._campaign_id})]

    def not_promised(self, free: Sequence[CampaignAgent], own: Sequence[CampaignAgent]) -> list[CampaignAgent]:
        """Return the agents of `own` whom no call needs that rings already, so that they may be held for one call.

        `free` are all free agents. A call without an agent takes one with a line.
        """
        ready = {agent.id for agent in free if agent.is_line_ready}
        left = {agent.id for agent in own if agent.is_line_ready}
        for calls in self._open:
            needed = calls.beyond(ready, left)
            taken = sorted(calls.promised & left)[: len(needed.ringing_since) + needed.answered]
            left.difference_update(taken)
            ready.difference_update(taken)
        return [agent for agent in own if agent.id in left or not agent.is_line_ready]

    def decide(
        self,
        campaign: Campaign,
        agents: Sequence[CampaignAgent],
        own: Sequence[CampaignAgent],
        callers: int,
        now: datetime,
    ) -> Pace:
        """Return how many calls to start for the campaign's `agents`, of whom it may use the free ones in `own`.

        `callers` wait in queues of these agents.
        """
        self._refresh(now)
        free = {agent.id for agent in agents if agent.is_free and agent.is_line_ready}
        calls = [one.beyond(free, {agent.id for agent in own}) for one in self._open]
        windows = days_of([self._campaign_id], now)[self._campaign_id]
        day, days_30 = (Window(counts.live_answers, counts.drops) for counts in windows)
        floor = Floor(
            now=now.timestamp(),
            free=len(own),
            busy=[_busy(agent) for agent in agents if agent.is_busy and not agent.is_in_call_of_other],
            ringing_since=[since for one in calls for since in one.ringing_since],
            waiting=callers + sum(one.answered for one in calls),
            day=day,
            days_30=days_30,
            min_calls=MIN_CALLS if campaign.predictive_min_calls is None else campaign.predictive_min_calls,
            max_calls=MAX_CALLS if campaign.predictive_max_calls is None else campaign.predictive_max_calls,
        )
        return decide(floor, self._estimates, LAW)

    def _refresh(self, now: datetime) -> None:
        if time.monotonic() - self._read_at < ESTIMATES_SECONDS:
            return
        self._read_at = time.monotonic()
        values = {"campaign": self._campaign_id, "since": now - _LOOK_BACK}
        calls = rows_of(_CALLS, {**values, "most": CALLS_KEPT})
        handlings = rows_of(_HANDLINGS, {**values, "most": HANDLINGS_KEPT})
        self._estimates = Estimates().observe(reversed(calls), [seconds for (seconds,) in reversed(handlings)])


def figures(pace: Pace) -> dict[str, Any]:
    """Return the pacer's figures, to be stored with a call and shown."""
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in asdict(pace).items()
        if name != "calls"
    }


def _busy(agent: CampaignAgent) -> Busy:
    since = agent.since.timestamp()
    return Busy(since, agent.ends_at.timestamp()) if agent.ends_at else Busy(since)
