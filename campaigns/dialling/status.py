"""The present dialling of a campaign, for the API and the admin, in a constant number of statements."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from callcentre.core.statements import Statement, rows_of
from campaigns.dialling.choice import Group
from campaigns.dialling.day_counts import Counts, days_of
from campaigns.dialling.hours import open_groups, read_hours
from campaigns.dialling.obstacles import reason, standing_obstacle
from campaigns.dialling.ownership import DIALLER, HOLDERS
from campaigns.models import Campaign, DiallerState, SystemStatus
from campaigns.models.dialling import ALL_DIALLING_RUNS

# An older state belongs to a dialler that has ended.
FRESH = timedelta(seconds=15)
# The span by which the calls of a minute are counted; shorter, but not below the other one, after the first calls.
PACE_SPAN, LEAST_SPAN = timedelta(minutes=10), timedelta(minutes=1)
AGENT_STATES = ("free", "preview", "ringing", "talking", "wrap_up", "paused", "logged_out")

# Whether all dialling runs, and whether there is a dialler that ticks.
_RUNNING = Statement("""
SELECT {all_dialling_runs},
  EXISTS (SELECT FROM ({holders}) AS held WHERE key = {dialler} AND seconds < {fresh})
""").of(all_dialling_runs=ALL_DIALLING_RUNS, holders=HOLDERS, dialler=DIALLER, fresh=FRESH.total_seconds())
# Agents of the campaign in outbound mode. A pause may be outside a session; any other state is of a session.
_AGENTS = """
SELECT COALESCE(st.kind, 'logged_out'), count(*)
FROM campaigns_campaign_agents member
JOIN telephony_agent a ON a.id = member.agent_id AND a.is_active AND a.outbound_mode
LEFT JOIN telephony_agentstate st ON st.agent_id = a.id AND st.ended_at IS NULL
WHERE member.campaign_id = %s GROUP BY 1
"""
_CALLS = """
SELECT count(*) FILTER (WHERE answered_at IS NULL), count(*) FILTER (WHERE state = 'waiting')
FROM telephony_connection WHERE state <> 'ended' AND campaign_id = %s
"""
_BY_STATUS = "SELECT system_status, count(*) FROM campaigns_record WHERE campaign_id = %s GROUP BY system_status"
# Records whose time has come, by zone and country, from the indexes of the choice.
_DUE = """
SELECT zone, calling_code, count(*) FROM campaigns_record
WHERE campaign_id = %(campaign)s AND system_status IN ('CALL', 'CALL_PROGRESSIVE', 'TO_CALL') AND held_until IS NULL
  AND (system_status <> 'CALL_PROGRESSIVE' OR next_call_at IS NULL OR next_call_at <= %(now)s)
GROUP BY zone, calling_code
UNION ALL
SELECT zone, calling_code, count(*) FROM campaigns_record
WHERE campaign_id = %(campaign)s AND system_status IN ('CALL_NO_SOONER_THAN', 'MY_RECORD') AND held_until IS NULL
  AND next_call_at <= %(now)s
GROUP BY zone, calling_code
"""
# The calls of the span, and the first of them.
_PACE = "SELECT count(*), min(dialled_at) FROM campaigns_attempt WHERE campaign_id = %s AND dialled_at > %s"


@dataclass(frozen=True, slots=True)
class DiallingStatus:
    """The dialling of a campaign at one instant: `state` is dialling, waiting, paused or stopped."""

    state: str
    code: str
    agents: dict[str, int]
    ringing: int
    waiting: int
    today: Counts
    days_30: Counts
    records: dict[str, int]
    lines_per_agent: float | None
    calls_per_minute: float
    done_at: datetime | None
    at: datetime

    @property
    def reason(self) -> str:
        return reason(self.code) if self.code else ""


def dialling_status(campaign: Campaign) -> DiallingStatus:
    now = timezone.now()
    state, code, lines_per_agent = states_of([campaign], now)[campaign.pk]
    agents = dict.fromkeys(AGENT_STATES, 0) | dict(rows_of(_AGENTS, [campaign.pk]))
    ((ringing, waiting),) = rows_of(_CALLS, [campaign.pk])
    today, days_30 = days_of([campaign.pk], now)[campaign.pk]
    records = _records(campaign, now)
    ((calls, first),) = rows_of(_PACE, [campaign.pk, now - PACE_SPAN])
    calls_per_minute = calls / (max(now - first, LEAST_SPAN) / timedelta(minutes=1)) if calls else 0.0
    done_at = None
    # Between two calls all agents are busy, and the dialling goes on.
    if calls_per_minute and (state == "dialling" or code == "agents_busy"):
        done_at = now + timedelta(minutes=records["to_call"] / calls_per_minute)
    return DiallingStatus(
        state,
        code,
        agents,
        ringing,
        waiting,
        today,
        days_30,
        records,
        lines_per_agent,
        round(calls_per_minute, 1),
        done_at,
        now,
    )


def states_of(campaigns: Collection[Campaign], now: datetime) -> dict[int, tuple[str, str, float | None]]:
    """Return by campaign the state, the code of its reason, and the lines that the dialler uses for each free agent."""
    ((is_running, is_there),) = rows_of(_RUNNING, None)
    ids = [campaign.pk for campaign in campaigns]
    written = DiallerState.objects.filter(campaign_id__in=ids, at__gt=now - FRESH).order_by()
    by_campaign = {row.campaign_id: row for row in written}
    found: dict[int, tuple[str, str, float | None]] = {}
    for campaign in campaigns:
        row = by_campaign.get(campaign.pk)
        if code := standing_obstacle(campaign, timezone.localdate(now), is_running=is_running):
            found[campaign.pk] = ("paused" if code == "dialling_paused" else "stopped"), code, None
        elif row is None:
            # A dialler that ticks takes the campaign a second after its start.
            found[campaign.pk] = "waiting", "dialler_begins" if is_there else "no_dialler", None
        else:
            found[campaign.pk] = row.state, row.code, row.pace.get("lines_per_agent")
    return found


def _records(campaign: Campaign, now: datetime) -> dict[str, int]:
    by_status = dict(rows_of(_BY_STATUS, [campaign.pk]))
    done = sum(by_status.get(status, 0) for status in SystemStatus.completed())
    in_progress = by_status.get(SystemStatus.IN_PROGRESS, 0)
    to_call = sum(by_status.values()) - done - in_progress
    timely: Counter[Group] = Counter()
    for zone, calling_code, count in rows_of(_DUE, {"campaign": campaign.pk, "now": now}):
        timely[Group(zone, calling_code)] += count
    is_open = {(group.zone, group.calling_code) for group in open_groups(read_hours(campaign), timely, now)}
    due = sum(count for group, count in timely.items() if (group.zone, group.calling_code) in is_open)
    return {
        "to_call": to_call,
        "due": due,
        "in_progress": in_progress,
        "done": done,
        "not_callable_now": max(to_call - due, 0),
    }
