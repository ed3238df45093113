"""The hours in which a campaign calls: its own spans, legal rules, holidays. Times are those of the callee's zones.

A callee may have several zones: all of them must allow a call. Spans of the campaign are alternatives; without spans
only legal rules bind. A legal rule binds numbers by their beginning. Its rows have one name: a call is allowed within
any row of a rule, and all rules that bind a number must allow the call.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings

from callcentre.core.holiday_calendars import is_holiday_in
from callcentre.core.statements import rows_of
from campaigns.dialling.choice import Group
from campaigns.models import Campaign

# The rule of an attempt to which no hours applied.
IGNORED = "hours ignored"
# A span that ends at this time lasts until midnight.
END_OF_DAY = time(23, 59)
# The next opening is looked for in this many days.
DAYS_AHEAD = 15


@dataclass(frozen=True, slots=True)
class Span:
    """A span of some weekdays, numbered as in ISO 8601."""

    weekdays: frozenset[int]
    begins_at: time
    ends_at: time

    def contains(self, local: datetime) -> bool:
        at = local.time()
        is_before_end = at < self.ends_at or self.ends_at >= END_OF_DAY
        return local.isoweekday() in self.weekdays and self.begins_at <= at and is_before_end

    def __str__(self) -> str:
        return f"{self.begins_at:%H:%M}–{self.ends_at:%H:%M}"


@dataclass(frozen=True, slots=True)
class LegalSpan:
    """A row of a legal rule."""

    span: Span
    # The country whose holidays are excluded; "" for none.
    holiday_country: str
    valid_from: date | None
    valid_until: date | None

    def holds_on(self, day: date) -> bool:
        is_begun = self.valid_from is None or self.valid_from <= day
        return is_begun and (self.valid_until is None or day <= self.valid_until)

    def contains(self, local: datetime) -> bool:
        is_holiday = self.holiday_country and is_holiday_in(self.holiday_country, local.date())
        return self.span.contains(local) and not is_holiday


@dataclass(frozen=True, slots=True)
class LegalRule:
    """A rule of law for the numbers with a prefix. Without rows that hold on a day it does not bind on that day."""

    name: str
    prefix: str
    rows: tuple[LegalSpan, ...]

    def binds(self, number: str) -> bool:
        return number.startswith(f"+{self.prefix}")

    def allows(self, local: datetime) -> bool:
        rows = [row for row in self.rows if row.holds_on(local.date())]
        return not rows or any(row.contains(local) for row in rows)


@dataclass(frozen=True, slots=True)
class Hours:
    spans: tuple[Span, ...] = ()
    holiday_country: str = ""
    rules: tuple[LegalRule, ...] = ()
    is_ignored: bool = False

    def binding(self, number: str) -> tuple[LegalRule, ...]:
        return tuple(rule for rule in self.rules if rule.binds(number))


@dataclass(frozen=True, slots=True)
class Closure:
    """The reason why a number is not called now: a code of "why", and the rule."""

    code: str
    rule: str = ""


# The spans of the campaign, which have no prefix, then the rows of the legal rules.
_HOURS = """
SELECT NULL AS prefix, '' AS name, weekday::text, begins_at, ends_at, '', NULL::date, NULL::date, id
FROM campaigns_campaignhours WHERE campaign_id = %s
UNION ALL
SELECT prefix, name, weekdays, begins_at, ends_at, CASE WHEN allows_holidays THEN '' ELSE holiday_country END,
  valid_from, valid_until, id
FROM campaigns_legalhours
ORDER BY prefix NULLS FIRST, name, weekday, begins_at, id
"""


def read_hours(campaign: Campaign) -> Hours:
    """Read the hours of a campaign, in one statement."""
    spans: tuple[Span, ...] = ()
    rules = []
    for (prefix, name), rows in groupby(rows_of(_HOURS, [campaign.pk]), key=lambda row: (row[0], row[1])):
        found = tuple(_span(*row) for _prefix, _name, *row, _id in rows)
        if prefix is None:
            spans = tuple(row.span for row in found)
        else:
            rules.append(LegalRule(name, prefix, found))
    is_ignored = campaign.ignores_hours and settings.SWITCH_BACKEND == "simulated"
    return Hours(spans, campaign.holiday_country, tuple(rules), is_ignored=is_ignored)


def _span(weekdays: str, begins_at: time, ends_at: time, *rest: Any) -> LegalSpan:
    return LegalSpan(Span(frozenset(map(int, weekdays)), begins_at, ends_at), *rest)


def closure(hours: Hours, zone: str, number: str, now: datetime) -> Closure | None:
    """Return the reason why the number is not called now in these zones, or None if it may be called."""
    if hours.is_ignored:
        return None
    return _closure(hours, hours.binding(number), _zones(zone), now)


def _closure(
    hours: Hours, rules: Collection[LegalRule], zones: Collection[ZoneInfo] | None, now: datetime
) -> Closure | None:
    if zones is None:
        return Closure("zone_unreadable")
    for zone in zones:
        local = now.astimezone(zone)
        if hours.holiday_country and is_holiday_in(hours.holiday_country, local.date()):
            return Closure("holiday", hours.holiday_country)
        if hours.spans and not any(span.contains(local) for span in hours.spans):
            return Closure("outside_hours")
        for rule in rules:
            if not rule.allows(local):
                return Closure("legal_hours", rule.name)
    return None


def permission(hours: Hours, zone: str, number: str, now: datetime) -> str:
    """Return the rules that allow the call, in words for the attempt; "" if no rule binds it."""
    if hours.is_ignored:
        return IGNORED
    local = now.astimezone((_zones(zone) or (_zone(settings.TIME_ZONE),))[0])
    own = [f"campaign {span}" for span in hours.spans if span.contains(local)][:1]
    return "; ".join([*own, *(rule.name for rule in hours.binding(number))])[:200]


def open_groups(hours: Hours, groups: Iterable[Group], now: datetime) -> list[Group]:
    """Return the groups of records that may be called now, each with the beginnings of numbers that may not be."""
    found = []
    for group in groups:
        if hours.is_ignored:
            found.append(group)
            continue
        zones, country = _zones(group.zone), f"+{group.calling_code}"
        of_all = [rule for rule in hours.rules if group.calling_code and rule.binds(country)]
        if zones is None or _closure(hours, of_all, zones, now):
            continue
        # Rules of a part of the country.
        finer = [rule for rule in hours.rules if group.calling_code and f"+{rule.prefix}".startswith(country)]
        closed = {f"+{rule.prefix}" for rule in finer if not all(rule.allows(now.astimezone(zone)) for zone in zones)}
        found.append(group._replace(closed_prefixes=tuple(sorted(closed))))
    return found


def next_opening(hours: Hours, zone: str, number: str, now: datetime) -> datetime | None:
    """Return the next instant at which the number may be called; None if there is none in the days ahead."""
    zones, rules = _zones(zone), hours.binding(number)
    if hours.is_ignored:
        return now
    if zones is None:
        return None
    return next((at for at in _openings(hours, rules, zones, now) if not _closure(hours, rules, zones, at)), None)


def _openings(
    hours: Hours, rules: Collection[LegalRule], zones: Collection[ZoneInfo], now: datetime
) -> Iterator[datetime]:
    """Yield the instants at which something may begin to allow calls, in their order: now, beginnings and midnights."""
    spans = [*hours.spans, *(row.span for rule in rules for row in rule.rows)]
    times = {time(0), *(span.begins_at for span in spans)}
    found = {
        datetime.combine(now.astimezone(zone).date() + timedelta(days=days), at, zone).astimezone(UTC)
        for zone in zones
        for days in range(DAYS_AHEAD)
        for at in times
    }
    yield now
    yield from sorted(at for at in found if at > now)


def _zones(names: str) -> tuple[ZoneInfo, ...] | None:
    """Return the zones with these names, TIME_ZONE for none; None if one is unreadable."""
    try:
        return tuple(_zone(name) for name in names.split(" ")) if names else (_zone(settings.TIME_ZONE),)
    except (KeyError, ValueError, OSError):
        return None


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
