"""The page of a report: a question, a page of its answer, a chart, and the way to a file of all of it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from callcentre.admin import ReadOnlyAdmin, actor_of
from callcentre.admin.scope import scope_of
from callcentre.core import replica
from callcentre.core.errors import Invalid
from callcentre.core.exporting.formats import Unit
from callcentre.core.exporting.jobs import FileJobQuerySet
from callcentre.core.integers import integer_of
from reports import report
from reports.admin.forms import TableForm, form_of, ranges
from reports.admin.links import Links, SubjectLinks
from reports.catalogue import REPORTS
from reports.description import Report
from reports.figures import Row, total_of
from reports.measures import Measure
from reports.models import Export
from reports.models.export import ReportKind
from reports.parameters import read_table
from reports.report import Question
from reports.verbs.exports import ask_export

# A chart of more rows or periods than this would say nothing, and take long.
MOST_ROWS, MOST_PERIODS = 10_000, 800


def chart_of(described: Report, asked: Question, columns: Sequence[Measure] = ()) -> dict[str, Any]:
    """Return the data of the chart, and the total of agents in these columns; or under `reason` why there are none."""
    if asked.aggregation.periods_in(asked.begin, asked.end) > MOST_PERIODS:
        return {"reason": _("No chart of more than %s periods: choose longer ones.") % MOST_PERIODS}
    return _of_agents(asked, columns) if described.chart is None else _of_subjects(described, asked)


def _of_subjects(described: Report, asked: Question) -> dict[str, Any]:
    assert described.by_period
    assert described.chart
    rows = described.by_period(asked, MOST_PERIODS)
    columns = {column.name: column for column in described.measures}
    chart = described.chart
    drawn = {"calls": columns[chart.bars], "talk": columns[chart.line], "occupancy": columns[chart.share]}
    return {"labels": [row.period for row in rows]} | {
        name: {"label": column.title, "data": [column.value(row) for row in rows]} for name, column in drawn.items()
    }


def _of_agents(asked: Question, columns: Sequence[Measure]) -> dict[str, Any]:
    rows = report.page(asked, MOST_ROWS + 1, 0)
    if len(rows) > MOST_ROWS:
        return {"reason": _("No chart of more than %s rows: choose longer periods, or fewer agents.") % MOST_ROWS}
    by_period: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_period[row.period].append(row)
    labels = sorted(by_period)
    sums = {label: total_of(by_period[label]) for label in labels}
    total = total_of([*sums.values()]) if sums else None
    return {
        "total": [column.shown(total) for column in columns] if total else [],
        "labels": labels,
        "calls": {
            "label": _("Calls, in and out"),
            "data": [sums[label].offered + sums[label].calls for label in labels],
        },
        "talk": {
            "label": _("Talk time in hours"),
            "data": [round(sums[label].talk_in_and_out / 3600, 2) for label in labels],
        },
        "occupancy": {
            "label": _("Occupancy in per cent"),
            # A wrap-up belongs to no queue.
            "data": [sums[label].occupancy for label in labels],
        },
    }


PER_PAGE = 100
LAST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    url: str
    is_right: bool
    title: Any


class ReportPage(ReadOnlyAdmin):
    """Views of ExportAdmin: a user who may see exports, and what the report is about, may see the report."""

    def report_view(self, request: HttpRequest, kind: str = ReportKind.AGENTS) -> HttpResponse:
        described, params = self._open(request, kind), request.GET
        form = form_of(described, params, scope_of(request))
        context: dict[str, Any] = {}
        if "date_from" in params or "date_to" in params:
            try:
                question, columns, terms = read_table(described, params, scope_of(request))
            except Invalid as invalid:
                form.show(invalid)
            else:
                if request.method == "POST":
                    return self._ask(request, question, terms)
                context = replica.read(
                    lambda as_of: self._answer(request, described, question.at(as_of), columns) | {"at": as_of}
                )
        return self._report_page(request, described, form, context)

    def chart_view(self, request: HttpRequest, kind: str = ReportKind.AGENTS) -> HttpResponse:
        """Return the chart as JSON; the page asks for it once it is loaded."""
        described = self._open(request, kind)
        try:
            question, columns, _terms = read_table(described, request.GET, scope_of(request))
        except Invalid as invalid:
            return JsonResponse({"reason": " ".join(invalid.messages)}, status=400)
        figures = columns[len(described.fixed) :]
        return JsonResponse(replica.read(lambda as_of: chart_of(described, question.at(as_of), figures)))

    def _open(self, request: HttpRequest, kind: str) -> Report:
        if not (self.has_view_permission(request) and REPORTS[kind].is_open_to(request.user)):
            raise PermissionDenied
        return REPORTS[kind]

    def page_of(self, kind: str) -> str:
        return self.url_of("report" if kind == ReportKind.AGENTS else kind)

    def _ask(self, request: HttpRequest, question: Question, terms: dict[str, Any]) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = request.POST.get("format")
        try:
            export = ask_export(
                actor_of(request),
                question.begin,
                question.end,
                scope_of(request),
                format=form if form in Export.Format.values else Export.Format.CSV,
                language=translation.get_language() or "en",
                **terms,
            )
        except ValidationError as error:
            self.say_refused(request, error)
            return redirect(request.get_full_path())
        return redirect(f"{self.url_of('change', export.pk)}#fetch")

    def _answer(
        self, request: HttpRequest, described: Report, question: Question, columns: Sequence[Measure]
    ) -> dict[str, Any]:
        asked = integer_of(request.GET.get("p")) or 1
        number = asked if asked < 100_000 else 1
        # One more tells whether there is a next page.
        lines, total = described.answer(question, PER_PAGE + 1, (number - 1) * PER_PAGE)
        shown, figures = lines[:PER_PAGE], columns[len(described.fixed) :]
        links = (
            SubjectLinks(request.user, described, question, shown)
            if described.subjects
            else Links(request, question, figures, shown)
        )
        return {
            "question": question,
            "columns": figures,
            "groups": [(group, len([*some])) for group, some in groupby(figures, lambda column: column.group)],
            "rows": [(line, _cells(figures, line, links)) for line in shown],
            "section": _section(described, question, links) if shown else None,
            "total": _cells(figures, total, links) if total and shown else None,
            # The total of agents comes with the chart, which reads all rows.
            "total_follows": described.subjects is None and bool(shown),
            "first": (number - 1) * PER_PAGE + 1,
            "last": (number - 1) * PER_PAGE + len(shown),
            "previous_url": _with(request.GET, p=number - 1) if number > 1 and shown else "",
            # For a page after the last one.
            "first_url": _with(request.GET, p=None) if number > 1 and not shown else "",
            "next_url": _with(request.GET, p=number + 1) if len(lines) > PER_PAGE else "",
            "chart_url": f"{self.page_of(described.kind)}chart/{_with(request.GET)}",
            "is_narrowed": question.queues is not None,
        }

    def _report_page(
        self, request: HttpRequest, described: Report, form: TableForm, context: dict[str, Any]
    ) -> HttpResponse:
        mine = cast("FileJobQuerySet", self.get_queryset(request)).of_user(request.user).filter(report=described.kind)
        may_schedule = request.user.has_perm("reports.add_schedule")
        page = self.page(
            request,
            "admin/reports/report.html",
            title=str(described.kind.label),
            described=described,
            media=self.media + form.media,
            form=form,
            ranges=[
                (label, first, last, _with(request.GET, date_from=first, date_to=last, p=None))
                for label, first, last in ranges()
            ],
            may_export=self.has_add_permission(request),
            exports=mine[:LAST_SHOWN],
            list_url=self.url_of("changelist"),
            schedule_url=f"{reverse('admin:reports_schedule_add')}?report={described.kind}" if may_schedule else "",
            **context,
        )
        # A POST reaches this point only with a faulty question.
        page.status_code = 400 if request.method == "POST" else 200
        return page


def _section(described: Report, question: Question, links: Links | SubjectLinks) -> dict[str, Any] | None:
    """Return the further table of the report, with links to the rows of its figures."""
    if described.section is None or not isinstance(links, SubjectLinks):
        return None
    section = described.section(question)
    linked = [
        (line, [(entry.number, links.leading_to(entry.counted)) for entry in line.entries]) for line in section.lines
    ]
    total = [(entry.number, links.leading_to(entry.counted)) for entry in section.total]
    return {"about": section, "lines": linked, "total": total} if linked else None


def _cells(columns: Sequence[Measure], line: Any, links: Links | SubjectLinks) -> list[Cell]:
    return [
        Cell(column.shown(line), links.of(column, line), column.unit is not Unit.MOMENT, column.title)
        for column in columns
    ]


def _with(params: QueryDict, **changes: Any) -> str:
    """Return the query with these parameters replaced; None removes one."""
    query = params.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value is not None:
            query[name] = str(value)
    return f"?{query.urlencode()}"
