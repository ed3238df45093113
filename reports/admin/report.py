"""The page of the agents work report: a question, a page of its answer, a chart, and the way to a file of all of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone, translation
from django.utils.translation import gettext as _now

from callcentre.admin import ReadOnlyAdmin, actor_of
from callcentre.admin.scope import scope_of
from callcentre.core.errors import Invalid
from callcentre.core.exporting.formats import Unit
from callcentre.core.integers import integer_of
from reports import report
from reports.admin.chart import chart_of
from reports.admin.forms import ReportForm, ranges, values_of
from reports.admin.links import Links
from reports.figures import Row
from reports.measures import Measure
from reports.models import Export
from reports.parameters import read_table
from reports.report import Question
from reports.verbs.exports import ask_export

PER_PAGE = 100
LAST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    url: str
    is_right: bool
    title: Any


class ReportPage(ReadOnlyAdmin):
    """Views of ExportAdmin: a user who may see exports may see the report."""

    def report_view(self, request: HttpRequest) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        params = request.GET
        form = ReportForm(values_of(params), scope=scope_of(request))
        context: dict[str, Any] = {}
        if "date_from" in params or "date_to" in params:
            try:
                question, columns, terms = read_table(params, scope_of(request))
            except Invalid as invalid:
                form.show(invalid)
            else:
                if request.method == "POST":
                    return self._ask(request, question, terms)
                context = self._answer(request, question, columns)
        return self._report_page(request, form, context)

    def chart_view(self, request: HttpRequest) -> HttpResponse:
        """Return the chart as JSON; the page asks for it once it is loaded."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            question, _columns, _terms = read_table(request.GET, scope_of(request))
        except Invalid as invalid:
            return JsonResponse({"reason": " ".join(invalid.messages)}, status=400)
        return JsonResponse(chart_of(question))

    def _ask(self, request: HttpRequest, question: Question, terms: dict[str, Any]) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = request.POST.get("format")
        export = ask_export(
            actor_of(request),
            question.begin,
            question.end,
            scope_of(request),
            format=form if form in Export.Format.values else Export.Format.CSV,
            language=translation.get_language() or "en",
            **terms,
        )
        return redirect(self.url_of("change", export.pk))

    def _answer(self, request: HttpRequest, question: Question, columns: Sequence[Measure]) -> dict[str, Any]:
        asked = integer_of(request.GET.get("p")) or 1
        number = asked if asked < 100_000 else 1
        # One more tells whether there is a next page.
        lines = report.page(question, PER_PAGE + 1, (number - 1) * PER_PAGE)
        shown = lines[:PER_PAGE]
        links = Links(request, question, columns, shown)
        return {
            "question": question,
            "columns": columns[4:],
            "rows": [(line, _cells(columns[4:], line, links)) for line in shown],
            "first": (number - 1) * PER_PAGE + 1,
            "last": (number - 1) * PER_PAGE + len(shown),
            "previous_url": _with(request.GET, p=number - 1) if number > 1 and shown else "",
            # For a page after the last one.
            "first_url": _with(request.GET, p=None) if number > 1 and not shown else "",
            "next_url": _with(request.GET, p=number + 1) if len(lines) > PER_PAGE else "",
            "chart_url": f"{self.url_of('chart')}{_with(request.GET)}",
            "is_narrowed": question.queues is not None,
        }

    def _report_page(self, request: HttpRequest, form: ReportForm, context: dict[str, Any]) -> HttpResponse:
        mine = self.get_queryset(request).filter(actor_kind="user", actor_id=request.user.pk)
        return TemplateResponse(
            request,
            "admin/reports/report.html",
            {
                **self.admin_site.each_context(request),
                "title": _now("Agents work report"),
                "media": self.media + form.media,
                "form": form,
                "ranges": [
                    (label, first, last, _with(request.GET, date_from=first, date_to=last, p=None))
                    for label, first, last in ranges()
                ],
                "at": timezone.now(),
                "may_export": self.has_add_permission(request),
                "exports": mine[:LAST_SHOWN],
                "list_url": self.url_of("changelist"),
                **context,
            },
            # A POST reaches this point only with a faulty question.
            status=400 if request.method == "POST" else 200,
        )


def _cells(columns: Sequence[Measure], line: Row, links: Links) -> list[Cell]:
    cells = []
    for column in columns:
        text = column.text(line)
        if column.unit is Unit.PERCENT and text:
            text = f"{text} %"
        cells.append(Cell(text or "–", links.of(column, line), column.unit is not Unit.MOMENT, column.title))
    return cells


def _with(params: QueryDict, **changes: Any) -> str:
    """Return the query with these parameters replaced; None removes one."""
    query = params.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value is not None:
            query[name] = str(value)
    return f"?{query.urlencode()}"
