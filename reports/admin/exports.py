"""Exports of the report: their list, progress and download, and what they are broken down by."""

from dataclasses import replace
from functools import partial
from typing import Any, cast

from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter

from callcentre.admin import actor_of, column, needs
from callcentre.admin.jobs import FileJobAdmin
from callcentre.admin.scope import scope_of
from callcentre.core.errors import Invalid
from callcentre.core.exporting.jobs import FileJobQuerySet
from reports import report
from reports.admin.forms import AGENTS, GROUPS, KINDS, QUEUES
from reports.admin.links import Links
from reports.admin.report import ReportPage
from reports.catalogue import REPORTS, of_open_reports
from reports.description import Report
from reports.figures import Row
from reports.measures import NAMES, PARTS, columns_of
from reports.models import Export
from reports.models.export import ReportKind
from reports.parameters import read_table
from reports.report import Question
from reports.stretches import MOST_STRETCHES, stretches_of
from reports.verbs.exports import repeat_export, resend_mail

# The most rows of an agent from the first stretch of a period to its last: hours of a day, minutes of a double hour.
_MOST_ROWS = 200


def _line_of(question: Question, period: str) -> Row | None:
    """Return the row of the only agent in this period, if it is short enough for links."""
    stretches = stretches_of(question, {period}).get(period)
    if not stretches or len(stretches) > MOST_STRETCHES or len(question.subjects) != 1:
        return None
    asked = replace(question, begin=stretches[0][0], end=stretches[-1][1])
    return next((line for line in report.page(asked, _MOST_ROWS, 0) if line.period == period), None)


# The reports beside that of agents.
OTHERS = [kind for kind in REPORTS if kind != ReportKind.AGENTS]


class MineFilter(DropdownFilter):
    title = _("who asked")
    parameter_name = "asked"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("me", _("I")), ("schedules", _("schedules"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Export]) -> QuerySet[Export]:
        match self.value():
            case "me":
                return cast("FileJobQuerySet", queryset).of_user(request.user)
            case "schedules":
                return queryset.filter(actor_kind="system")
        return queryset


@admin.register(Export)
class ExportAdmin(ReportPage, FileJobAdmin):
    """The list of exports: which tables were asked for, and their files."""

    template = "admin/reports/export.html"
    list_display = ("name", "state_label", "row_count", "format", "actor_name", "created_at", "finished_at")
    list_display_links = ("name",)
    list_filter = (MineFilter, ("state", ChoicesDropdownFilter), ("format", ChoicesDropdownFilter))
    search_fields = ("actor_name",)
    search_help_text = _("Who asked")

    has_add_permission = needs("reports.add_export")

    name = column(lambda export: export.file_name, description=_("report"))

    class Media:
        css = {"all": ["callcentre/progress.css", "reports/report.css"]}
        js = ["reports/report.js", "callcentre/progress.js"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Export]:
        return of_open_reports(super().get_queryset(request), request.user)

    def get_urls(self) -> list[URLPattern]:
        others = [(kind, partial(self.report_view, kind=kind), partial(self.chart_view, kind=kind)) for kind in OTHERS]
        return [
            self.url_to("work-report/", self.report_view, "report"),
            self.url_to("work-report/chart/", self.chart_view, "chart"),
            *(self.url_to(f"{kind}-report/", page, kind) for kind, page, _chart in others),
            *(self.url_to(f"{kind}-report/chart/", chart, f"{kind}_chart") for kind, _page, chart in others),
            self.url_to("work-report/parts/", self.parts_view, "parts"),
            self.url_to("add/", self.add_redirect, "add"),
            self.url_to("<int:pk>/again/", self.again_view, "again"),
            self.url_to("<int:pk>/mails/<int:mail_pk>/resend/", self.resend_view, "resend"),
            *super().get_urls(),
        ]

    def add_redirect(self, request: HttpRequest) -> HttpResponse:
        """Lead to the page of the report: it shows a table before it is exported."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return redirect(self.url_of("report"))

    def parts_view(self, request: HttpRequest) -> HttpResponse:
        """Show the parts of one cell: the parameters are the page's with one agent, `period` and `figure`."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        by_name = {column.name: column for column in [*columns_of(NAMES), *PARTS]}
        figure = by_name.get(request.GET.get("figure", ""))
        if figure is None or not (names := figure.parts):
            raise Http404
        try:
            question, _columns, _terms = read_table(REPORTS[ReportKind.AGENTS], request.GET, scope_of(request))
        except Invalid:
            # The agent may have another login by now: the report's page explains it.
            return redirect(f"{self.url_of('report')}?{request.GET.urlencode()}")
        if (line := _line_of(question, request.GET.get("period", ""))) is None:
            raise Http404
        parts = [by_name[name] for name in names]
        links = Links(request, question, parts, [line])
        return self.page(
            request,
            "admin/reports/parts.html",
            title=figure.title,
            subtitle=f"{line.agent['login']}, {line.period}",
            figure=figure.shown(line),
            line=line,
            parts=[(column.title, column.shown(line), links.of(column, line)) for column in parts],
            list_url=self.url_of("changelist"),
            report_url=self.url_of("report"),
        )

    def page_context(self, request: HttpRequest, obj: Export) -> dict[str, Any]:
        return {
            "title": _now("Export of the report"),
            "subtitle": obj.file_name,
            "export": obj,
            "asked": _asked(obj),
            "mails": obj.mails.all(),
            "may_export": self.has_add_permission(request),
            "report_url": self.page_of(obj.report),
        }

    def again_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for the same table again, as of now."""
        export: Export = self.job_or_404(request, pk)
        if not self.has_add_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            return redirect(self.url_of("change", pk))
        try:
            pk = repeat_export(export, actor_of(request)).pk
        except ValidationError as error:
            self.say_refused(request, error)
            return redirect(self.url_of("change", pk))
        return redirect(f"{self.url_of('change', pk)}#fetch")

    def resend_view(self, request: HttpRequest, pk: int, mail_pk: int) -> HttpResponse:
        export: Export = self.job_or_404(request, pk)
        if not self.has_add_permission(request):
            raise PermissionDenied
        mail = export.mails.filter(pk=mail_pk).first()
        if mail is None:
            raise Http404
        return self.do_if_sent(request, pk, lambda: resend_mail(mail, actor_of(request)))


def _asked(export: Export) -> list[tuple[Any, str]]:
    """Return what was asked as pairs of a label and its words."""
    described = REPORTS[export.report]
    said = [
        (_("Report"), str(export.get_report_display())),
        *(_subjects(export) if described.subjects is None else [_subjects_of(described, export)]),
        (_("Period of a row"), str(export.get_aggregation_display())),
    ]
    if described.subjects is None:
        said.append((_("Threshold of outbound calls in s"), str(export.threshold)))
    if described.has_within and {"service_level", "answered_in_threshold"} & set(export.columns):
        said.append((_("Service level: answered within s"), str(export.answered_within)))
    columns = described.columns_of(export.columns)[len(described.fixed) :]
    return [*said, (_("Columns"), ", ".join(column.title for column in columns))]


def _subjects(export: Export) -> list[tuple[Any, str]]:
    who = [AGENTS.names(export.agent_ids), GROUPS.names(export.agent_group_ids)]
    return [
        (_("Agents"), ", ".join(filter(None, who)) or pgettext("agents", "all")),
        (_("Queues"), QUEUES.names(export.queue_ids) or _now("all")),
    ]


def _subjects_of(described: Report, export: Export) -> tuple[Any, str]:
    assert described.subjects
    field = described.subjects.field
    return described.subject_title, KINDS[field].names(getattr(export, field)) or _now("all")
