"""Counts of a campaign's calls: of the last hour by minute, and of the last days."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import F, Q, Sum
from django.utils import timezone

from callcentre.core.statements import rows_of
from campaigns.models import Attempt, Campaign, DiallingDay

MINUTES, DAYS = 60, 30

_OF_HOUR = """
SELECT floor(extract(epoch FROM %(now)s - dialled_at) / 60)::int AS minutes_ago, count(*),
  count(*) FILTER (WHERE outcome = 'answered' OR outcome = '' AND answered_at IS NOT NULL),
  count(*) FILTER (WHERE outcome = 'dropped')
FROM campaigns_attempt
WHERE campaign_id = %(campaign)s AND dialled_at > %(now)s - interval '60 minutes' AND dialled_at <= %(now)s
  AND outcome <> 'not_dialled'
GROUP BY 1
"""


_ADD = """
INSERT INTO campaigns_diallingday AS d (campaign_id, day, attempts, live_answers, drops, machines)
VALUES (%(campaign)s, %(day)s, %(attempts)s, %(live_answers)s, %(drops)s, %(machines)s)
ON CONFLICT (campaign_id, day) DO UPDATE SET
  attempts = d.attempts + EXCLUDED.attempts, live_answers = d.live_answers + EXCLUDED.live_answers,
  drops = d.drops + EXCLUDED.drops, machines = d.machines + EXCLUDED.machines
"""


def add(attempt: Attempt, **counts: int) -> None:
    if attempt.campaign_id is None or not any(counts.values()):
        return
    values = dict.fromkeys(("attempts", "live_answers", "drops", "machines"), 0) | counts
    key: dict[str, Any] = {"campaign": attempt.campaign_id, "day": timezone.localdate(attempt.dialled_at)}
    with connection.cursor() as cursor:
        cursor.execute(_ADD, values | key)


def take_back(attempt: Attempt, count: str) -> None:
    """Count one less of a kind: the person is to be joined with another agent, or the number was not dialled."""
    if attempt.campaign_id:
        day = timezone.localdate(attempt.dialled_at)
        counted = DiallingDay.objects.filter(campaign=attempt.campaign_id, day=day, **{f"{count}__gt": 0})
        counted.update(**{count: F(count) - 1})


@dataclass(frozen=True, slots=True)
class Counts:
    """Answers of persons and drops of a span of days. A drop counts as an answer, too."""

    live_answers: int = 0
    drops: int = 0

    @property
    def drop_rate(self) -> float:
        """The drops in percent of the live answers."""
        return round(100 * self.drops / self.live_answers, 2) if self.live_answers else 0.0


@dataclass(frozen=True, slots=True)
class CallCounts:
    """The calls of a span of time. `answered` are joined with an agent; `dropped` were answered and got none."""

    label: str
    placed: int = 0
    answered: int = 0
    dropped: int = 0

    @property
    def drop_rate(self) -> float:
        return Counts(self.answered + self.dropped, self.dropped).drop_rate


def days_of(campaign_ids: Collection[int], now: datetime) -> dict[int, tuple[Counts, Counts]]:
    """Return by campaign the counts of the current day, and of the 30 days that end with it."""
    day = timezone.localdate(now)
    rows = DiallingDay.objects.filter(campaign__in=campaign_ids, day__gt=day - timedelta(days=DAYS)).order_by()
    sums = rows.values_list("campaign_id").annotate(
        answers_today=Sum("live_answers", filter=Q(day=day), default=0),
        drops_today=Sum("drops", filter=Q(day=day), default=0),
        answers=Sum("live_answers"),
        dropped=Sum("drops"),
    )
    found = {pk: (Counts(*counts[:2]), Counts(*counts[2:])) for pk, *counts in sums}
    return {pk: found.get(pk, (Counts(), Counts())) for pk in campaign_ids}


def of_hour(campaign: Campaign, now: datetime) -> list[CallCounts]:
    """Return the counts of each of the last 60 minutes, the earliest first."""
    found = {minutes_ago: counts for minutes_ago, *counts in rows_of(_OF_HOUR, {"campaign": campaign.pk, "now": now})}
    return [
        CallCounts(f"{timezone.localtime(now - timedelta(minutes=ago)):%H:%M}", *found.get(ago, (0, 0, 0)))
        for ago in range(MINUTES - 1, -1, -1)
    ]


def of_days(campaign: Campaign, day: date) -> list[CallCounts]:
    """Return the counts of the 30 days that end with this one, the earliest first."""
    since = day - timedelta(days=DAYS - 1)
    rows = DiallingDay.objects.filter(campaign=campaign, day__range=(since, day)).order_by()
    found = {row.day: row for row in rows}
    counts = []
    for one in (since + timedelta(days=number) for number in range(DAYS)):
        row = found.get(one) or DiallingDay()
        counts.append(CallCounts(one.isoformat(), row.attempts, row.live_answers - row.drops, row.drops))
    return counts
