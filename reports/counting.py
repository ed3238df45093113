# ruff: noqa: S608  (SQL is composed of constants)
"""The engine of the reports by queue, campaign and ticket queue: one statement counts a page of rows and their total.

A report names its sources (calls, attempts, tickets, each at one instant) and its figures, each an aggregate over the
rows of a source. The engine counts each source by subject and period, adds the sources up, and returns one page of
rows. A row of a source belongs to the period of its instant as a whole, so that rows add up to the total.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

from callcentre.core.statements import rows_of
from callcentre.core.times import zone
from reports.ledgers import array
from reports.periods import LENGTHS, Aggregation
from reports.report import Question


@dataclass(slots=True)
class SubjectRow:
    """A row: what was counted of a subject in a period. The total has no subject and no period."""

    subject_id: int | None
    subject: Mapping[str, Any]
    period: str

    @property
    def heading(self) -> tuple[str, str]:
        return str(self.subject.get("name", "")), str(self.subject.get("id", ""))


def figure(
    together: str = "COALESCE(sum({r}), 0)::bigint", *, type_: str = "bigint", is_running: bool = False, **columns: str
) -> Any:
    """Define a figure: its aggregate in each source, by the name of the source, and how its parts are added up.

    A running figure is the sum of all periods of the subject until the end of its period.
    """
    return field(
        default=0, metadata={"columns": columns, "together": together, "type": type_, "is_running": is_running}
    )


class Source(NamedTuple):
    """Rows of tables: FROM and WHERE, the id of the subject, and the instant that decides about the period."""

    rows: str
    subject: str
    at: str
    conditions: str = "true"


class Answer(NamedTuple):
    """A page of rows, and the total of all rows of the question."""

    rows: Sequence[Any]
    total: Any


_BORDERS = "%(borders)s::timestamptz[]"


def border(at: str) -> str:
    """Return SQL: the beginning of the period in which an instant lies; of an hour of the day, that of the hour.

    The hours of a long span are too many to send as borders.
    """
    return f"""CASE WHEN %(is_hour_of_day)s::boolean THEN date_trunc('hour', {at}, %(zone)s)
    ELSE ({_BORDERS})[width_bucket({at}, {_BORDERS})] END"""


def in_span(at: str, subject: str) -> str:
    """Return SQL: the instant lies in the span, and the subject is wanted."""
    return f"{at} >= %(begin)s AND {at} < %(end)s AND {subject} = ANY(%(subjects)s::bigint[])"


@dataclass(frozen=True)
class Counting:
    """The statement of a report. `is_present`: which rows are shown, as a condition about figures."""

    row: type[SubjectRow]
    sources: Mapping[str, Source]
    is_present: str = "true"
    # Further parameters of the sources.
    values_of: Callable[[Question], dict[str, Any]] = lambda question: {}

    def answer(self, question: Question, limit: int, offset: int) -> Answer:
        """Return so many rows of the report, from there on, by subject and period, with the total."""
        found, total = self._read(self._by_subject, question, [*question.subjects], limit, offset)
        rows = [self.row(pk, question.subjects[pk], period, *counts) for _place, pk, period, *counts in found]
        return Answer(rows, self.row(None, {}, "", *total))

    def by_period(self, question: Question, limit: int) -> list[Any]:
        """Return so many rows of all subjects together, by period."""
        found, _total = self._read(self._together, question, [0], limit, 0)
        return [self.row(None, {}, period, *counts) for _place, _pk, period, *counts in found]

    def _read(
        self, statement: str, question: Question, order: Sequence[int], limit: int, offset: int
    ) -> tuple[list[Any], Any]:
        is_hour_of_day = question.aggregation is Aggregation.HOUR_OF_DAY
        borders = [] if is_hour_of_day else question.aggregation.borders(question.begin, question.end)
        values = {
            "is_hour_of_day": is_hour_of_day,
            "borders": array(borders),
            "begin": question.begin,
            "end": question.end,
            "now": question.now,
            "within": question.within,
            "subjects": array(question.subjects),
            "order": array(order),
            "zone": zone().key,
            "label": LENGTHS[question.aggregation].sql_label,
            "limit": limit,
            "offset": offset,
            **self.values_of(question),
        }
        (_place, _subject, _period, *total), *found = rows_of(statement, values)
        return found, total

    @cached_property
    def _by_subject(self) -> str:
        return self._statement({name: source.subject for name, source in self.sources.items()})

    @cached_property
    def _together(self) -> str:
        return self._statement(dict.fromkeys(self.sources, "0::bigint"))

    def _statement(self, subjects: Mapping[str, str]) -> str:
        figures = {one.name: one.metadata for one in fields(self.row) if "columns" in one.metadata}
        grains = [
            f"SELECT {subjects[name]} AS subject_id, {border(source.at)} AS started_at, "
            + ", ".join(
                f"{figure['columns'].get(name, 'NULL')}::{figure['type']} AS {column}"
                for column, figure in figures.items()
            )
            + f" FROM {source.rows} WHERE {source.conditions} GROUP BY 1, 2"
            for name, source in self.sources.items()
        ]
        together = {name: figure["together"].format(r=name) for name, figure in figures.items()}
        running = {
            name: f"sum({name}) OVER (PARTITION BY subject_id ORDER BY period)::bigint"
            for name, figure in figures.items()
            if figure["is_running"]
        }
        period = 'to_char(started_at AT TIME ZONE %(zone)s, %(label)s) COLLATE "C"'
        return f"""
WITH grain AS ({" UNION ALL ".join(grains)}),
counted AS MATERIALIZED (
  SELECT subject_id, {period} AS period, {", ".join(f"{sql} AS {name}" for name, sql in together.items())}
  FROM grain GROUP BY 1, 2
),
line AS (
  SELECT subject_id, period, {", ".join(f"{running.get(name, name)} AS {name}" for name in figures)} FROM counted
)
SELECT 0 AS place, NULL::bigint AS subject_id, NULL AS period, {", ".join(together.values())} FROM counted
UNION ALL (
  SELECT place, subject_id, period, {", ".join(figures)}
  FROM line JOIN unnest(%(order)s::bigint[]) WITH ORDINALITY AS subject(id, place) ON subject.id = subject_id
  WHERE {self.is_present}
  ORDER BY place, period LIMIT %(limit)s OFFSET %(offset)s
)
ORDER BY place, period"""
