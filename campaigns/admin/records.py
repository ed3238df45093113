from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs

from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter

from callcentre.admin import Admin, HistoryMixin, UncountedMixin, actor_of, column, display, link, link_to
from callcentre.admin.dates import DATES
from callcentre.admin.history import SHOWN, Entry, entry_of, in_words
from callcentre.admin.lists import rows_up_to, takes_all_rows
from callcentre.admin.scope import AutocompleteSelectFilter, offer_within, scope_of
from callcentre.core.errors import Fault, Invalid
from callcentre.core.integers import integer_of
from campaigns.admin import record_form, record_search
from campaigns.admin.changes import ACTIONS
from campaigns.admin.record_actions import RecordActions
from campaigns.admin.record_form import COLUMNS, SENTENCES, CampaignChoice, RecordForm
from campaigns.dialling.why import explain_record
from campaigns.models import Campaign, Record, RecordChange, RecordStatus, SystemStatus
from campaigns.models.record_fields import BY_NAME
from campaigns.models.record_rows import customers_of_records
from campaigns.models.rules import CampaignFacts
from campaigns.models.status import as_read
from campaigns.verbs.new_records import NewRecord, add_records
from campaigns.verbs.record_edits import Edit, edit_records
from campaigns.verbs.records import remove_record

STATUS_COLOURS = {
    SystemStatus.TO_CALL: "info",
    SystemStatus.IN_PROGRESS: "warning",
    SystemStatus.CALL: "info",
    SystemStatus.MY_RECORD: "primary",
    SystemStatus.NO_CALL: "default",
    SystemStatus.ABANDONED_AFTER_N_TRIES: "danger",
    SystemStatus.CALL_NO_SOONER_THAN: "primary",
    SystemStatus.CALL_PROGRESSIVE: "info",
}
CAMPAIGN = "campaign__id__exact"
AGENT = "agent__id__exact"
# The value of the filter for records that are to be called or in a call.
LEFT = "left"


class SystemStatusFilter(DropdownFilter):
    title = _("system status")
    parameter_name = "system_status"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.model_admin = model_admin

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return [*SystemStatus.choices, (LEFT, _("all that are not done"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Record]) -> QuerySet[Record]:
        status = self.value()
        if status == LEFT:
            return queryset.exclude(system_status__in=SystemStatus.completed())
        if status not in SystemStatus.values:
            return queryset
        queryset = queryset.filter(system_status=status)
        if takes_all_rows(request) or any(request.GET.get(name) for name in (CAMPAIGN, AGENT, "q", *DATES)):
            return queryset  # few rows, or rows in the order of an index
        rows = rows_up_to(request.GET, self.model_admin.list_per_page)
        return queryset.filter(pk__in=record_search.newest_with_status(status, min(rows, 10_001), scope_of(request)))


@admin.register(Record)
class RecordAdmin(RecordActions, HistoryMixin, UncountedMixin, Admin):
    """The list answers where a number is and in what state; the page has the history."""

    form = RecordForm
    list_display = (
        "phone_number",
        "campaign",
        "state",
        "agent",
        "next_call_at",
        "called_at",
        "identifier",
        "created_at",
    )
    list_display_links = ("phone_number",)
    list_further = ("system_status", "order", "last_note", "zone", "calling_code", "is_number_wrong", "number", "id")
    list_filter = (
        ("campaign", AutocompleteSelectFilter),
        SystemStatusFilter,
        ("agent", AutocompleteSelectFilter),
    )
    date_column = "created_at"
    joined = ("campaign", "status", "agent")
    search_fields = ("number",)
    search_help_text = _("Number in any spelling, or identifier")
    autocomplete_fields = ("agent",)
    readonly_fields = ("number_shown", "campaign_link", "customer", "called_at", "created_at")
    sentences = SENTENCES
    change_form_before_template = "admin/campaigns/record_notice.html"

    campaign_link = column(lambda record: link_to(record.campaign), description=_("campaign"))

    # The list

    def found(self, request: HttpRequest, rows: QuerySet[Record], text: str) -> QuerySet[Record]:
        ids = record_search.ids_of(text, integer_of(request.GET.get(CAMPAIGN)), scope_of(request))
        most = record_search.MAX_FOUND
        return self.rows_found(request, rows, ids, most, is_cut=len(ids) == most)

    @display(description=_("status"), label={status.value: colour for status, colour in STATUS_COLOURS.items()})
    def state(self, record: Record) -> tuple[str, str]:
        return record.system_status, str(record.status or record.get_system_status_display())

    # The page

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Record | None:
        record: Record | None = super().get_object(request, object_id, from_field)
        if record is not None:
            facts = CampaignFacts.read(record.campaign.code)
            assert facts is not None
            vars(record)["campaign_facts"] = facts
            record_form.fill(record, facts)
        return record

    def is_fixed(self, request: HttpRequest, obj: Any) -> bool:
        """Refuse a record that a live call has leased."""
        return bool(obj.is_leased)

    def _facts(self, request: HttpRequest, obj: Record | None) -> CampaignFacts:
        facts: CampaignFacts = vars(request if obj is None else obj)["campaign_facts"]
        return facts

    def get_form(self, request: HttpRequest, obj: Record | None = None, change: bool = False, **kwargs: Any) -> Any:
        facts = self._facts(request, obj)
        vars(request)["campaign_facts"] = facts
        kwargs["form"] = record_form.form_class(facts, is_new=obj is None)
        return super().get_form(request, obj, change=change, **kwargs)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "status":
            kwargs["queryset"] = RecordStatus.objects.filter(campaign_id=vars(request)["campaign_facts"].id)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Record | None = None) -> Any:
        facts = self._facts(request, obj)
        about = ["number_shown", "campaign_link"] if obj else ["phone_number"]
        if obj and facts.is_crm:
            about.append("customer")
        fieldsets: list[Any] = [
            (None, {"fields": [*about, *COLUMNS, "further_numbers"]}),
        ]
        if names := record_form.field_names(facts):
            fieldsets.append((_("Fields of the campaign"), {"fields": names}))
        if obj:
            fieldsets.append((_("Dates"), {"fields": ["called_at", "created_at"]}))
        return fieldsets

    @display(description=_("phone number"))
    def number_shown(self, record: Record) -> str:
        more = "" if record.is_primary else _now("another record of this number")
        shown = (
            record.phone_number if record.phone_number == record.number else f"{record.phone_number} ({record.number})"
        )
        return f"{shown}, {more}" if more else shown

    @display(description=_("customer"))
    def customer(self, record: Record) -> str:
        """Return a link to the customer of a record of a CRM campaign, with the customer's other numbers."""
        found = customers_of_records([record.pk]).get(record.pk)
        if found is None:
            return "–"
        customer = link(reverse("admin:tickets_customer_change", args=[found.id]), found.label)
        return format_html("{} · {}", customer, ", ".join(found.other_numbers)) if found.other_numbers else customer

    def history_of(self, obj: Record) -> list[Entry]:
        names = {key: name for name, key in vars(obj)["campaign_facts"].fields.items()}
        return [entry_of(change, changes_of(change, names), ACTIONS) for change in obj.history.all()[:SHOWN]]

    def page_context(self, request: HttpRequest, obj: Record | None) -> dict[str, Any]:
        if obj is None:
            return {"is_in_call": False, "subtitle": vars(request)["new_record_campaign"]}
        why = explain_record(obj.pk, timezone.now())
        return super().page_context(request, obj) | {"is_in_call": obj.is_leased, "why": why}

    # Adding: first the campaign, then the page of its records

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None) -> Any:
        campaign = self._campaign_of_new(request)
        facts = CampaignFacts.read(campaign.code) if campaign else None
        if facts is None:
            if not self.has_add_permission(request):
                return super().add_view(request, form_url, extra_context)
            return self._ask_for_campaign(request)
        vars(request).update(new_record_campaign=campaign, campaign_facts=facts)
        return super().add_view(request, form_url, extra_context)

    def _campaign_of_new(self, request: HttpRequest) -> Campaign | None:
        """Return the campaign in the address, else the one that the list was filtered by."""
        chosen = request.GET.get("campaign", "")
        if not chosen:
            filters = parse_qs(request.GET.get("_changelist_filters", ""))
            chosen = filters.get(CAMPAIGN, [""])[0]
        pk = integer_of(chosen)
        return None if pk is None else scope_of(request).within(Campaign.objects.all()).filter(pk=pk).first()

    def _ask_for_campaign(self, request: HttpRequest) -> HttpResponse:
        form = CampaignChoice(request.POST or None)
        offer_within(scope_of(request), form.fields)
        if request.method == "POST" and form.is_valid():
            return redirect(f"{self.url_of('add')}?campaign={form.cleaned_data['campaign'].pk}")
        return self.action_page(
            request,
            title=_now("Add a record"),
            submit=_now("Continue"),
            form=form,
            cancel_url=self.url_of("changelist"),
            intro=_now("Which campaign is the record for?"),
        )

    # Saving

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = form.values()
        facts = form.facts
        if change:
            if not values:
                return
            edit = Edit(obj.phone_number, values, record_id=obj.pk)
            edit_records(facts, actor_of(request), [edit])
            faults = edit.faults
        else:
            record = NewRecord(values)
            add_records(facts, actor_of(request), [record])
            obj.pk, obj.campaign_id, obj.phone_number = record.id, facts.id, values.get("phone_number", "")
            faults = record.faults
        if faults:
            raise Invalid(Fault(fault.code, record_form.form_field_of(fault, facts), fault.params) for fault in faults)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Do nothing: the verb has already written everything."""

    def delete_model(self, request: HttpRequest, obj: Record) -> None:
        remove_record(obj, actor_of(request))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return what is deleted with a record. The permission to delete the record covers it."""
        record = objs[0]
        parts = [
            (_now("additional numbers"), record.additional_numbers.count()),
            (_now("entries of its history"), record.history.count()),
        ]
        return [str(record)], {name: count for name, count in parts if count}, set(), []


# Labels of entries that are no fields.
_LABELS = {"refused": _("reason")}


def changes_of(change: RecordChange, names: dict[str, str]) -> list[tuple[Any, Any, Any]]:
    """Return (label, old, new) of each change in an entry of the history."""
    changes: list[tuple[Any, Any, Any]] = []
    if change.to_status != change.from_status or change.to_system_status != change.from_system_status:
        before = as_read(change.from_status, change.from_system_status)
        changes.append((_("status"), before, as_read(change.to_status, change.to_system_status)))
    for name, (old, new) in change.changes.items():
        if name == "fields":
            keys = [*dict.fromkeys([*old, *new])]
            changes += [
                (names.get(key, _("a field that was removed")), old.get(key, ""), new.get(key, "")) for key in keys
            ]
        else:
            field = BY_NAME.get(name)
            label = label_for_field(field.form, Record) if field and field.form else _LABELS.get(name, name)
            changes.append((label, in_words(old), in_words(new)))
    return changes
