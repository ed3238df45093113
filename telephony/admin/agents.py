from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy
from unfold.contrib.filters.admin import RelatedDropdownFilter

from callcentre.admin import Admin, display
from telephony.models import Agent, AgentGroup


@admin.register(Agent)
class AgentAdmin(Admin):
    """Who answers, at which number, and is he working here still?"""

    list_display = ("login", "full_name", "number", "group", "outbound_mode", "is_active")
    list_display_links = ("login", "full_name")
    list_filter = ("is_active", "outbound_mode", ("group", RelatedDropdownFilter))
    list_select_related = ("group",)
    search_fields = ("login", "name", "surname", "number")
    search_help_text = _("Login, name or number")
    actions = ("activate", "deactivate")
    fieldsets = (
        (None, {"fields": ("login", "is_active")}),
        (_("Person"), {"fields": ("name", "surname", "email")}),
        (_("Work"), {"fields": ("number", "group", "outbound_mode")}),
    )

    @display(description=pgettext_lazy("with the surname", "name"), ordering="surname")
    def full_name(self, agent: Agent) -> str:
        return agent.full_name

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """An agent who leaves is made inactive: the history speaks of him."""
        return False

    @admin.action(description=_("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        count = agents.exclude(is_active=True).update(is_active=True, updated_at=timezone.now())
        sentence = ngettext("%(count)s agent activated.", "%(count)s agents activated.", count)
        self.message_user(request, sentence % {"count": count}, messages.SUCCESS)

    @admin.action(description=_("Deactivate"), permissions=["change"])
    def deactivate(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        count = agents.exclude(is_active=False).update(is_active=False, updated_at=timezone.now())
        sentence = ngettext("%(count)s agent deactivated.", "%(count)s agents deactivated.", count)
        self.message_user(request, sentence % {"count": count}, messages.SUCCESS)


@admin.register(AgentGroup)
class AgentGroupAdmin(Admin):
    """Which agents are planned and reported together?"""

    list_display = ("name", "agents_count")
    fields = ("name",)
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentGroup]:
        active = Count("agents", filter=Q(agents__is_active=True))
        return super().get_queryset(request).annotate(agent_count=active)  # type: ignore[no-any-return]

    @display(description=_("active agents"), ordering="agent_count")
    def agents_count(self, group: AgentGroup) -> int:
        count: int = group.agent_count  # type: ignore[attr-defined]
        return count
