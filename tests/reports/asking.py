"""Asking for the report as the API does, without HTTP; and bringing rollups up to date, as far as a test wants."""

from datetime import datetime
from typing import Any

from reports import rollups
from reports.api.pages import page as page_of
from reports.parameters import Wanted
from reports.periods import Aggregation
from reports.report import Question
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
    logins = [agent.login for agent in agents]
    wanted = Wanted(logins, [], Question((), *span, Aggregation(aggregation), now, threshold, queues))
    rows: list[dict[str, Any]] = []
    while True:
        found = page_of(wanted, page, len(rows))
        rows += found
        if len(found) < page:
            return rows


def refresh() -> None:
    while rollups.refresh():
        pass


def settle(now: datetime) -> None:
    while rollups.settle(now):
        pass
