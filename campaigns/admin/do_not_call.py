"""The do-not-call list in the admin."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, UncountedMixin, actor_of, column, display, never
from callcentre.admin.scope import AutocompleteSelectFilter
from callcentre.admin.theme import ModelForm
from callcentre.core.errors import ErrorCode, Invalid
from callcentre.core.phone import PhoneError, normalise
from campaigns.models import DoNotCall
from campaigns.verbs.do_not_call import NewEntry, add_entries, remove_entry


class EntryForm(ModelForm):
    class Meta:
        model = DoNotCall
        fields = ("phone_number", "is_prefix", "campaign", "reason", "since", "until")
        labels = {"phone_number": _("Number")}
        help_texts = {
            "is_prefix": _("The number is the beginning of numbers, from the country code on."),
            "campaign": _("All campaigns if left empty."),
            "since": _("Now if left empty."),
            "until": _("Without end if left empty."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "since" in self.fields:  # an entry that is only shown has no fields
            self.fields["since"].required = False

    def clean(self) -> dict[str, Any] | None:
        cleaned: dict[str, Any] | None = super().clean()
        if cleaned is not None and not cleaned.get("since"):
            cleaned["since"] = timezone.now()
        return cleaned

    def _post_clean(self) -> None:
        """Leave all rules to the verb, which extends an entry that the number has."""


@admin.register(DoNotCall)
class DoNotCallAdmin(UncountedMixin, Admin):
    """The list answers whether a number may be called, and why not."""

    form = EntryForm
    list_before_template = "admin/campaigns/do_not_call_import.html"
    list_display = ("shown", "campaign_shown", "reason", "since", "until", "holds")
    list_display_links = ("shown",)
    list_filter = (("campaign", AutocompleteSelectFilter),)
    list_select_related = ("campaign",)
    search_fields = ("number",)
    search_help_text = _("Number in any spelling: the entries that forbid to call it")
    autocomplete_fields = ("campaign",)
    empty_for_all = "campaign"
    # An entry is added, extended by adding it again, and deleted.
    has_change_permission = never
    fault_fields = {"number": "phone_number", "prefix": "phone_number", "campaign_code": "campaign"}
    sentences = {ErrorCode.UNTIL_BEFORE_SINCE: _("The end must be after the beginning.")}

    shown = column(lambda entry: f"{entry.number}…" if entry.is_prefix else entry.phone_number, description=_("number"))
    campaign_shown = column(lambda entry: entry.campaign or _("all"), description=_("campaign"))

    def found(self, request: HttpRequest, rows: QuerySet[DoNotCall], text: str) -> QuerySet[DoNotCall]:
        try:
            number = normalise(text)
        except PhoneError:
            return rows.none()
        return rows.filter(pk__in=list(DoNotCall.objects.covering(number).values_list("pk", flat=True)))

    @display(description=_("holds now"), boolean=True)
    def holds(self, entry: DoNotCall) -> bool:
        now = timezone.now()
        return entry.since <= now and (entry.until is None or entry.until > now)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = form.cleaned_data
        campaign = values["campaign"]
        given = {
            "prefix" if values["is_prefix"] else "number": values["phone_number"],
            "campaign_code": campaign.code if campaign else "",
            "reason": values["reason"],
            "since": values["since"],
            "until": values["until"],
        }
        entry = NewEntry(given)
        add_entries(actor_of(request), [entry])
        if entry.faults:
            raise Invalid(entry.faults)
        obj.pk = entry.id
        obj.refresh_from_db()

    def delete_model(self, request: HttpRequest, obj: DoNotCall) -> None:
        remove_entry(obj, actor_of(request))
