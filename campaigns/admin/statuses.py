from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, actor_of, display
from callcentre.admin.installed_names import InstalledNamesMixin
from campaigns.models import CampaignGroup, DictionaryStatus
from campaigns.verbs.campaigns import create_group


@admin.register(DictionaryStatus)
class DictionaryStatusAdmin(InstalledNamesMixin, Admin):
    """The statuses that a new campaign gets."""

    list_display = ("both_names", "system_status", "is_success", "is_wrong_number", "order")
    list_display_links = ("both_names",)
    fields = ("name", "system_status", "is_success", "is_wrong_number", "order")
    search_fields = ("name",)

    def get_readonly_fields(self, request: HttpRequest, obj: DictionaryStatus | None = None) -> tuple[str, ...]:
        """Fix the system status of an existing entry: statuses of campaigns have a copy of it."""
        return ("system_status",) if obj else ()


@admin.register(CampaignGroup)
class CampaignGroupAdmin(Admin):
    """The groups of campaigns."""

    # The number tells groups that share a name apart.
    list_display = ("name", "id", "campaigns_count")
    fields = ("name",)
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[CampaignGroup]:
        groups: QuerySet[CampaignGroup] = super().get_queryset(request).annotate(campaign_count=Count("campaigns"))
        return groups

    @display(description=_("campaigns"), ordering="campaign_count")
    def campaigns_count(self, group: CampaignGroup) -> int:
        return int(vars(group)["campaign_count"])

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
        else:
            obj.__dict__.update(create_group(actor_of(request), form.cleaned_data["name"]).__dict__)
