"""The page behind a figure that no one list holds: what it is made of, and the rows of each part."""

from dataclasses import replace
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from callcentre.core.errors import Invalid
from reports.admin.links import MOST_STRETCHES, Links, parts_of, stretches_of
from reports.measures import NAMES, PARTS, Measure, ReportRow, Unit, columns_of
from reports.parameters import read_table
from reports.tables import Table

# Of an agent, from the first stretch of a period to its last: hours of a day, or minutes of an hour that comes twice.
_MOST_LINES = 200


class PartsPage:
    """A view of ExportAdmin."""

    def parts_view(self, request: HttpRequest) -> HttpResponse:
        """Asked the page's question, of one agent; `period` and `figure` say of which cell."""
        if not self.has_view_permission(request):  # type: ignore[attr-defined]
            raise PermissionDenied
        by_name = {column.name: column for column in [*columns_of(NAMES), *PARTS]}
        figure = by_name.get(request.GET.get("figure", ""))
        if figure is None or not (names := parts_of(figure.name)):
            raise Http404
        try:
            table, _terms = read_table(request.GET)
        except Invalid:
            # The agent has another login by now: the report's page says so.
            return redirect(f"{self.url_of('report')}?{request.GET.urlencode()}")  # type: ignore[attr-defined]
        table = replace(table, columns=[figure])
        if (line := _line_of(table, request.GET.get("period", ""))) is None:
            raise Http404
        parts = [by_name[name] for name in names]
        links = Links(request, replace(table, columns=parts), [line])
        return TemplateResponse(
            request,
            "admin/reports/parts.html",
            {
                **self.admin_site.each_context(request),  # type: ignore[attr-defined]
                "title": figure.title,
                "subtitle": f"{line.agent['login']}, {line.period}",
                "media": self.media,  # type: ignore[attr-defined]
                "figure": _shown(figure, line),
                "line": line,
                "parts": [(column.title, _shown(column, line), links.of(column, line)) for column in parts],
                "list_url": self.url_of("changelist"),  # type: ignore[attr-defined]
                "report_url": self.url_of("report"),  # type: ignore[attr-defined]
            },
        )


def _line_of(table: Table, period: str) -> ReportRow | None:
    """The line of the only agent in this period of the question, if it has one that leads anywhere."""
    stretches = stretches_of(table.question, {period}).get(period)
    if not stretches or len(stretches) > MOST_STRETCHES or len(table.question.agents) != 1:
        return None
    asked = replace(table.question, begin=stretches[0][0], end=stretches[-1][1])
    lines = replace(table, question=asked).page(_MOST_LINES, 0)
    return next((line for line in lines if line.period == period), None)


def _shown(column: Measure, line: ReportRow) -> Any:
    text = column.text(line)
    return f"{text} %" if column.unit is Unit.PERCENT and text else text or "–"
