"""The pages of teams, with their members."""

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, Inline, display, never
from tickets.models import Team, TeamMember


class TeamMemberInline(Inline):
    model = TeamMember
    fields = ("agent", "assigned_at")
    readonly_fields = ("assigned_at",)
    autocomplete_fields = ("agent",)
    verbose_name_plural = _("members")

    def get_queryset(self, request: HttpRequest) -> QuerySet[TeamMember]:
        return super().get_queryset(request).select_related("agent")


@admin.register(Team)
class TeamAdmin(Admin):
    """Teams of agents, and how they get their tickets."""

    list_display = ("name", "member_count", "assignment", "most_open", "is_active")
    list_display_links = ("name",)
    list_filter = ("is_active", "assignment")
    search_fields = ("name",)
    fields = ("name", "is_active", ("assignment", "most_open"))
    inlines = (TeamMemberInline,)
    has_delete_permission = never  # tickets name it: it is made inactive instead

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        teams: QuerySet[Team] = super().get_queryset(request).annotate(member_count=Count("members"))
        return teams

    @display(description=_("members"), ordering="member_count")
    def member_count(self, team: Team) -> int:
        return team.member_count  # type: ignore[attr-defined,no-any-return]
