"""The figures of the overview: one reading for all viewers of a scope, as plain values that JSON can hold.

Each figure is defined by the app that it belongs to. Instants are seconds of the epoch. Texts for people are made
later, in the language of the viewer (callcentre.overview.admin).
"""

import time
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

import redis
from django.db.models import Count
from django.utils import timezone

from callcentre.core import free_space
from callcentre.core.broker_queues import waiting_tasks
from callcentre.core.heartbeats import BEAT, DIALLER, LISTENER, SILENCES, missing
from callcentre.core.redis_client import client
from callcentre.core.scope import ALL, Scope
from callcentre.core.statements import Statement, rows_of
from callcentre.overview.models import Alarm
from campaigns.dialling.compliance import MOST_DROPS
from campaigns.dialling.day_counts import days_of
from campaigns.dialling.status import states_of
from campaigns.models import Campaign
from campaigns.monitoring import CAMPAIGNS
from campaigns.progress import snapshot as progress_of_campaigns
from reports.parameters import USUAL_WITHIN
from telephony import inbound_day, queue_waits
from telephony.current_states import board
from telephony.inbound_day import Day, InboundCounts
from telephony.leader_election import IS_CONNECTED
from telephony.models import Queue
from tickets import due_tickets
from tickets.models import ReceivedMail, Ticket, TicketQueue
from tickets.monitoring import MAIL_LATE_SECONDS
from webhooks.models import Webhook

# Seconds after which a waiting task says that no worker takes it. Imports and exports may keep the last two busy.
LATE_SECONDS = {"calls": 15, "webhooks": 15, "mail": 60, "default": 300, "reports": 300}
_STATE = Statement("SELECT {is_connected}, to_dial, without FROM ({campaigns}) AS campaign (to_dial, without)").of(
    is_connected=IS_CONNECTED, campaigns=CAMPAIGNS
)


def read_processes() -> dict[str, Any]:
    dead = missing({kind: seconds for kind, seconds, _count in rows_of(SILENCES)})
    ((is_connected, to_dial, without_dialler),) = rows_of(_STATE.format(day=timezone.localdate().isoformat()))
    return {
        "has_listener": LISTENER not in dead,
        "is_connected": is_connected,
        "to_dial": to_dial,
        "without_dialler": without_dialler,
        "low_volumes": {name: volume.free for name, volume in free_space.volumes().items() if volume.is_low},
        "is_full": free_space.is_full(),
        "has_dialler": DIALLER not in dead,
        "has_beat": BEAT not in dead,
        "without_worker": [queue for queue in LATE_SECONDS if queue in dead],
        **_tasks(),
    }


def _tasks() -> dict[str, Any]:
    """Return the queues whose tasks wait too long."""
    try:
        waiting = waiting_tasks(client())
    except redis.RedisError:
        return {"has_broker": False, "late": {}}
    late = {
        queue: tasks.oldest_seconds for queue, tasks in waiting.items() if tasks.oldest_seconds > LATE_SECONDS[queue]
    }
    return {"has_broker": True, "late": late}


Figures = dict[str, Any]
# Rows of a part. Its list has the rest.
SHOWN = 50
# The tickets that the overview names.
URGENT = 5
# The highest counts of tickets and of mails that are counted.
COUNTED, MAILS_COUNTED = 999, 99
HOURS = range(24)
# The columns that the state of a webhook needs. Encrypted ones are missing, because decryption takes time.
WEBHOOK_COLUMNS = (
    *("id", "subscription_url", "is_active", "disabled_because", "disabled_at", "failing_since"),
    *("open_until", "failures_in_a_row", "last_success_at"),
)


def read(scope: Scope = ALL) -> Figures:
    """Read all figures within the scope now."""
    began = time.perf_counter()
    now = timezone.now()
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    calls = _of_scope(inbound_day.of_day(midnight, USUAL_WITHIN), scope)
    figures = {
        "at": now.timestamp(),
        "midnight": midnight.timestamp(),
        "within": USUAL_WITHIN,
        "most_drops": MOST_DROPS,
        "queues": _queues(calls, scope),
        "agents": board(scope),
        "campaigns": _campaigns(now, scope),
        "tickets": _tickets(now, scope),
        "hours": _hours(calls, due_tickets.of_day(midnight, scope)),
        "webhooks": _webhooks(scope),
        "mailboxes": _mailboxes(now, scope),
        "senders": list(
            scope.within(TicketQueue.objects.unable_to_send())
            .order_by("name")
            .values("id", "name", "smtp_error")[:SHOWN]
        ),
        "quarantine": scope.within(ReceivedMail.objects.quarantined()).order_by()[: MAILS_COUNTED + 1].count(),
        "processes": read_processes(),
        "alarms": _alarms(scope),
    }
    figures["seconds"] = time.perf_counter() - began
    return figures


def _of_scope(calls: Day, scope: Scope) -> Day:
    """Return the counts of the queues within the scope. Calls without a queue are in every scope."""
    ids = scope.call_queues
    return calls if ids is None else {key: counts for key, counts in calls.items() if key[0] is None or key[0] in ids}


def _epoch(instant: datetime | None) -> float | None:
    return instant.timestamp() if instant else None


def _queues(calls: Day, scope: Scope) -> list[Figures]:
    """Return the queues, those with the longest wait first."""
    today: dict[int | None, InboundCounts] = defaultdict(InboundCounts)
    for (queue_id, _hour), counts in calls.items():
        today[queue_id].add(counts)
    queues = dict(scope.within(Queue.objects.active()).order_by("name").values_list("id", "name"))
    situations = queue_waits.situations(queues)
    found: list[Figures] = []
    for pk, name in queues.items():
        now, day = situations[pk], today[pk]
        found.append(
            {"id": pk, "name": name}
            | {"waiting": now.waiting, "since": _epoch(now.longest_since), "free": now.free, "serving": now.serving}
            | {"callbacks": now.callbacks}
            | {"came": day.came, "answered": day.answered, "in_time": day.in_time, "abandoned": day.abandoned}
            | {"service_level": day.service_level}
        )
    found.sort(key=lambda queue: queue["since"] or float("inf"))
    return found


def _campaigns(now: datetime, scope: Scope) -> Figures:
    """Return the active campaigns, those that are dialled first."""
    campaigns = list(
        scope.within(Campaign.objects.filter(is_active=True))
        .annotate(agent_count=Count("agents"))
        .order_by("order", "code")
    )
    states, days = states_of(campaigns, now), days_of([campaign.pk for campaign in campaigns], now)
    counted = progress_of_campaigns()
    found = []
    for campaign in campaigns:
        state, code, _lines = states[campaign.pk]
        today, month = days[campaign.pk]
        progress = counted.of(campaign.pk)
        found.append(
            {"id": campaign.pk, "code": campaign.code, "name": campaign.name, "state": state, "reason": code}
            | {"starts": str(campaign.start_date), "ends": str(campaign.end_date or "")}
            | {"answers": today.live_answers, "drops": today.drops, "drop_rate": today.drop_rate}
            | {"drop_rate_30": month.drop_rate, "agents": vars(campaign)["agent_count"]}
            | {"total": progress.total, "done": progress.done, "in_progress": progress.in_progress}
            | {"to_call": progress.to_call, "percent": progress.percent}
        )
    order = ("dialling", "waiting", "paused", "stopped")
    found.sort(key=lambda campaign: order.index(campaign["state"]) if campaign["state"] in order else len(order))
    return {"rows": found, "counted_at": _epoch(counted.at)}


def _tickets(now: datetime, scope: Scope) -> Figures:
    """Return how many tickets are overdue or due soon, and the most urgent of them without postponed ones."""
    seen = scope.within(Ticket.objects.all())
    counts = due_tickets.counts(seen, COUNTED + 1, now)
    urgent: list[int] = []
    for kind in (due_tickets.LATE, due_tickets.SOON_DUE):
        if counts[kind] and len(urgent) < URGENT:
            urgent += due_tickets.nearest(seen, kind, URGENT - len(urgent), now)
    tickets = Ticket.objects.select_related("queue", "agent").in_bulk(urgent)
    rows = [_ticket(tickets[pk]) for pk in urgent if pk in tickets]
    return {**counts, "rows": rows}


def _ticket(ticket: Ticket) -> Figures:
    return {
        "id": ticket.pk,
        "subject": ticket.subject,
        "queue": ticket.queue.name,
        "agent": ticket.agent.login if ticket.agent else "",
        "due": _epoch(ticket.next_due_at),
    }


def _hours(calls: Day, tickets: dict[tuple[str, int], int]) -> dict[str, list[list[int]]]:
    """Return the counts of each hour of the day: of calls came, answered, abandoned; of tickets opened, closed."""
    by_hour: dict[int, InboundCounts] = defaultdict(InboundCounts)
    for (_queue_id, hour), counts in calls.items():
        by_hour[hour].add(counts)
    return {
        "calls": [[by_hour[hour].came, by_hour[hour].answered, by_hour[hour].abandoned] for hour in HOURS],
        "tickets": [[tickets.get((kind, hour), 0) for kind in ("in", "closed")] for hour in HOURS],
    }


def _webhooks(scope: Scope) -> list[Figures]:
    return list(scope.within(Webhook.objects.troubled()).order_by("-is_active", "id").values(*WEBHOOK_COLUMNS)[:SHOWN])


def _mailboxes(now: datetime, scope: Scope) -> list[Figures]:
    late = TicketQueue.objects.unread(now - timedelta(seconds=MAIL_LATE_SECONDS))
    unread = scope.within(late).order_by("name")
    columns = ("id", "name", "failing_since", "read_at", "poll_error")
    return [
        {**row, "failing_since": _epoch(row["failing_since"]), "read_at": _epoch(row["read_at"])}
        for row in unread.values(*columns)[:SHOWN]
    ]


def _alarms(scope: Scope) -> list[Figures]:
    raised = scope.within(Alarm.objects.exclude(raised_at=None)).select_related("queue", "campaign")
    return [
        {"id": alarm.pk, "name": alarm.name, "subject": alarm.subject, "limit": alarm.limit, "value": alarm.value}
        | {"place": alarm.place, "queue": alarm.queue_id, "campaign": alarm.campaign_id, "sounds": alarm.sounds}
        | {"since": _epoch(alarm.raised_at)}
        for alarm in raised.order_by("raised_at", "id")
    ]
