"""Shared by all campaigns: statuses of the dictionary, groups, legal calling hours, screen pops."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from callcentre.admin import Admin, actor_of, column, display
from callcentre.admin.forms import InstalledNamesMixin
from callcentre.admin.theme import ModelForm
from campaigns.models import Campaign, CampaignGroup, DictionaryStatus, LegalHours
from campaigns.verbs.campaigns import create_group
from telephony.models import ScreenPop
from telephony.verbs import screen_pops


@admin.register(DictionaryStatus)
class DictionaryStatusAdmin(InstalledNamesMixin, Admin):
    """The statuses that a new campaign gets."""

    list_display = ("both_names", "system_status", "is_success", "is_wrong_number", "order")
    list_display_links = ("both_names",)
    fields = ("name", "system_status", "is_success", "is_wrong_number", "order")
    search_fields = ("name",)
    fixed_fields = ("system_status",)  # statuses of campaigns have a copy of it


@admin.register(CampaignGroup)
class CampaignGroupAdmin(Admin):
    # The number tells groups that share a name apart.
    list_display = ("name", "id", "campaigns_count")
    fields = ("name",)
    search_fields = ("name",)

    campaigns_count = column(lambda group: group.campaign_count, description=_("campaigns"), ordering="campaign_count")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).annotate(campaign_count=Count("campaigns"))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
        else:
            obj.__dict__.update(create_group(actor_of(request), form.cleaned_data["name"]).__dict__)


@admin.register(LegalHours)
class LegalHoursAdmin(Admin):
    """The list answers when numbers of a country may be called, and by which law."""

    list_display = ("name", "prefix_shown", "weekdays", "span", "allows_holidays", "dates", "holds_today", "source")
    list_display_links = ("name",)
    search_fields = ("name", "prefix", "source")
    search_help_text = _("Name, prefix or source")
    fieldsets = (
        (None, {"fields": ("name", "prefix", "source")}),
        (_("When"), {"fields": ("weekdays", ("begins_at", "ends_at"), ("allows_holidays", "holiday_country"))}),
        (_("Validity"), {"fields": (("valid_from", "valid_until"),)}),
    )

    prefix_shown = column(lambda row: f"+{row.prefix}", description=_("country prefix"), ordering="prefix")
    span = column(lambda row: f"{row.begins_at:%H:%M}–{row.ends_at:%H:%M}", description=_("hours"))

    @display(description=_("valid"))
    def dates(self, row: LegalHours) -> str:
        first, last = (day.isoformat() if day else "…" for day in (row.valid_from, row.valid_until))
        return "" if row.valid_from is None and row.valid_until is None else f"{first} – {last}"

    @display(description=_("holds today"), boolean=True)
    def holds_today(self, row: LegalHours) -> bool:
        today = timezone.localdate()
        return (row.valid_from or today) <= today <= (row.valid_until or today)


class ScreenPopForm(ModelForm):
    campaign = forms.ModelChoiceField(
        Campaign.objects.all(), label=_("Campaign"), required=False, widget=UnfoldAdminSelectWidget
    )

    class Meta:
        model = ScreenPop
        fields = ("name", "is_active", "queue", "moment", "way", "url")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("campaign", self.instance.campaign_id)

    def clean_url(self) -> str:
        url = str(self.cleaned_data["url"])
        if sentence := screen_pops.problem(url):
            raise forms.ValidationError(sentence)
        return url

    def _post_clean(self) -> None:
        chosen = self.cleaned_data.get("campaign")
        self.instance.campaign_id = chosen.pk if chosen else None
        super()._post_clean()  # type: ignore[misc]  # the types of Django leave it out


@admin.register(ScreenPop)
class ScreenPopAdmin(Admin):
    """Addresses of other programs that open with a call."""

    form = ScreenPopForm
    list_display = ("name", "of", "moment", "way", "url", "is_active")
    list_select_related = ("queue",)
    list_filter = ("is_active", "moment", "way")
    search_fields = ("name", "url")
    autocomplete_fields = ("queue",)
    fieldsets = (
        (None, {"fields": ("name", "is_active", "queue", "campaign")}),
        (
            _("Page"),
            {
                "fields": ("moment", "way", "url"),
                "description": _(
                    "In the address these become facts of the call, escaped: {number} {connection_id} {customer_id} "
                    "{record_id} {agent} {queue} {campaign}."
                ),
            },
        ),
    )

    def complete_rows(self, rows: Sequence[Any]) -> None:
        campaigns = Campaign.objects.in_bulk([pop.campaign_id for pop in rows if pop.campaign_id])
        for pop in rows:
            pop.owner = pop.queue or campaigns.get(pop.campaign_id)

    of = column(lambda pop: str(pop.owner or "–"), description=_("of"))
