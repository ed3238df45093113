"""Links from a figure of the report to the list of the admin that holds exactly the rows behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.http import HttpRequest
from django.urls import reverse

from callcentre.admin import may_see
from callcentre.core.counted import PARAMETER, value_of
from callcentre.core.exporting.formats import Unit
from reports.counting import SubjectRow
from reports.description import Report
from reports.figures import Row
from reports.measures import MEASURES, Measure
from reports.models.export import ReportKind
from reports.periods import Span
from reports.report import Question
from reports.stretches import MOST_STRETCHES, stretches_of


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


def _calls(way: str, argument: str = "threshold") -> Rows:
    """Build the rows of outbound calls, whose filter takes the agent and the queues: those of a talk may be others."""
    return Rows("telephony", "connection", way, argument=argument, has_queue=False, is_mine=False)


def _states(way: str, *narrowing: tuple[str, str]) -> Rows:
    return Rows("telephony", "agentstate", way, narrowing, has_queue=False)


_SESSIONS = Rows("telephony", "agentsession", "lasted", has_queue=False)
_LOGINS = Rows("telephony", "agentsession", "there", has_queue=False)
_REPLIED = Rows("tickets", "ticket", "replied", argument="agent", is_mine=False)
_ROWS = {
    "inbound.count": _offers("offered"),
    "inbound.answered_count": _offers("answered"),
    "inbound.not_answered_count": _offers("missed"),
    "inbound.transferred_count": _offers("handed_on"),
    "inbound.sum": _offers("talked"),
    "inbound.wait_sum": _offers("waited"),
    "outbound_above_threshold.count": _calls("above"),
    "outbound_above_threshold.sum": _calls("above_talked"),
    "outbound_below_threshold.count": _calls("below"),
    "outbound_below_threshold.sum": _calls("below_talked"),
    "chat.closed": Rows("tickets", "chat", "closed"),
    "chat.responded": Rows("tickets", "chat", "written", argument="agent", is_mine=False),
    "ticket.closed": Rows("tickets", "ticket", "closed", argument="agent", is_mine=False),
    "ticket.responded": _REPLIED,
    "ticket.total_responded": _REPLIED,
    "login_date": _LOGINS,
    "logout_date": _LOGINS,
    "login_sum": _SESSIONS,
    "pauses.all.count": _states("began", ("kind", "paused")),
    "pauses.all.sum": _states("lasted", ("kind", "paused")),
    "pauses.free.count": _states("began", ("kind", "free")),
    "pauses.free.sum": _states("lasted", ("kind", "free")),
    "wrap_up": _states("lasted", ("kind", "wrap_up")),
    "consultations.count": _calls("consulted", "agent"),
    "consultations.sum": _calls("consulted_talked", "agent"),
    # Parts of other figures
    "in_time": Rows("telephony", "offer", "in_time", argument="within"),
    "talked_outbound": _calls("above", "talked"),
}
# The parameters of the question that the page of a figure's parts repeats; the agent is the row's.
_ASKED = ("date_from", "date_to", "aggregate_by", "outbound_threshold", "answered_within")


def _rows_of(name: str) -> Rows | None:
    if name in _ROWS:
        return _ROWS[name]
    first, *rest = name.split(".")
    if first == "pauses":
        way = "began" if rest[1] == "count" else "lasted"
        return _states(way, ("kind", "paused"), ("pause__id__exact", rest[0]))
    return None


class Links:
    """The links of the rows of one page, to those lists that the user may see."""

    def __init__(
        self, request: HttpRequest, question: Question, columns: Sequence[Measure], lines: Sequence[Row]
    ) -> None:
        self._user, self._question = request.user, question
        self._stretches = stretches_of(question, {line.period for line in lines})
        self._values = {column.name: column.value for column in (*MEASURES, *columns)}
        self._rows: dict[str, Rows] = {}
        self._parted: set[str] = set()
        for column in columns:
            if parts := column.parts:
                self._parted |= {column.name} if any(map(self._visible, parts)) else set()
            elif rows := self._visible(column.name):
                self._rows[column.name] = rows
        self._asked = [(name, request.GET[name]) for name in _ASKED if name in request.GET]
        self._asked += [("queues_ids", str(queue)) for queue in question.queues or ()]

    def _visible(self, name: str) -> Rows | None:
        rows = _rows_of(name)
        return rows if rows and may_see(self._user, rows.app, rows.model) else None

    def of(self, column: Measure, line: Row) -> str:
        """Return the address, or an empty string if there are no rows or the user may not see them."""
        stretches = self._stretches[line.period]
        if not self._is_of_something(column, line) or len(stretches) > MOST_STRETCHES:
            return ""
        if column.name in self._parted:
            what = {"agent_logins": line.agent["login"], "period": line.period, "figure": column.name}
            return f"{reverse('admin:reports_export_parts')}?{urlencode([*self._asked, *what.items()])}"
        if (rows := self._rows.get(column.name)) is None:
            return ""
        return f"{reverse(f'admin:{rows.app}_{rows.model}_changelist')}?{urlencode(self._query(rows, line, stretches))}"

    def _is_of_something(self, column: Measure, line: Row) -> bool:
        """Tell whether there are rows behind a figure; an average or a share of 0 may have some."""
        if (value := column.value(line)) is None:
            return False
        return bool(value) or any(self._values[part](line) for part in column.parts if part in self._values)

    def _query(self, rows: Rows, line: Row, stretches: Sequence[Span]) -> list[tuple[str, Any]]:
        way, queues = rows.way, self._question.queues
        match rows.argument:
            case "threshold" | "talked":
                threshold = self._question.threshold if rows.argument == "threshold" else 0
                way += ":" + ":".join(map(str, (threshold, line.agent_id, *(queues or ()))))
            case "within":
                way += f":{self._question.within}"
            case "agent":
                way += f":{line.agent_id}"
        query: list[tuple[str, Any]] = [("agent__id__exact", line.agent_id)] if rows.is_mine else []
        query += rows.narrowing
        if rows.has_queue and queues is not None:
            query += [("queue__id__exact", queue) for queue in queues]
        return [*query, (PARAMETER, value_of(way, stretches))]


# More queues or campaigns than this make an address too long.
MOST_SUBJECTS = 200


@dataclass(frozen=True)
class Lists:
    """A list of a report, and the way in which it counts the rows of each figure.

    An average or a share leads to the rows by which it is divided. `has_within`: the filter takes the time within which
    a call is answered in time. `further` are parameters that the list needs besides.
    """

    app: str
    model: str
    ways: Mapping[str, str]
    has_within: bool = False
    further: Mapping[str, str] = field(default_factory=dict)


_LISTS: Mapping[ReportKind, tuple[Lists, ...]] = {
    ReportKind.QUEUES: (
        Lists(
            "telephony",
            "connection",
            {
                "offered": "came",
                "answered": "came_answered",
                "abandoned": "came_abandoned",
                "answered_in_threshold": "came_in_time",
                "service_level": "came_decided",
                "wait_average": "came",
                "wait_max": "came",
                "wait_sum": "came",
                "talk_average": "came_answered",
                "handle_average": "came_answered",
                "talk_sum": "came_answered",
                "wrap_up": "came_answered",
            },
            has_within=True,
        ),
        Lists(
            "telephony",
            "callback",
            {"callbacks": "asked", "callbacks_answered": "asked_answered", "callback_wait_average": "asked_answered"},
        ),
        Lists(
            "telephony",
            "missedcaller",
            {"missed": "missed", "missed_unanswered": "missed_unanswered"},
            further={"answer": "all"},
        ),
    ),
    ReportKind.OUTBOUNDS: (
        Lists(
            "campaigns",
            "attempt",
            {
                "attempts": "dialled",
                "live_answers": "live",
                "drops": "dropped",
                "drop_rate": "live",
                "machines": "machines",
                "successes": "succeeded",
                "by_status": "settled",
                "talk_sum": "live",
                "talk_average": "live",
                "records_done": "done",
            },
        ),
    ),
    ReportKind.TICKETS: (
        Lists(
            "tickets",
            "ticket",
            {
                "opened": "began",
                "closed": "ended",
                "reopened": "reopened",
                "backlog": "open",
                "first_response_average": "responded",
                "first_response_met": "response_due",
                "resolution_average": "resolved",
                "resolution_met": "resolution_due",
                "responses": "responded",
                "resolutions": "resolved",
            },
        ),
        Lists("tickets", "rating", {"ratings": "given", "rating_average": "given"}),
    ),
}


class SubjectLinks:
    """The links of the rows of one page and of their total, if the user may see the list."""

    def __init__(self, user: Any, report: Report, question: Question, lines: Sequence[SubjectRow]) -> None:
        assert report.subjects
        self._question = question
        self._lists: dict[str, Lists] = {}
        for lists in _LISTS[report.kind]:
            # The report counts within the scope of its subjects. A list that the scope narrows further has fewer rows.
            narrowing = user.scope.columns_that_narrow(apps.get_model(lists.app, lists.model))
            is_whole = narrowing <= user.scope.columns_that_narrow(report.subjects.model)
            if is_whole and may_see(user, lists.app, lists.model):
                self._lists.update(dict.fromkeys(lists.ways, lists))
        self._stretches = stretches_of(question, {line.period for line in lines})

    def of(self, column: Measure, line: SubjectRow) -> str:
        """Return the address, or an empty string if there are no rows or the user may not see them."""
        value, lists = column.value(line), self._lists.get(column.name)
        # A share of 0 has rows.
        is_empty = value is None or (not value and column.unit is not Unit.PERCENT)
        if lists is None or is_empty:
            return ""
        ids = [*self._question.subjects] if line.subject_id is None else [line.subject_id]
        spans = [(self._question.begin, self._question.end)]
        if line.period:
            spans = self._stretches[line.period]
        if len(spans) > MOST_STRETCHES or len(ids) > MOST_SUBJECTS:
            return ""
        arguments = [self._question.within, *ids] if lists.has_within else ids
        return _address(lists, value_of(":".join(map(str, (lists.ways[column.name], *arguments))), spans))

    def leading_to(self, counted: str) -> str:
        """Return the address of the report's first list with this value of its filter; nothing without one."""
        lists = next(iter(self._lists.values()), None)
        return _address(lists, counted) if lists and counted else ""


def _address(lists: Lists, counted: str) -> str:
    page = reverse(f"admin:{lists.app}_{lists.model}_changelist")
    return f"{page}?{urlencode({PARAMETER: counted, **lists.further})}"
