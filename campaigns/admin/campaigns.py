from collections.abc import Iterable
from functools import partial
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, QuerySet
from django.forms.models import construct_instance
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter
from unfold.widgets import UnfoldAdminTextInputWidget

from callcentre.admin import Admin, actor_of, column, confirm_first, display, needs, page_action
from callcentre.admin.base import REFUSALS
from callcentre.admin.scope import RelatedDropdownFilter
from callcentre.admin.theme import ModelForm
from callcentre.core.audit import AuditAction, record
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.integers import integer_of
from campaigns.admin.dialling import DiallingPages
from campaigns.admin.drop_message import DropMessagePage
from campaigns.admin.inlines import FieldInline, HoursInline, RetryRuleInline, StatusInline
from campaigns.exporting import export_rows
from campaigns.models import Campaign, CampaignField
from campaigns.models.campaign import faults_of_caller_id
from campaigns.progress import snapshot
from campaigns.scripts import PHONE_NUMBER
from campaigns.verbs.campaigns import (
    add_agents,
    clone_campaign,
    create_campaign,
    edit_campaign,
    remove_agents,
    remove_campaign,
)
from telephony.models import Agent

SETTINGS = ("name", "dialer", "is_crm", "is_active", "start_date", "end_date", "order", "parity", "group")
SETTINGS_OF_NEW = ("code", "name", "dialer", "is_crm", "group")
PARAMETERS = ("caller_id", "preview_timeout", "predictive_min_calls", "predictive_max_calls")
WORK = ("wrap_up_seconds", "preview_end", "detects_machines")
RULES = ("number_turn", "zone_field", "holiday_country", "ignores_hours")

# The verb's name of a field -> the form's.
FAULT_FIELDS = {
    "parameters.caller_id": "caller_id",
    "parameters.predictive_min_calls": "predictive_min_calls",
    "group_id": "group",
}
SENTENCES = {ErrorCode.RATIOS_CROSSED: _("The lowest ratio cannot be above the highest.")}


class CampaignForm(ModelForm):
    class Meta:
        model = Campaign
        fields = ("code", *SETTINGS, *PARAMETERS, *WORK, *RULES, "agents", "script")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if zone_field := self.fields.get("zone_field"):
            cast("forms.ModelChoiceField[Any]", zone_field).queryset = self.instance.fields.all()
        if (script := self.fields.get("script")) and self.instance.pk:
            names = [*self.instance.fields.values_list("name", flat=True), PHONE_NUMBER]
            script.help_text = render_to_string("admin/campaigns/script_fields.html", {"names": names})

    class Media:
        js = ("campaigns/script_fields.js",)

    def _post_clean(self) -> None:
        """Check each field, then the rules of several fields, so that the page shows all faults at once."""
        self.instance = construct_instance(self, self.instance, self._meta.fields)
        try:
            self.instance.clean_fields(exclude=self._get_validation_exclusions())  # type: ignore[attr-defined]
        except ValidationError as error:
            self._update_errors(error)  # type: ignore[attr-defined]
        unread = [Fault(ErrorCode.EMPTY, name) for name in self.errors]
        faults = self.instance.faults(unread)
        if "caller_id" in self.changed_data:
            faults += faults_of_caller_id(self.instance.caller_id)
        for fault in faults:
            name = FAULT_FIELDS.get(fault.field, fault.field)
            if name in self.fields and name not in self.errors:
                self.add_error(name, SENTENCES.get(fault.code, fault.message))


class CloneForm(forms.Form):
    code = forms.CharField(
        label=_("Id"),
        required=False,
        max_length=5,
        widget=UnfoldAdminTextInputWidget(),
        help_text=_("5 letters or digits; the lowest free number if left empty."),
    )
    name = forms.CharField(label=_("Name"), max_length=200, widget=UnfoldAdminTextInputWidget())


class RunningFilter(DropdownFilter):
    title = _("when")
    parameter_name = "running"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return [
            ("now", _("running today")),
            ("future", _("active, not started")),
            ("over", _("active, but ended")),
            ("inactive", _("inactive")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Campaign]) -> QuerySet[Campaign]:
        today = timezone.localdate()
        match self.value():
            case "now":
                return queryset.filter(pk__in=Campaign.objects.diallable_on(today).values("pk"))
            case "future":
                return queryset.filter(is_active=True, start_date__gt=today)
            case "over":
                return queryset.filter(is_active=True, end_date__lt=today)
            case "inactive":
                return queryset.filter(is_active=False)
        return queryset


def has_records(campaign: Campaign) -> bool:
    return campaign.records.exists()


@admin.register(Campaign)
class CampaignAdmin(DiallingPages, DropMessagePage, Admin):
    """The list answers which campaigns run, and how far each is."""

    form = CampaignForm
    list_display = (
        "code",
        "name",
        "dialer",
        "is_active",
        "is_dialling",
        "dates",
        "group",
        "records_count",
        "progress",
        "agents_count",
    )
    list_display_links = ("code", "name")
    list_further = (
        *("start_date", "end_date", "order", "parity", "is_crm", "caller_id", "wrap_up_seconds", "preview_timeout"),
        *("predictive_min_calls", "predictive_max_calls", "detects_machines", "number_turn", "ignores_hours", "id"),
    )
    list_filter = (
        RunningFilter,
        ("dialer", ChoicesDropdownFilter),
        ("group", RelatedDropdownFilter),
        "is_crm",
    )
    list_select_related = ("group",)
    list_before_template = "admin/campaigns/as_of.html"
    search_fields = ("code", "name")
    search_help_text = _("Id or name")
    autocomplete_fields = ("agents",)
    actions = ("activate", "deactivate")
    actions_detail = (
        *("dialling", "show_records", "import_records"),
        {"title": _("More"), "items": ("drop_message", "clone", "download")},
    )
    actions_row = ("dialling", "show_records", "import_records", "clone", "download")
    fault_fields = FAULT_FIELDS
    sentences = SENTENCES
    # A new campaign needs no more. The rest has defaults, and follows on its page.
    add_fieldsets = ((None, {"fields": (*SETTINGS_OF_NEW, ("start_date", "end_date"), "caller_id", "agents")}),)
    fieldsets = (
        (None, {"fields": ("code_shown", "name", "dialer", ("is_active", "is_crm"), "group", "agents")}),
        (_("When"), {"fields": (("start_date", "end_date"), ("order", "parity"))}),
        (
            _("Dialler"),
            {
                "classes": ("tab",),
                "fields": (
                    "caller_id",
                    ("predictive_min_calls", "predictive_max_calls"),
                    ("preview_timeout", "preview_end"),
                    ("wrap_up_seconds", "detects_machines"),
                ),
            },
        ),
        (
            _("Numbers and hours"),
            {
                "classes": ("tab",),
                "fields": (("number_turn", "zone_field"), ("holiday_country", "ignores_hours")),
            },
        ),
        (_("Script"), {"classes": ("tab",), "fields": ("script",)}),
    )

    readonly_fields = ("code_shown",)
    has_view_records_permission = needs("campaigns.view_record")
    has_import_permission = needs("campaigns.add_recordimport")

    code_shown = column(lambda campaign: campaign.code, description=_("id"))
    agents_count = column(lambda campaign: campaign.agent_count, description=_("agents"), ordering="agent_count")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).annotate(agent_count=Count("agents"))

    def get_fieldsets(self, request: HttpRequest, obj: Campaign | None = None) -> Any:
        """Show few fields of a new campaign, and the id of an existing one read-only: it never changes."""
        return self.fieldsets if obj else self.add_fieldsets

    def get_inlines(self, request: HttpRequest, obj: Campaign | None = None) -> list[Any]:
        """Show none of a new campaign, whose statuses come from the dictionary, and no fields of a CRM campaign."""
        if obj is None:
            return []
        inlines = [StatusInline, HoursInline, RetryRuleInline]
        return inlines if obj.is_crm else [*inlines, FieldInline]

    # The list

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().changelist_view(request, {**(extra_context or {}), "counted_at": snapshot().at})

    @display(description=_("dates"), ordering="start_date")
    def dates(self, campaign: Campaign) -> str:
        days = [
            date_format(day, "SHORT_DATE_FORMAT") if day else "…" for day in (campaign.start_date, campaign.end_date)
        ]
        return format_html('<span class="cc-day">{}</span> – <span class="cc-day">{}</span>', *days)

    @display(description=_("records"))
    def records_count(self, campaign: Campaign) -> str:
        return number_format(snapshot().of(campaign.pk).total, force_grouping=True)

    @display(description=_("progress"))
    def progress(self, campaign: Campaign) -> str:
        return render_to_string("admin/campaigns/progress.html", {"progress": snapshot().of(campaign.pk)})

    @admin.action(description=_("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, campaigns: QuerySet[Campaign]) -> None:
        said = ngettext_lazy("%(count)s campaign activated.", "%(count)s campaigns activated.", "count")
        self.apply_and_say(request, campaigns.filter(is_active=False), partial(edit_campaign, is_active=True), said)

    @admin.action(description=_("Deactivate"), permissions=["change"])
    @confirm_first(_("No more records of the campaigns are called."), is_active=True)
    def deactivate(self, request: HttpRequest, campaigns: QuerySet[Campaign]) -> None:
        said = ngettext_lazy("%(count)s campaign deactivated.", "%(count)s campaigns deactivated.", "count")
        self.apply_and_say(request, campaigns.filter(is_active=True), partial(edit_campaign, is_active=False), said)

    # The page

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            values = {name: value for name, value in form.cleaned_data.items() if name != "agents"}
            obj.__dict__.update(create_campaign(actor_of(request), **values).__dict__)
            return
        # The script is stored with the fields that it may name.
        others = ("agents", "script")
        values = {name: form.cleaned_data[name] for name in form.changed_data if name not in others}
        if values:
            edit_campaign(obj, actor_of(request), **values)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """Lead to the page of the new campaign, which has the rest of its settings."""
        if "_addanother" not in request.POST:
            request.POST = request.POST.copy()  # type: ignore[assignment]
            request.POST["_continue"] = "1"  # type: ignore[misc]
        return super().response_add(request, obj, post_url_continue)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Add and remove agents by the verbs: only the difference, so that two simultaneous edits both count."""
        campaign: Campaign = form.instance
        if "agents" in form.changed_data:
            shown = request.POST.getlist(form.add_initial_prefix("agents"))
            before = set(Agent.objects.filter(pk__in=[pk for pk in map(integer_of, shown) if pk]))
            wanted = set(form.cleaned_data["agents"])
            add_agents(campaign, actor_of(request), [agent.login for agent in wanted - before])
            remove_agents(campaign, actor_of(request), [agent.login for agent in before - wanted])
        for formset in formsets:
            self.save_formset(request, form, formset, change=change)
        are_changed = any(formset.model is CampaignField and formset.has_changed() for formset in formsets)
        if "script" in form.changed_data or (are_changed and campaign.script):
            edit_campaign(campaign, actor_of(request), script=form.cleaned_data.get("script", campaign.script))

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Delete an empty campaign; for others show what would be lost, and offer to deactivate."""
        campaign = self.get_object(request, object_id)
        if campaign is not None and self.has_delete_permission(request, campaign) and has_records(campaign):
            return self._undeletable(request, campaign)
        return super().delete_view(request, object_id, extra_context)

    def _undeletable(self, request: HttpRequest, campaign: Campaign) -> HttpResponse:
        may_change = self.has_change_permission(request, campaign)
        if request.method == "POST" and "deactivate" in request.POST and may_change:
            edit_campaign(campaign, actor_of(request), is_active=False)
            self.message_user(request, _now("%(campaign)s is inactive.") % {"campaign": campaign}, messages.SUCCESS)
            return redirect(self.url_of("change", campaign.pk))
        counted = snapshot()
        return self.page(
            request,
            "admin/campaigns/undeletable.html",
            campaign,
            title=_now("This campaign cannot be deleted"),
            progress=counted.of(campaign.pk),
            counted_at=counted.at,
            may_deactivate=may_change and campaign.is_active,
            back_url=self.url_of("change", campaign.pk),
        )

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return what is deleted with a campaign. The permission to delete the campaign covers it."""
        campaign = objs[0]
        parts = [
            (_now("statuses"), campaign.statuses.count()),
            (_now("fields"), campaign.fields.count()),
            (_now("imports"), campaign.imports.count()),
        ]
        return [str(campaign)], {name: count for name, count in parts if count}, set(), []

    def delete_model(self, request: HttpRequest, obj: Campaign) -> None:
        remove_campaign(obj, actor_of(request))

    # Other actions

    def has_clone_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request)

    @page_action(description=_("Records"), url_path="records", icon="contact_phone", permissions=["view_records"])
    def show_records(self, request: HttpRequest, object_id: str) -> HttpResponse:
        campaign = self.row_or_404(request, object_id, "view_records")
        return redirect(f"{reverse('admin:campaigns_record_changelist')}?campaign__id__exact={campaign.pk}")

    @page_action(description=_("Import records"), url_path="import", icon="upload_file", permissions=["import"])
    def import_records(self, request: HttpRequest, object_id: str) -> HttpResponse:
        campaign = self.row_or_404(request, object_id, "import")
        return redirect(f"{reverse('admin:campaigns_recordimport_add')}?campaign={campaign.pk}")

    @page_action(description=_("Clone"), url_path="clone", icon="content_copy", permissions=["clone"])
    def clone(self, request: HttpRequest, object_id: str) -> HttpResponse:
        campaign = self.row_or_404(request, object_id, "clone")
        form = CloneForm(request.POST or None, initial={"name": _now("Copy of %(name)s") % {"name": campaign.name}})
        if request.method == "POST" and form.is_valid():
            try:
                copy = clone_campaign(campaign, actor_of(request), **form.cleaned_data)
            except REFUSALS as error:
                self.add_refusals(form, error)
            else:
                self.log_addition(request, copy, [{"added": {}}])
                self.message_user(request, _now("%(copy)s has been made.") % {"copy": copy}, messages.SUCCESS)
                return redirect(self.url_of("change", copy.pk))
        return self.action_page(
            request,
            title=_now("Clone a campaign"),
            submit=_now("Clone"),
            form=form,
            obj=campaign,
            intro=_now("The copy has the settings, parameters, fields, statuses and agents; no records and no dates."),
        )

    @page_action(description=_("Download CSV"), url_path="download", icon="download", permissions=["view_records"])
    def download(self, request: HttpRequest, object_id: str) -> StreamingHttpResponse:
        campaign = self.row_or_404(request, object_id, "view_records")
        record(actor_of(request), AuditAction.EXPORT, campaign)
        response = StreamingHttpResponse(export_rows(campaign), content_type="text/csv; charset=utf-8")
        name = f"{campaign.code}-{timezone.localdate():%Y-%m-%d}.csv"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response
