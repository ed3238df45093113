"""The page of a figure that no single list holds: its parts, and links to the rows of each part."""

from dataclasses import replace

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from callcentre.admin import ReadOnlyAdmin
from callcentre.admin.scope import scope_of
from callcentre.core.errors import Invalid
from reports import report
from reports.admin.links import Links
from reports.catalogue import AGENTS
from reports.figures import Row
from reports.measures import NAMES, PARTS, columns_of
from reports.parameters import read_table
from reports.report import Question
from reports.stretches import MOST_STRETCHES, stretches_of

# The most rows of an agent from the first stretch of a period to its last: hours of a day, minutes of a double hour.
_MOST_ROWS = 200


class PartsPage(ReadOnlyAdmin):
    """A view of ExportAdmin."""

    def parts_view(self, request: HttpRequest) -> HttpResponse:
        """Show the parts of one cell: the parameters are the page's with one agent, `period` and `figure`."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        by_name = {column.name: column for column in [*columns_of(NAMES), *PARTS]}
        figure = by_name.get(request.GET.get("figure", ""))
        if figure is None or not (names := figure.parts):
            raise Http404
        try:
            question, _columns, _terms = read_table(AGENTS, request.GET, scope_of(request))
        except Invalid:
            # The agent may have another login by now: the report's page explains it.
            return redirect(f"{self.url_of('report')}?{request.GET.urlencode()}")
        if (line := _line_of(question, request.GET.get("period", ""))) is None:
            raise Http404
        parts = [by_name[name] for name in names]
        links = Links(request, question, parts, [line])
        return TemplateResponse(
            request,
            "admin/reports/parts.html",
            {
                **self.admin_site.each_context(request),
                "title": figure.title,
                "subtitle": f"{line.agent['login']}, {line.period}",
                "media": self.media,
                "figure": figure.shown(line),
                "line": line,
                "parts": [(column.title, column.shown(line), links.of(column, line)) for column in parts],
                "list_url": self.url_of("changelist"),
                "report_url": self.url_of("report"),
            },
        )


def _line_of(question: Question, period: str) -> Row | None:
    """Return the row of the only agent in this period, if it is short enough for links."""
    stretches = stretches_of(question, {period}).get(period)
    if not stretches or len(stretches) > MOST_STRETCHES or len(question.subjects) != 1:
        return None
    asked = replace(question, begin=stretches[0][0], end=stretches[-1][1])
    return next((line for line in report.page(asked, _MOST_ROWS, 0) if line.period == period), None)
