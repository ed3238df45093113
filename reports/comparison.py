"""The nightly comparison of a sample of rollups with the ledgers. Wrong ones are reported and summed anew."""

import logging
import random
from collections.abc import Iterator
from datetime import datetime

from prometheus_client import Counter

from callcentre.core.statements import Statement
from reports import ledgers, rollups
from reports.figures import COLUMNS
from reports.periods import DAY, Aggregation, end_of, start_of
from reports.report import snapshot
from telephony.models import Agent

logger = logging.getLogger(__name__)
repaired = Counter("callcentre_rollups_repaired", "Rollups that differed from the ledgers and were summed anew")

_ROW = ", ".join(("agent_id", "queue_id", "started_at", *COLUMNS))
# Time that the log names is summed anew in any case. In this snapshot, all other rollups are equal to the ledgers.
_WRONG = Statement("""
WITH {stretches}, {rows},
kept AS (
  SELECT r.* FROM reports_sums r JOIN stretch
    ON r.agent_id = stretch.agent_id AND r.level = %(level)s AND r.started_at >= a AND r.started_at < b
),
wrong AS (
  SELECT agent_id, min(started_at) AS since, max(started_at) AS until, count(DISTINCT (queue_id, started_at)) AS count
  FROM (
    (SELECT {row} FROM counted EXCEPT SELECT {row} FROM kept)
    UNION ALL
    (SELECT {row} FROM kept EXCEPT SELECT {row} FROM counted)
  ) different
  WHERE NOT EXISTS (
    SELECT FROM telephony_ledgerchange l JOIN stretch USING (agent_id)
    WHERE l.agent_id = different.agent_id AND l.since < b AND l.until >= a
  )
  GROUP BY agent_id
){logged}
SELECT agent_id, since, count FROM wrong
""")
_PARTS = {"stretches": ledgers.STRETCHES, "rows": ledgers.ROWS, "row": _ROW}
_WRONG_ONES = _WRONG.of(**_PARTS, logged="")
_LOG_WRONG_ONES = _WRONG.of(
    **_PARTS,
    logged=""",
logged AS (INSERT INTO telephony_ledgerchange (agent_id, since, until) SELECT agent_id, since, until FROM wrong)""",
)


def compare_sample(now: datetime) -> int:
    """Compare the month of yesterday, and one month of chance, of all agents. Return the number of wrong rollups."""
    if (bounds := rollups.bounds()) is None:
        return 0
    begin = max(bounds[0], rollups.progress()[Aggregation.HOUR][0])
    some_time = begin + random.random() * max(now - begin, DAY)  # noqa: S311  (a sample)
    total = 0
    for month in {start_of(Aggregation.MONTH, at) for at in (now - DAY, some_time)}:
        for agent_id, length, since, count in _compare(month, _LOG_WRONG_ONES):
            found = {"agent": agent_id, "aggregation": length, "since": since.isoformat(), "rollups": count}
            logger.error("rollups differed from the ledgers and are summed anew", extra=found)
            repaired.inc(count)
            total += count
    return total


def differences(now: datetime) -> Iterator[str]:
    """Return a line for each agent of whom a rollup of the month of yesterday differs. Nothing is repaired."""
    if rollups.bounds() is None:
        return
    for agent_id, length, since, count in _compare(start_of(Aggregation.MONTH, now - DAY), _WRONG_ONES):
        yield f"agent {agent_id}, by {length}, since {since}: {count} rollups"


def _compare(month: datetime, statement: str) -> Iterator[tuple[int, Aggregation, datetime, int]]:
    """Compare the rollups of a month, of each length, with the ledgers: agent, length, first, count of wrong ones."""
    agents = [*Agent.objects.order_by("pk").values_list("pk", flat=True)]
    for length, (first, border) in rollups.progress().items():
        span = max(month, first), min(end_of(Aggregation.MONTH, month), border)
        for some in rollups.portions(span, agents) if span[0] < span[1] else ():
            with snapshot():
                wrong = rollups.execute(statement, length, {span: some})
            for agent_id, since, count in wrong:
                yield agent_id, length, since, count
