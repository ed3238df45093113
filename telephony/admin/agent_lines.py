"""Standing lines of agents, read-only."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter, ChoicesDropdownFilter

from callcentre.admin import ReadOnlyAdmin, UncountedMixin, display
from telephony.admin.state_labels import length, moment
from telephony.models import AgentLine

COLOURS: dict[str, str] = {
    AgentLine.State.ASKED: "info",
    AgentLine.State.RINGING: "info",
    AgentLine.State.UP: "success",
    AgentLine.State.REFUSED: "danger",
}


@admin.register(AgentLine)
class AgentLineAdmin(UncountedMixin, ReadOnlyAdmin):
    """Standing lines of agents: one row each time that a phone was rung for one."""

    has_own_history = True  # never edited: Django's history would be empty
    list_display = ("began", "ended", "length", "agent", "line_state", "cause_text")
    list_display_links = ("began",)
    list_filter = (("agent", AutocompleteSelectFilter), ("state", ChoicesDropdownFilter))
    fields = ("agent", "line_state", "began", "ended", "length", "cause", "cause_text", "channel_id")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentLine]:
        return super().get_queryset(request).prefetch_related("agent")

    @display(description=_("state"), label=COLOURS)
    def line_state(self, line: AgentLine) -> tuple[str, str]:
        return line.state, line.get_state_display()

    @display(description=_("from"))
    def began(self, line: AgentLine) -> str:
        return moment(line.up_at or line.asked_at)

    @display(description=_("to"))
    def ended(self, line: AgentLine) -> str:
        return moment(line.ended_at)

    @display(description=_("length"))
    def length(self, line: AgentLine) -> str:
        return length(line.up_at or line.asked_at, line.ended_at)
