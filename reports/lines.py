"""Lines of a table of the report: its rows, from the builder, with what further measures need besides."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

from django.db import connection

from callcentre.core.times import zone
from reports import builder
from reports.builder import Question, Row
from reports.columns import AVERAGE_HANDLE_TIME, SERVICE_LEVEL, Column
from reports.figures import Line
from reports.periods import DAY, HOUR_OF, Aggregation
from telephony.models import Agent

# Of an hour of the day, that are listed: more than links can name (reports.admin.links.MOST_STRETCHES).
MOST_DAYS = 200
# Rows that are in memory at one time.
PORTION = 2_000

_PLACE, _HOUR = "width_bucket(o.offered_at, %(borders)s::timestamptz[]) - 1", HOUR_OF.format(column="o.offered_at")
_IN_TIME = """
SELECT o.agent_id, {place}, count(*)
FROM telephony_offer o JOIN telephony_connection c ON c.id = o.connection_id AND c.direction = 'INBOUND'
WHERE o.agent_id = ANY(%(agents)s) AND o.offered_at >= %(begin)s AND o.offered_at < %(end)s
  AND o.answered_at <= o.offered_at + make_interval(secs => %(within)s)
  AND (%(queues)s::bigint[] IS NULL OR o.queue_id = ANY(%(queues)s::bigint[]))
GROUP BY 1, 2
"""


@dataclass(frozen=True)
class Table:
    """What is asked, and the columns in which it is shown; agents by the names under which they are shown."""

    question: Question
    agents: Mapping[int, Mapping[str, str]]
    columns: Sequence[Column]
    # Seconds within which an offer was answered in time.
    within: int

    @cached_property
    def _slots(self) -> tuple[list[datetime], list[str]]:
        """Borders of the span's periods, and for each the label of the period that begins there, or goes on.

        Hours of the day need none, but have their labels.
        """
        asked = self.question
        if asked.aggregation is Aggregation.HOUR_OF_DAY:
            return [], [asked.aggregation.label(hour) for hour in range(24)]
        borders = asked.aggregation.slots(asked.begin, asked.end)
        return borders, [asked.aggregation.label(asked.aggregation.key(border)) for border in borders]

    def needs(self, name: str) -> bool:
        return any(column.name == name for column in self.columns)

    def page(self, limit: int, offset: int) -> list[Line]:
        """So many lines, from there on. Whoever wants all of one instant has begun a snapshot of the builder's."""
        with builder.snapshot():
            return self._lines(self.question, limit, offset, None)

    def all(self) -> Iterator[tuple[list[Line], float]]:
        """In portions; with each, how much of the whole is done by then: it grows, and is 1 with the last.

        Lines come by agents and periods, so the last one of a portion tells how far it is. How many are to come, nobody
        knows without looking for them all.
        """
        asked = self.question
        together = max(PORTION // asked.aggregation.periods_in(asked.begin, asked.end), 1)
        for start in range(0, len(asked.agents), together):
            part = replace(asked, agents=asked.agents[start : start + together])
            in_time = self._in_time(part)
            offset = 0
            while len(lines := self._lines(part, PORTION, offset, in_time)) == PORTION:
                offset += PORTION
                last = lines[-1]
                passed = part.agents.index(last.agent_id) + self._share_until[last.period]
                yield lines, (start + passed) / len(asked.agents)
            yield lines, (start + len(part.agents)) / len(asked.agents)

    @cached_property
    def _share_until(self) -> dict[str, float]:
        """By the label of a period, how much of the span is over with it."""
        labels = self._slots[1]
        return {label: (place + 1) / len(labels) for place, label in enumerate(labels)}

    def _lines(
        self, asked: Question, limit: int, offset: int, in_time: Mapping[tuple[int, str], int] | None
    ) -> list[Line]:
        rows = builder.page(asked, limit, offset)
        if in_time is None:
            in_time = self._in_time(replace(asked, agents=list(dict.fromkeys(row.agent_id for row in rows))))
        talked = self._talked(asked, limit, offset, rows)
        return [
            Line(
                row.agent_id,
                self.agents[row.agent_id],
                row.period,
                row.measures,
                asked.threshold,
                asked.queues is not None,
                count,
                in_time.get((row.agent_id, row.period), 0),
            )
            for row, count in zip(rows, talked, strict=True)
        ]

    def _talked(self, asked: Question, limit: int, offset: int, rows: Sequence[Row]) -> list[int]:
        """Outbound calls that were talked, of each row; the rows themselves tell only with the threshold 0."""
        if not self.needs(AVERAGE_HANDLE_TIME):
            return [0] * len(rows)
        if asked.threshold:
            rows = builder.page(replace(asked, threshold=0), limit, offset)
        return [sum(count for length, (count, _) in row.measures.calls.items() if length) for row in rows]

    def _in_time(self, asked: Question) -> dict[tuple[int, str], int]:
        """By agent and period, offers that began in it and were answered in time: from the ledger itself."""
        if not self.needs(SERVICE_LEVEL) or not asked.agents:
            return {}
        borders, labels = self._slots
        parameters: dict[str, Any] = {
            "agents": list(asked.agents),
            "begin": asked.begin,
            "end": asked.end,
            "borders": borders,
            "zone": zone().key,
            "within": self.within,
            "queues": None if asked.queues is None else list(asked.queues),
        }
        found: dict[tuple[int, str], int] = defaultdict(int)
        with connection.cursor() as cursor:
            cursor.execute(_IN_TIME.format(place=_PLACE if borders else _HOUR), parameters)
            for agent_id, place, count in cursor:
                found[agent_id, labels[place]] += count
        return found


def stretches_of(asked: Question, periods: set[str]) -> dict[str, list[tuple[datetime, datetime]]]:
    """Of periods by their labels, the stretches of the span that they are: one; more of a minute that comes twice and
    of an hour of the day, of which those of its first days will do: no address names more."""
    found: dict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
    until = asked.end
    if asked.aggregation is Aggregation.HOUR_OF_DAY:
        until = min(until, asked.begin + MOST_DAYS * DAY)
    for start, end in pairwise(asked.aggregation.slots(asked.begin, until)):
        if (label := asked.aggregation.label(asked.aggregation.key(start))) in periods:
            found[label].append((max(start, asked.begin), min(end, asked.end)))
    return found


def agents_of(ids: Sequence[int], group_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    """Those of these ids and those of the groups; all where neither is given. By login."""
    agents = Agent.objects.order_by("login")
    if ids or group_ids:
        agents = agents.filter(pk__in=ids) | agents.filter(group__in=group_ids)
    rows = agents.values_list("pk", "login", "name", "surname")
    return {pk: {"login": login, "name": name, "surname": surname} for pk, login, name, surname in rows}
