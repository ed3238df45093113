"""Asking for the report as the API does, without HTTP; and bringing rollups up to date, as far as a test wants."""

from datetime import datetime
from typing import Any

from reports import builder, rollup, settling
from reports.api.serializers import row_data
from reports.builder import Question
from reports.periods import Aggregation
from telephony.models import Agent

AGGREGATIONS = [one.value for one in Aggregation]


def ask(
    agents: list[Agent],
    span: tuple[datetime, datetime],
    aggregation: str,
    now: datetime,
    *,
    queues: list[int] | None = None,
    threshold: int = 0,
    page: int = 1000,
) -> list[dict[str, Any]]:
    """All pages, one after the other."""
    named = {agent.pk: {"login": agent.login, "name": agent.name, "surname": agent.surname} for agent in agents}
    order = [agent.pk for agent in sorted(agents, key=lambda agent: agent.login)]
    question = Question(order, *span, Aggregation(aggregation), now, threshold, queues)
    rows: list[dict[str, Any]] = []
    while True:
        found = builder.page(question, page, len(rows))
        rows += [row_data(named[pk], period, measures, threshold) for pk, period, measures in found]
        if len(found) < page:
            return rows


def refresh() -> None:
    while rollup.refresh():
        pass


def settle(now: datetime) -> None:
    settling.settle_all(now)
