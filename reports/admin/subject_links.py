"""Links from a figure of a report by queue or campaign to the list of the admin that holds the rows behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.urls import reverse

from callcentre.admin import may_see
from callcentre.core.counted import PARAMETER, value_of
from callcentre.core.exporting.formats import Unit
from reports.counting import SubjectRow
from reports.description import Report
from reports.measures import Measure
from reports.models.export import ReportKind
from reports.report import Question
from reports.stretches import MOST_STRETCHES, stretches_of

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
