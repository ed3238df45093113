"""Asking for the report as the API does, without HTTP; and bringing rollups up to date, as far as a test wants."""

from datetime import datetime
from typing import Any

from reports import report, rollups
from reports.api.views import row_data
from reports.models import RollupProgress
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
    by_login = sorted(agents, key=lambda agent: agent.login)
    names = {one.pk: {"login": one.login, "name": one.name, "surname": one.surname} for one in by_login}
    narrowed = None if queues is None else tuple(queues)
    question = report.Question(names, *span, Aggregation(aggregation), now, threshold, narrowed)
    rows: list[dict[str, Any]] = []
    while True:
        found = report.page(question, page, len(rows))
        rows += map(row_data, found)
        if len(found) < page:
            return rows


def refresh() -> None:
    while rollups.refresh():
        pass


def unsettle(until: datetime) -> None:
    """Keep no rollups of days and months after an instant: refreshing sums hours alone there."""
    RollupProgress.objects.update(until=until)


def settle(now: datetime) -> None:
    while rollups.settle(now):
        pass
