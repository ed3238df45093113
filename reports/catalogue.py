"""The reports, by the name in an export."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from callcentre.core.errors import ErrorCode
from callcentre.core.parsing import parse_text
from campaigns.models import Campaign
from reports import measures, outbounds, queues, report, tickets
from reports.counting import Answer
from reports.description import Chart, Report, Subjects
from reports.measures import REASONS, Measure
from reports.models.export import Asked, ReportKind
from telephony.models import Queue
from tickets.models import TicketQueue


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


_NAMED = {"id": "pk", "name": "name"}
AGENTS = _AgentsReport(
    kind=ReportKind.AGENTS,
    fixed=measures.FIXED,
    measures=measures.MEASURES,
    answer=lambda question, limit, offset: Answer(report.page(question, limit, offset), None),
    has_within=True,
    subject_title=_("Agent"),
)
QUEUES = Report(
    kind=ReportKind.QUEUES,
    ledgers=("connections", "agent_states"),
    subjects=Subjects(Queue, _NAMED, ("name", "pk"), "queues_ids", "queue_ids"),
    fixed=queues.FIXED,
    measures=queues.MEASURES,
    answer=queues.COUNTING.answer,
    by_period=queues.COUNTING.by_period,
    subject_title=_("Queue"),
    chart=Chart("offered", "wait_average", "service_level"),
    has_within=True,
)
OUTBOUNDS = Report(
    kind=ReportKind.OUTBOUNDS,
    ledgers=("attempts",),
    subjects=Subjects(
        Campaign,
        {"id": "code", "name": "name"},
        ("name", "code"),
        "outbound_ids",
        "campaign_ids",
        parse=parse_text,
        not_found=ErrorCode.OUTBOUNDS_NOT_FOUND,
    ),
    fixed=outbounds.FIXED,
    measures=outbounds.MEASURES,
    answer=outbounds.COUNTING.answer,
    by_period=outbounds.COUNTING.by_period,
    subject_title=_("Campaign"),
    chart=Chart("attempts", "live_answers", "drop_rate"),
    section=outbounds.by_hour,
)
TICKETS = Report(
    kind=ReportKind.TICKETS,
    ledgers=("tickets",),
    subjects=Subjects(TicketQueue, _NAMED, ("name", "pk"), "queues_ids", "queue_ids"),
    fixed=tickets.FIXED,
    measures=tickets.MEASURES,
    answer=tickets.COUNTING.answer,
    by_period=tickets.COUNTING.by_period,
    subject_title=_("Ticket queue"),
    chart=Chart("opened", "backlog", "first_response_met"),
    section=tickets.by_age,
)
REPORTS: Mapping[str, Report] = {one.kind: one for one in (AGENTS, QUEUES, OUTBOUNDS, TICKETS)}
Stored = TypeVar("Stored", bound=Asked)


def of_open_reports(rows: QuerySet[Stored], user: Any) -> QuerySet[Stored]:
    """Return the exports or schedules of those reports that the person may see."""
    closed = [kind for kind, described in REPORTS.items() if not described.is_open_to(user)]
    return rows.exclude(report__in=closed) if closed else rows
