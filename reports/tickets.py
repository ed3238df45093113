# ruff: noqa: S608  (SQL is composed of constants)
"""The report of ticket queues: tickets opened, closed and open by period, and their times against the targets.

Tickets count as they are now: in the queue that they are in, and closed if they were not opened again. Opened minus
closed tickets of a period are the change of the backlog. The first response is that of the tickets opened in the
period, the resolution that of the tickets closed in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from operator import attrgetter as of
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.counted import value_of
from callcentre.core.statements import rows_of
from reports.counting import Counting, Source, SubjectRow, figure, in_span
from reports.description import Entry, Line, Section
from reports.figures import mean, percent
from reports.ledgers import array
from reports.measures import COUNT, NUMBER, PERCENT, SECONDS, TEXT, Measure
from reports.periods import DAY, Aggregation
from reports.report import Question
from tickets.models.service_level import LEVELS
from tickets.models.working_time import WorkingTime

# Seconds of half a microsecond: sums of floating-point seconds are compared with whole ones.
_TINY = "0.0000005"
# The borders of the working time of each service level with a calendar, opening and closing in turn, and the seconds of
# working time until each border.
_CALENDAR = """LEFT JOIN (
  SELECT pk, borders::timestamptz[] AS borders, passed::int[] AS passed
  FROM unnest(%(calendar_levels)s::bigint[], %(calendar_borders)s::text[], %(calendar_passed)s::text[])
    AS c(pk, borders, passed)
) calendar ON calendar.pk = t.service_level_id"""


def _working(since: str, until: str) -> str:
    """Return SQL: the seconds of working time between two instants."""
    return f"""CASE WHEN calendar.pk IS NULL THEN date_part('epoch', {until} - {since})
      ELSE {_passed(until)} - {_passed(since)} END"""


def _passed(at: str) -> str:
    place = f"width_bucket({at}, calendar.borders)"
    return f"""(COALESCE(calendar.passed[{place}], 0) + CASE WHEN {place} %% 2 = 1
        THEN date_part('epoch', {at} - calendar.borders[{place}]) ELSE 0 END)"""


def _timed(began: str, ended: str) -> str:
    """Return SQL: `taken`, the working time of a ticket without its waits for the customer; a join.

    A wait that goes on ends with the time. The fence makes PostgreSQL compute it once, however many figures use it.
    """
    since = "LEAST(GREATEST(t.waits[n], span.began), span.ended)"
    until = "LEAST(GREATEST(COALESCE(t.waits[n + 1], span.ended), span.began), span.ended)"
    return f"""
CROSS JOIN LATERAL (SELECT {began} AS began, GREATEST({ended}, {began}) AS ended) span
CROSS JOIN LATERAL (SELECT {_working("span.began", "span.ended")} - CASE WHEN t.waits = '{{}}' THEN 0 ELSE (
  SELECT COALESCE(sum({_working(since, until)}), 0) FROM generate_series(1, cardinality(t.waits), 2) AS n
) END AS taken OFFSET 0) times"""


_FROM = "tickets_ticket t"
# An unanswered ticket has waited until now; one that was closed without a response needs none.
_OPENED = f"""{_FROM} {_CALENDAR} {_timed("t.created_at", "COALESCE(t.first_agent_responded_at, %(now)s)")}"""
_CLOSED = f"""{_FROM} {_CALENDAR} {_timed("COALESCE(t.targets_began_at, t.created_at)", "t.closed_at")}"""


_RATED = """tickets_rating r JOIN tickets_message m ON m.id = r.message_id
JOIN tickets_ticket t ON t.id = m.ticket_id"""


def _before(closed: str) -> Source:
    """Build a source of tickets that were open when the span began."""
    conditions = f"t.created_at < %(begin)s AND {closed} AND t.queue_id = ANY(%(subjects)s::bigint[])"
    return Source("tickets_ticket t", "t.queue_id", "%(begin)s::timestamptz", f"{conditions} AND %(begin)s < %(now)s")


_SOURCES = {
    "opened": Source(_OPENED, "t.queue_id", "t.created_at", in_span("t.created_at", "t.queue_id")),
    "closed": Source(_CLOSED, "t.queue_id", "t.closed_at", in_span("t.closed_at", "t.queue_id")),
    "reopened": Source(
        "tickets_ticket t", "t.queue_id", "t.targets_began_at", in_span("t.targets_began_at", "t.queue_id")
    ),
    "rated": Source(_RATED, "t.queue_id", "r.given_at", in_span("r.given_at", "t.queue_id")),
    # Tickets that were open when the span began, in its first period.
    "open": _before("t.closed_at IS NULL"),
    "closed_since": _before("t.closed_at >= %(begin)s"),
    # Each period has a row, as long as there is a backlog.
    "periods": Source(
        "unnest(%(subjects)s::bigint[]) AS subject(id) CROSS JOIN unnest(%(starts)s::timestamptz[]) AS start(at)",
        "subject.id",
        "start.at",
    ),
}
_IS_ANSWERED = "t.first_agent_responded_at IS NOT NULL"
_TAKEN = f"sum(floor(taken + {_TINY}))"
_IS_OWN = "t.merged_into_id IS NULL"


_BEFORE = {"open": "count(*)", "closed_since": "count(*)"}


@dataclass(slots=True)
class TicketRow(SubjectRow):
    """The tickets of a queue in a period."""

    opened: int = figure(opened="count(*)")
    closed: int = figure(closed="count(*)")
    reopened: int = figure(reopened="count(*)")
    open_at_end: int = figure(is_running=True, opened="count(*)", closed="-count(*)", **_BEFORE)
    responses: int = figure(opened=f"count(*) FILTER (WHERE {_IS_ANSWERED})")
    response_seconds: int = figure(opened=f"{_TAKEN} FILTER (WHERE {_IS_ANSWERED})")
    # Answered in time; and answered with a target, or open beyond it.
    responses_in_time: int = figure(opened="count(*) FILTER (WHERE t.first_response_met)")
    responses_due: int = figure(
        opened=f"""count(*) FILTER (WHERE t.first_response_met IS NOT NULL
          OR NOT {_IS_ANSWERED} AND t.closed_at IS NULL AND t.response_due_at < %(now)s)"""
    )
    # A merged ticket was not resolved.
    resolutions: int = figure(closed=f"count(*) FILTER (WHERE {_IS_OWN})")
    resolution_seconds: int = figure(closed=f"{_TAKEN} FILTER (WHERE {_IS_OWN})")
    resolutions_in_time: int = figure(closed=f"count(*) FILTER (WHERE {_IS_OWN} AND t.resolution_met)")
    resolutions_due: int = figure(closed=f"count(*) FILTER (WHERE {_IS_OWN} AND t.resolution_met IS NOT NULL)")
    ratings: int = figure(rated="count(*)")
    rating_sum: int = figure(rated="sum(r.value)")

    @property
    def backlog(self) -> int | None:
        """The open tickets at the end of the period; None of an hour of the day, which has many ends."""
        return None if len(self.period) == len("00") else self.open_at_end

    @property
    def first_response_average(self) -> int | None:
        return mean(self.response_seconds, self.responses) if self.responses else None

    @property
    def first_response_met(self) -> float | None:
        return percent(self.responses_in_time, self.responses_due)

    @property
    def resolution_average(self) -> int | None:
        return mean(self.resolution_seconds, self.resolutions) if self.resolutions else None

    @property
    def resolution_met(self) -> float | None:
        return percent(self.resolutions_in_time, self.resolutions_due)

    @property
    def rating_average(self) -> float | None:
        return round(self.rating_sum / self.ratings, 2) if self.ratings else None


def _parameters(question: Question) -> dict[str, Any]:
    calendars = {}
    if levels := [level for level in LEVELS.get() if level.has_calendar]:
        ((first,),) = rows_of("SELECT min(created_at) FROM tickets_ticket")
        days = (first or question.now) - DAY, question.now + DAY
        calendars = {level.pk: _borders(level.working_time, *days) for level in levels}
    starts = (
        []
        if question.aggregation is Aggregation.HOUR_OF_DAY
        else question.aggregation.borders(question.begin, min(question.end, question.now))
    )
    return {
        "calendar_levels": array(calendars),
        "calendar_borders": [borders for borders, _passed in calendars.values()],
        "calendar_passed": [passed for _borders, passed in calendars.values()],
        "starts": array(start for start in starts if start < min(question.end, question.now)),
    }


def _borders(working_time: WorkingTime, begin: datetime, end: datetime) -> tuple[str, str]:
    """Return the borders of the working time of a span, and the seconds until each, as arrays of PostgreSQL."""
    borders: list[datetime] = []
    passed: list[int] = []
    total = 0
    for opening, closing in working_time.spans(begin):
        if opening >= end:
            break
        length = int((closing - opening).total_seconds())
        if borders and borders[-1] == opening:
            # Opening hours that follow at once.
            borders.pop()
            passed.pop()
        else:
            borders.append(opening)
            passed.append(total)
        total += length
        borders.append(closing)
        passed.append(total)
    return array(borders), array(passed)


COUNTING = Counting(
    TicketRow,
    _SOURCES,
    is_present="opened <> 0 OR closed <> 0 OR reopened <> 0 OR ratings <> 0"
    " OR (open_at_end <> 0 AND length(period) > 2)",
    values_of=_parameters,
)

# Days of age at which the next column begins.
AGES = (0, 1, 3, 7, 30)
_AGES = """
SELECT queue_id, width_bucket(date_part('epoch', %(at)s - created_at) / 86400, %(ages)s::float8[]), count(*)
FROM (
  SELECT queue_id, created_at FROM tickets_ticket
  WHERE closed_at IS NULL AND created_at < %(at)s AND queue_id = ANY(%(subjects)s::bigint[])
  UNION ALL
  SELECT queue_id, created_at FROM tickets_ticket
  WHERE closed_at >= %(at)s AND created_at < %(at)s AND queue_id = ANY(%(subjects)s::bigint[])
) t GROUP BY 1, 2
"""


def by_age(question: Question) -> Section:
    """Count the tickets that are open at the end of the span, by queue and age."""
    at = min(question.end, question.now)
    found = {
        (pk, bucket): count
        for pk, bucket, count in rows_of(_AGES, {"at": at, "ages": array(AGES), "subjects": array(question.subjects)})
    }
    places = range(1, len(AGES) + 1)
    spans = [(question.begin, at)]

    def entry(count: int, place: int, queues: Sequence[int]) -> Entry:
        days = (AGES[place - 1], AGES[place] if place < len(AGES) else 0)
        return Entry(count, value_of(":".join(map(str, ("aged", *days, *queues))), spans) if count else "")

    lines = [
        Line(row["name"], str(row["id"]), [entry(found.get((pk, place), 0), place, [pk]) for place in places])
        for pk, row in question.subjects.items()
        if any((pk, place) in found for place in places)
    ]
    sums = [sum(found.get((pk, place), 0) for pk in question.subjects) for place in places]
    total = [entry(count, place, [*question.subjects]) for count, place in zip(sums, places, strict=True)]
    columns = [*(_("%(low)s to %(high)s days") % {"low": low, "high": high} for low, high in pairwise(AGES))]
    columns.append(_("more than %(low)s days") % {"low": AGES[-1]})
    return Section(_("Backlog by age at the end of the span"), _("Ticket queue"), columns, lines, total)


_TICKETS, _RESPONSES, _RESOLUTIONS, _RATINGS = _("Tickets"), _("First response"), _("Resolution"), _("Ratings")
FIXED = [
    Measure("ticket_queue_id", "", _("Queue id"), COUNT, lambda row: row.subject["id"], 4, "The ticket queue."),
    Measure("name", "", _("Ticket queue"), TEXT, lambda row: row.subject["name"], "Complaints", "Its name."),
    Measure("period", "", _("Period"), TEXT, of("period"), "2026-11", "The period."),
]
# fmt: off
MEASURES = [
    Measure("opened", _TICKETS, _("opened"), COUNT, of("opened"), 52,
            "Tickets opened in the period."),
    Measure("closed", _TICKETS, pgettext_lazy("tickets", "closed"), COUNT, of("closed"), 48,
            "Tickets closed in the period, and not opened again."),
    Measure("reopened", _TICKETS, _("reopened"), COUNT, of("reopened"), 3,
            "Tickets that were opened again in the period, and not later once more."),
    Measure("backlog", _TICKETS, _("backlog"), COUNT, of("backlog"), 17,
            "Tickets that were open at the end of the period; null of hours of the day.",
            may_be_none=True),
    Measure("first_response_average", _RESPONSES, _("average"), SECONDS, of("first_response_average"),
            5400, "Seconds until the first response, of the tickets opened in the period that have one; null without.",
            may_be_none=True),
    Measure("first_response_met", _RESPONSES, _("within the target in per cent"), PERCENT,
            of("first_response_met"), 93.75,
            "Tickets opened in the period whose first response was within the target ÷ those that were"
            " answered or are late, in per cent; null without any, and without a target.", may_be_none=True),
    Measure("resolution_average", _RESOLUTIONS, _("average"), SECONDS, of("resolution_average"), 72_000,
            "Seconds until the end, of the tickets closed in the period; null without any.", may_be_none=True),
    Measure("resolution_met", _RESOLUTIONS, _("within the target in per cent"), PERCENT,
            of("resolution_met"), 89.58,
            "Tickets closed in the period within the target ÷ all closed ones, in per cent; null without"
            " any, and without a target.", may_be_none=True),
    Measure("ratings", _RATINGS, _("given"), COUNT, of("ratings"), 20,
            "Ratings of replies that customers gave in the period."),
    Measure("rating_average", _RATINGS, _("average"), NUMBER, of("rating_average"), 4.35,
            "Their average, from 1 to 5; null without any.", may_be_none=True),
    Measure("responses", _RESPONSES, _("first responses"), COUNT, of("responses"), is_usual=False, in_api=False),
    Measure("resolutions", _RESOLUTIONS, _("resolved"), COUNT, of("resolutions"), is_usual=False, in_api=False),
]
# fmt: on
