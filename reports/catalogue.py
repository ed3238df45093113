"""The reports, by the name in an export."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from reports import measures, queues, report
from reports.counting import Answer
from reports.description import Chart, Report, Subjects
from reports.measures import REASONS, Measure
from reports.models.export import ReportKind
from reports.report import Question
from telephony.models import Queue


class _AgentsReport(Report):
    """The agents work report, whose columns include one for each reason of pauses."""

    @property
    def names(self) -> Sequence[str]:
        return measures.NAMES

    def columns_of(self, names: Iterable[str]) -> list[Measure]:
        return measures.columns_of(names)

    def choices(self) -> list[tuple[Any, list[tuple[str, Any]]]]:
        groups = super().choices()
        for _group, entries in groups:
            if entries[-1][0] == "pauses.all.average":
                entries.append((REASONS, _("each reason")))
        return groups


def _of_agents(question: Question, limit: int, offset: int) -> Answer:
    return Answer(report.page(question, limit, offset), None)


_NAMED = {"id": "pk", "name": "name"}
AGENTS = _AgentsReport(
    kind=ReportKind.AGENTS,
    fixed=measures.FIXED,
    measures=measures.MEASURES,
    answer=_of_agents,
    has_within=True,
    subject_title=_("Agent"),
)
QUEUES = Report(
    kind=ReportKind.QUEUES,
    subjects=Subjects(Queue, _NAMED, ("name", "pk"), "queues_ids", "queue_ids"),
    fixed=queues.FIXED,
    measures=queues.MEASURES,
    answer=queues.COUNTING.answer,
    by_period=queues.COUNTING.by_period,
    subject_title=_("Queue"),
    chart=Chart("offered", "wait_average", "service_level"),
    has_within=True,
)
REPORTS: Mapping[str, Report] = {one.kind: one for one in (AGENTS, QUEUES)}
