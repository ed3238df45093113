"""The report by campaign: the attempts of the dialler, by the period in which they were dialled.

A call whose agent's phone was not picked up is no attempt. A live answer is an answer by a person; it is a drop if no
agent was joined in time (docs/dialling.md). A record is done with the last attempt, if it is not called any more.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter as of
from typing import Any

import orjson
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.counted import value_of
from campaigns.dialling.answered_calls import IN_TIME_SECONDS
from campaigns.models import SystemStatus
from reports.counting import Counting, Source, SubjectRow, border, figure, in_span
from reports.description import Entry, Line, Section
from reports.figures import mean, percent
from reports.measures import COUNT, COUNTS, PERCENT, SECONDS, TEXT, Measure
from reports.periods import Aggregation, Span
from reports.report import Question
from reports.stretches import MOST_STRETCHES, stretches_of

_ATTEMPTS = f"a.outcome <> 'not_dialled' AND {in_span('a.dialled_at', 'a.campaign_id')}"
# The statuses that agents gave as results: one row for each campaign, period and status.
_RESULTS = f"""(
  SELECT a.campaign_id, {border("a.dialled_at")} AS started_at, a.result->'values'->>'status_id' AS status_id, count(*)
  FROM campaigns_attempt a
  WHERE a.result->'values'->>'status_id' IS NOT NULL AND {_ATTEMPTS} GROUP BY 1, 2, 3
) given LEFT JOIN campaigns_recordstatus s ON s.id = given.status_id::bigint"""  # noqa: S608  (of constants)
_OVER = ", ".join(f"'{status}'" for status in sorted(SystemStatus.completed()))
_DONE = f"""campaigns_attempt a JOIN campaigns_record r ON r.id = a.record_id AND r.system_status IN ({_OVER})
AND NOT EXISTS (
  SELECT FROM campaigns_attempt later
  WHERE later.record_id = a.record_id AND (later.dialled_at, later.id) > (a.dialled_at, a.id)
    AND later.outcome <> 'not_dialled'
)"""
_SOURCES = {
    "attempts": Source("campaigns_attempt a", "a.campaign_id", "a.dialled_at", _ATTEMPTS),
    "done": Source(_DONE, "a.campaign_id", "a.dialled_at", _ATTEMPTS),
    "results": Source(_RESULTS, "given.campaign_id", "given.started_at"),
}
_IS_DROP = f"""(a.outcome = 'dropped'
  OR date_part('epoch', a.joined_at - a.answered_at) > {IN_TIME_SECONDS})"""


@dataclass(slots=True)
class CampaignRow(SubjectRow):
    """The attempts of a campaign that were dialled in a period."""

    attempts: int = figure(attempts="count(*)")
    live_answers: int = figure(attempts="count(*) FILTER (WHERE a.joined_at IS NOT NULL OR a.outcome = 'dropped')")
    drops: int = figure(attempts=f"count(*) FILTER (WHERE {_IS_DROP})")
    machines: int = figure(attempts="count(*) FILTER (WHERE a.outcome = 'machine')")
    talk_seconds: int = figure(
        attempts="sum(GREATEST(floor(date_part('epoch', COALESCE(a.ended_at, %(now)s) - a.joined_at)), 0))"
    )
    records_done: int = figure(done="count(*)")
    successes: int = figure(results="sum(given.count) FILTER (WHERE s.is_success)")
    # JSON of objects in lists: id of a status -> its name, how many results.
    results: str = figure(
        "(jsonb_agg({r}) FILTER (WHERE {r} IS NOT NULL))",
        type_="jsonb",
        results="jsonb_object_agg(given.status_id, jsonb_build_array(COALESCE(s.name, ''), given.count))",
    )

    @property
    def drop_rate(self) -> float:
        """The drops in per cent of the live answers, as the dialler and the overview have them."""
        return percent(self.drops, self.live_answers) or 0.0

    @property
    def talk_average(self) -> int:
        return mean(self.talk_seconds, self.live_answers)

    @property
    def by_status(self) -> list[dict[str, Any]]:
        """The results that agents gave, by status."""
        counts: dict[int, int] = defaultdict(int)
        names: dict[int, str] = {}
        for status, (name, count) in _entries(orjson.loads(self.results or "[]")):
            counts[int(status)] += count
            names[int(status)] = name
        return [{"status_id": status, "name": names[status], "count": counts[status]} for status in sorted(counts)]


def _entries(value: Any) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield the entries of all objects in nested lists."""
    if isinstance(value, dict):
        yield from value.items()
    else:
        for one in value:
            yield from _entries(one)


COUNTING = Counting(CampaignRow, _SOURCES)


def by_hour(question: Question) -> Section:
    """Count the calls of all campaigns of the question by the hour of the day."""
    asked = replace(question, aggregation=Aggregation.HOUR_OF_DAY)
    rows = COUNTING.by_period(asked, 24)
    stretches = stretches_of(asked, {row.period for row in rows})
    lines = [Line(f"{row.period}:00", "", _entries_of(row, asked, stretches[row.period])) for row in rows]
    total = _entries_of(COUNTING.answer(asked, 0, 0).total, asked, [(asked.begin, asked.end)])
    columns = [_("attempts"), _("live answers"), _("drops"), _("successes")]
    return Section(_("Hours of the day"), _("Hour"), columns, lines, total)


def _entries_of(row: CampaignRow, asked: Question, spans: Sequence[Span]) -> list[Entry]:
    """Return the figures of an hour, with links unless they would be too long."""
    figures = {"dialled": row.attempts, "live": row.live_answers, "dropped": row.drops, "succeeded": row.successes}
    if len(spans) > MOST_STRETCHES:
        return [Entry(number) for number in figures.values()]
    campaigns = ":".join(map(str, asked.subjects))
    return [Entry(number, value_of(f"{way}:{campaigns}", spans) if number else "") for way, number in figures.items()]


_CALLS, _RESULTS_TITLE = pgettext_lazy("of a dialler", "Calls"), _("Results")
FIXED = [
    Measure("outbound_id", "", _("Id"), TEXT, lambda row: row.subject["id"], "00001", "The campaign."),
    Measure("name", "", _("Campaign"), TEXT, lambda row: row.subject["name"], "Spring", "Its name."),
    Measure("period", "", _("Period"), TEXT, of("period"), "2026-11", "The period."),
]
EXAMPLE = [{"status_id": 31, "name": "Sold", "count": 12}]
# fmt: off
MEASURES = [
    Measure("attempts", _CALLS, _("attempts"), COUNT, of("attempts"), 950,
            "Calls that were dialled in the period."),
    Measure("live_answers", _CALLS, _("live answers"), COUNT, of("live_answers"), 410,
            "Those that a person answered."),
    Measure("drops", _CALLS, _("drops"), COUNT, of("drops"), 9,
            "Live answers to which no agent was joined in time."),
    Measure("drop_rate", _CALLS, _("drop rate in per cent"), PERCENT, of("drop_rate"), 2.2,
            "Drops ÷ live answers, in per cent; 0 without any."),
    Measure("machines", _CALLS, _("answering machines"), COUNT, of("machines"), 60, is_usual=False, in_api=False),
    Measure("successes", _RESULTS_TITLE, _("successes"), COUNT, of("successes"), 40, in_api=False),
    Measure("by_status", _RESULTS_TITLE, _("by status"), COUNTS, of("by_status"), EXAMPLE,
            "The results that agents gave to these calls, by status."),
    Measure("talk_sum", _CALLS, _("talk time"), SECONDS, of("talk_seconds"), 61_200,
            "Seconds for which agents talked in these calls."),
    Measure("talk_average", _CALLS, _("average talk"), SECONDS, of("talk_average"), 149,
            is_usual=False, in_api=False),
    Measure("records_done", _RESULTS_TITLE, _("records done"), COUNT, of("records_done"), 310,
            "Records that are not called any more and whose last call was one of these."),
]
# fmt: on
