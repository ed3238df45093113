"""From a figure of the report to the rows behind it: the list of the admin that holds exactly those."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from callcentre.admin.periods import PARAMETER, value_of
from reports.columns import Column
from reports.figures import Line
from reports.lines import Table, stretches_of

# More stretches than this make an address too long: an hour of the day of four months.
MOST_STRETCHES = 124


@dataclass(frozen=True)
class Rows:
    """A list, how the report counts its rows, and what else narrows it. `is_mine`: the list has an agent's filter."""

    app: str
    model: str
    way: str
    narrowing: tuple[tuple[str, str], ...] = ()
    argument: str = ""
    has_queue: bool = True
    is_mine: bool = True


def _offers(way: str) -> Rows:
    return Rows("telephony", "offer", way)


def _calls(way: str) -> Rows:
    return Rows("telephony", "connection", way, argument="threshold")


def _states(way: str, *narrowing: tuple[str, str]) -> Rows:
    return Rows("telephony", "agentstate", way, narrowing, has_queue=False)


_SESSIONS = Rows("telephony", "agentsession", "lasted", has_queue=False)
_REPLIED = Rows("tickets", "ticket", "replied", argument="agent", is_mine=False)
_ROWS = {
    "inbound.count": _offers("offered"),
    "inbound.answered_count": _offers("answered"),
    "inbound.not_answered_count": _offers("missed"),
    "inbound.transferred_count": _offers("handed_on"),
    "inbound.sum": _offers("talked"),
    "inbound.average": _offers("talked"),
    "inbound.wait_sum": _offers("waited"),
    "inbound.wait_average": _offers("waited"),
    "inbound.calls_per_hour": _offers("answered"),
    "service_level": _offers("offered"),
    "outbound_above_threshold.count": _calls("above"),
    "outbound_above_threshold.sum": _calls("above_talked"),
    "outbound_above_threshold.average": _calls("above_talked"),
    "outbound_below_threshold.count": _calls("below"),
    "outbound_below_threshold.sum": _calls("below_talked"),
    "outbound_below_threshold.average": _calls("below_talked"),
    "chat.closed": Rows("tickets", "chat", "closed"),
    "chat.responded": Rows("tickets", "chat", "written", argument="agent", is_mine=False),
    "ticket.closed": Rows("tickets", "ticket", "closed", argument="agent", is_mine=False),
    "ticket.responded": _REPLIED,
    "ticket.total_responded": _REPLIED,
    "login_date": _SESSIONS,
    "logout_date": _SESSIONS,
    "login_sum": _SESSIONS,
    "pauses.all.count": _states("began", ("kind", "paused")),
    "pauses.all.sum": _states("lasted", ("kind", "paused")),
    "pauses.all.average": _states("lasted", ("kind", "paused")),
    "pauses.free.count": _states("began", ("kind", "free")),
    "pauses.free.sum": _states("lasted", ("kind", "free")),
    "wrap_up": _states("lasted", ("kind", "wrap_up")),
    "talk_time": _states("lasted"),
    "handle_time": _states("lasted"),
    "average_handle_time": _states("lasted"),
    "occupancy": _states("lasted"),
}


def _rows_of(name: str) -> Rows | None:
    if name in _ROWS:
        return _ROWS[name]
    first, *rest = name.split(".")
    if first == "pauses":
        way = "began" if rest[1] == "count" else "lasted"
        return _states(way, ("kind", "paused"), ("pause__id__exact", rest[0]))
    return None


class Links:
    """Of the lines of one page, for somebody who may see some of the lists."""

    def __init__(self, request: HttpRequest, table: Table, lines: Sequence[Line]) -> None:
        self._table = table
        self._stretches = stretches_of(table.question, {line.period for line in lines})
        self._rows: dict[str, Rows] = {}
        for column in table.columns:
            rows = _rows_of(column.name)
            if rows and any(request.user.has_perm(f"{rows.app}.{may}_{rows.model}") for may in ("view", "change")):
                self._rows[column.name] = rows

    def of(self, column: Column, line: Line) -> str:
        """ "" where there is nothing to be seen, or nothing that he may see."""
        rows, stretches = self._rows.get(column.name), self._stretches[line.period]
        if rows is None or not column.value(line) or len(stretches) > MOST_STRETCHES:
            return ""
        return f"{reverse(f'admin:{rows.app}_{rows.model}_changelist')}?{urlencode(self._query(rows, line, stretches))}"

    def _query(self, rows: Rows, line: Line, stretches: Sequence[tuple[datetime, datetime]]) -> list[tuple[str, Any]]:
        way = rows.way
        match rows.argument:
            case "threshold":
                way += f":{line.threshold}"
            case "agent":
                way += f":{line.agent_id}"
        query: list[tuple[str, Any]] = [("agent__id__exact", line.agent_id)] if rows.is_mine else []
        query += rows.narrowing
        if rows.has_queue and (queues := self._table.question.queues) is not None:
            query.append(
                ("queue__id__exact", queues[0]) if len(queues) == 1 else ("queue__id__in", ",".join(map(str, queues)))
            )
        return [*query, (PARAMETER, value_of(way, stretches))]
