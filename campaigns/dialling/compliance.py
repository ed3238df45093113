"""The figures that a supervisory authority asks for: drops by day and in 30 days, and calls outside legal hours.

Calls outside legal hours are counted from the attempts and the legal rules, anew each time. Holidays are not looked up
here: the dialler has checked them before each call.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from callcentre.core.statements import rows_of
from campaigns.dialling.day_counts import DAYS, Counts
from campaigns.models import Campaign, DiallingDay

# The highest lawful drop rate, in percent.
MOST_DROPS = 3.0

_OUTSIDE = """
WITH known AS MATERIALIZED (SELECT name FROM pg_timezone_names),
rules AS MATERIALIZED (SELECT DISTINCT prefix, name FROM campaigns_legalhours)
SELECT a.campaign_id, (a.dialled_at AT TIME ZONE %(zone)s)::date, count(*)
FROM campaigns_attempt a
WHERE a.campaign_id = ANY(%(campaigns)s) AND a.dialled_at >= %(since)s AND a.outcome <> 'not_dialled' AND EXISTS (
  SELECT FROM rules
  JOIN unnest(string_to_array(COALESCE(NULLIF(a.zone, ''), %(zone)s), ' ')) AS z(name)
    ON a.number LIKE '+' || rules.prefix || '%%' AND z.name IN (SELECT name FROM known)
  CROSS JOIN LATERAL (SELECT a.dialled_at AT TIME ZONE z.name AS at) AS local
  CROSS JOIN LATERAL (
    SELECT count(*) AS count, count(*) FILTER (
      WHERE position(extract(isodow FROM local.at)::text IN h.weekdays) > 0 AND local.at::time >= h.begins_at
        AND (local.at::time < h.ends_at OR h.ends_at >= '23:59')
    ) AS allowing
    FROM campaigns_legalhours h
    WHERE h.prefix = rules.prefix AND h.name = rules.name
      AND (h.valid_from IS NULL OR h.valid_from <= local.at::date)
      AND (h.valid_until IS NULL OR h.valid_until >= local.at::date)
  ) AS bound
  WHERE bound.count > 0 AND bound.allowing = 0
)
GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Figures(Counts):
    attempts: int = 0
    machines: int = 0
    outside_hours: int = 0

    @property
    def is_too_high(self) -> bool:
        return self.drop_rate > MOST_DROPS

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Compliance:
    """The figures of 30 days: of each campaign and day that had calls, of each campaign, of each day, and of all."""

    since: date
    until: date
    by_campaign_and_day: dict[tuple[Campaign, date], Figures]

    @property
    def by_campaign(self) -> dict[Campaign, Figures]:
        return self._summed(lambda key: key[0])

    @property
    def by_day(self) -> dict[date, Figures]:
        return self._summed(lambda key: key[1])

    @property
    def total(self) -> Figures:
        return self._summed(lambda key: None).get(None, Figures())

    def _summed(self, part: Callable[[Any], Any]) -> dict[Any, Figures]:
        sums: dict[Any, Figures] = defaultdict(Figures)
        for key, figures in self.by_campaign_and_day.items():
            sums[part(key)] += figures
        return dict(sums)


def compliance(campaigns: dict[int, Campaign], until: date) -> Compliance:
    """Return the figures of these campaigns, in three statements at most, the latest day first."""
    since = until - timedelta(days=DAYS - 1)
    rows = DiallingDay.objects.filter(campaign_id__in=campaigns, day__range=(since, until))
    found = {
        (row.campaign_id, row.day): Figures(row.live_answers, row.drops, row.attempts, row.machines)
        for row in rows.order_by("-day", "campaign__code")
    }
    for campaign_id, day, count in _outside(list(campaigns), since):
        if day <= until:
            found[campaign_id, day] = replace(found.get((campaign_id, day), Figures()), outside_hours=count)
    return Compliance(since, until, {(campaigns[pk], day): figures for (pk, day), figures in found.items()})


def _outside(campaign_ids: list[int], since: date) -> list[tuple[int, date, int]]:
    midnight = timezone.make_aware(datetime.combine(since, time()))
    values: dict[str, Any] = {"campaigns": campaign_ids, "since": midnight, "zone": settings.TIME_ZONE}
    return rows_of(_OUTSIDE, values)
