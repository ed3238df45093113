"""Scheduled reports: their content, recipients and times, and the state of the last exports."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelect2MultipleWidget

from callcentre.admin import Admin, EditConflictForm, HistoryMixin, ListField, actor_of, display
from callcentre.admin.history import SHOWN, Entry, entry_of, in_words
from callcentre.admin.jobs import COLOURS
from callcentre.admin.scope import scope_of
from callcentre.admin.theme import ModelForm
from callcentre.core.errors import ErrorCode
from callcentre.core.scope import ALL, Scope
from reports.admin.forms import KINDS, Kind
from reports.catalogue import REPORTS, of_open_reports
from reports.description import Report
from reports.models import Export, ExportMail, Schedule
from reports.models.export import ReportKind
from reports.parameters import USUAL_AGGREGATION
from reports.verbs.exports import create_schedule, edit_schedule

# Exports on the page of a schedule.
EXPORTS_SHOWN = 20


class _Ids(forms.TypedMultipleChoiceField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(coerce=int, required=False, widget=UnfoldAdminSelect2MultipleWidget(), **kwargs)


# Sentences without names of values.
SENTENCES = {
    ErrorCode.EMPTY: _("This field is required."),
    ErrorCode.NOT_ONE_LINE: _("One line, without control characters."),
    ErrorCode.TOO_MANY: _("No more than %(limit)s."),
}


class ScheduleForm(EditConflictForm, ModelForm):
    # The scope of the person at the page, whose rows can be chosen.
    scope: Scope = ALL
    agent_ids = _Ids(label=_("Agents"), help_text=_("None and no group: all of them."))
    agent_group_ids = _Ids(label=_("Agent groups"))
    queue_ids = _Ids(label=_("Queues"), help_text=_("Of calls, chats and tickets; logins and pauses stay whole."))
    campaign_ids = _Ids(label=_("Campaigns"), help_text=_("None: all of them."))
    columns = forms.MultipleChoiceField(label=_("Columns"), widget=UnfoldAdminSelect2MultipleWidget())
    recipients = ListField(
        label=_("Recipients"), help_text=_("E-mail addresses, one a line. Each recipient gets a separate mail.")
    )

    class Meta:
        model = Schedule
        fields = (
            *("report", "name", "is_active", "repeats", "hour", "span", "aggregation"),
            *("agent_ids", "agent_group_ids", "queue_ids", "campaign_ids", "threshold", "answered_within"),
            *("columns", "format", "language", "recipients"),
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        if "columns" not in fields:  # the user may only view
            return
        described = REPORTS[self._report()]
        for name, kind in KINDS.items():
            # A chosen row that is gone stays chosen until a user removes it: an empty list would mean all.
            fields[name].choices = kind.choices(self.scope, getattr(self.instance, name))
        if described.subjects:
            named = fields[described.subjects.field]
            chosen = getattr(self.instance, described.subjects.field)
            kind = Kind((described.subjects.model,), KINDS[described.subjects.field].gone)
            named.choices = kind.choices(self.scope, chosen)
            named.help_text = _("None: all of them.")
        fields["columns"].choices = _columns(described)
        if "report" in fields:
            fields["report"].widget = forms.HiddenInput()
        if self.instance.pk is None:
            fields["columns"].initial = described.usual
            fields["aggregation"].initial = USUAL_AGGREGATION.value
            fields["language"].initial = (get_language() or "en")[:2]

    def _report(self) -> str:
        """Return the report of the schedule. The address or the form names that of a new one."""
        if self.instance.pk is not None:
            return str(self.instance.report)
        return report_named(self.data.get("report") or self.initial.get("report"))

    def clean(self) -> Any:
        """Add the faults of the verb, so that the form shows all faults at once."""
        cleaned = super().clean()
        for fault in Schedule.faults_of(self.cleaned_data):
            self.add_error(fault.field, fault.in_words(SENTENCES))
        return cleaned


def report_named(name: Any) -> str:
    """Return the report of this name, or that of agents."""
    return str(name) if name in REPORTS else ReportKind.AGENTS


def _report_asked(request: HttpRequest) -> str:
    """Return the report of the form, or the one that the address of a new schedule names."""
    return report_named(request.POST.get("report") or request.GET.get("report"))


def _columns(described: Report) -> Sequence[Any]:
    return [
        (str(group), [(name, f"{group}: {label}") for name, label in entries]) for group, entries in described.choices()
    ]


# The fields of the question that a schedule of the agents work report has; the other reports have some of them.
_QUESTION = (("agent_ids", "agent_group_ids"), "queue_ids", ("threshold", "answered_within"))


def _question_of(described: Report) -> Sequence[Any]:
    if described.subjects is None:
        return _QUESTION
    return (described.subjects.field, *(("answered_within",) if described.has_within else ()))


def _names_in(field: str, title: Any) -> Any:
    """Return the column that names the rows whose ids a field has."""
    return display(description=title)(lambda _admin, schedule: KINDS[field].names(getattr(schedule, field)))


@admin.register(Schedule)
class ScheduleAdmin(HistoryMixin, Admin):
    """The list of scheduled reports, with the state of the last mail of each."""

    form = ScheduleForm
    list_display = ("name", "report", "repeats", "hour", "span", "is_active", "next_due_at", "last")
    list_filter = ("is_active", "report", "repeats")
    search_fields = ("name",)
    change_form_outer_before_template = "admin/reports/schedule_exports.html"
    sentences = SENTENCES

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        asked = REPORTS[_report_asked(request)]
        is_open = self._may_see_figures(request) and asked.is_open_to(request.user)
        return super().has_add_permission(request) and is_open

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and self._may_see_figures(request)

    def _may_see_figures(self, request: HttpRequest) -> bool:
        """Require the right to view exports: a schedule mails the figures to any address."""
        return request.user.has_perm("reports.view_export")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        form.scope = scope_of(request)
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields of the report. A user who may only view sees names in place of ids."""
        described = REPORTS[obj.report if obj else _report_asked(request)]
        what = ("aggregation", *_question_of(described), "columns")
        fieldsets = [
            (None, {"fields": (*(() if obj else ("report",)), "name", "is_active")}),
            (_("When"), {"fields": (("repeats", "hour"), "span")}),
            (_("What: %(report)s") % {"report": described.kind.label}, {"fields": what}),
            (_("To whom"), {"fields": ("recipients", ("format", "language"))}),
        ]
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets
        named = {"agent_ids": "agents", "agent_group_ids": "groups", "queue_ids": "queues", "campaign_ids": "campaigns"}

        def shown(field: Any) -> Any:
            return tuple(map(shown, field)) if isinstance(field, tuple) else named.get(field, field)

        return [(title, {"fields": shown(options["fields"])}) for title, options in fieldsets]

    agents = _names_in("agent_ids", _("agents"))
    groups = _names_in("agent_group_ids", _("agent groups"))
    queues = _names_in("queue_ids", _("queues"))
    campaigns = _names_in("campaign_ids", _("campaigns"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Schedule]:
        newest = Export.objects.order_by("schedule_id", "-id").distinct("schedule_id").exclude(schedule=None)
        exports = Prefetch("exports", newest.prefetch_related("mails"), to_attr="last_exports")
        return of_open_reports(super().get_queryset(request), request.user).prefetch_related(exports)

    @display(description=_("last one"), label={**COLOURS, ExportMail.State.WRITTEN: "warning", "": "info"})
    def last(self, schedule: Schedule) -> tuple[str, str]:
        exports: list[Export] = schedule.last_exports  # type: ignore[attr-defined]
        return condition_of(exports[0]) if exports else ("", "–")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        actor = actor_of(request)
        if change:
            edit_schedule(
                Schedule.objects.get(pk=obj.pk), actor, **{name: form.cleaned_data[name] for name in form.changed_data}
            )
        else:
            obj.__dict__.update(create_schedule(actor, **form.cleaned_data).__dict__)

    def history_of(self, obj: Any) -> list[Entry]:
        changes = list(obj.changes.all()[:SHOWN])
        names: dict[str, dict[Any, Any]] = {
            field: kind.by_id({pk for change in changes for ids in change.changes.get(field, ()) for pk in ids or ()})
            for field, kind in KINDS.items()
        }

        names["columns"] = {name: title for _group, columns in _columns(REPORTS[obj.report]) for name, title in columns}

        def said(field: Any, value: Any) -> Any:
            if known := names.get(field.name):
                return in_words([known.get(one, one) for one in value or ()])
            return in_words(dict(field.flatchoices).get(value, value) if field.choices else value)

        def told(name: str, old: Any, new: Any) -> tuple[Any, Any, Any]:
            field: Any = Schedule._meta.get_field(name)
            return field.verbose_name, said(field, old), said(field, new)

        return [entry_of(change, [told(name, *both) for name, both in change.changes.items()]) for change in changes]

    def page_context(self, request: HttpRequest, obj: Any | None) -> dict[str, Any]:
        context = super().page_context(request, obj)
        if obj is not None:
            exports = list(obj.exports.prefetch_related("mails")[:EXPORTS_SHOWN])
            context["exports"] = [(export, condition_of(export)) for export in exports]
        return context


def condition_of(export: Export) -> tuple[str, str]:
    """Return the state of a scheduled export with its mails, and its label."""
    state, label = export.state, str(export.get_state_display())
    mails = list(export.mails.all())
    if state != Export.State.FINISHED or not mails:
        return state, label
    for mail_state, colour in (
        (ExportMail.State.FAILED, Export.State.FAILED),
        (ExportMail.State.QUEUED, Export.State.QUEUED),
        (ExportMail.State.WRITTEN, ExportMail.State.WRITTEN),
    ):
        if count := sum(1 for mail in mails if mail.state == mail_state):
            return colour, f"{_MAILS[mail_state]} {count}/{len(mails)}"
    return Export.State.FINISHED, f"{_MAILS[ExportMail.State.SENT]} {len(mails)}/{len(mails)}"


_MAILS = {
    ExportMail.State.FAILED: _("mail failed"),
    ExportMail.State.QUEUED: _("mail waits"),
    ExportMail.State.WRITTEN: _("written to files"),
    ExportMail.State.SENT: _("mailed"),
}
