"""Screen pops of queues and campaigns."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from callcentre.admin import Admin, column
from callcentre.admin.theme import ModelForm
from campaigns.models import Campaign
from telephony.models import ScreenPop
from telephony.verbs import screen_pops


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
