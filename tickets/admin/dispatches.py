"""The list of messages on their way out, and the action that sends one again."""

from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from callcentre.admin import ReadOnlyAdmin, UncountedMixin, actor_of, column, cut, display, link_to, needs, page_action
from callcentre.admin.base import MAX_SELECTED
from callcentre.admin.lists import ConditionFilter
from callcentre.core.integers import integer_of
from tickets.models import Dispatch
from tickets.verbs.dispatches import resend

State = Dispatch.State


class StateFilter(ConditionFilter):
    title = _("state")
    parameter_name = "state"
    conditions = {
        **{state.value: (state.label, Q(state=state)) for state in State},
        "partly": (_("sent, but not to all"), Q(state=State.SENT) & ~Q(refused={})),
        "unknown": (_("outcome unknown"), Q(state=State.FAILED, is_unknown=True)),
        "bounced": (_("bounced"), Q(bounced_at__isnull=False)),
    }


@admin.register(Dispatch)
class DispatchAdmin(UncountedMixin, ReadOnlyAdmin):
    """Messages on their way out: their state, errors and attempts."""

    has_own_history = True  # no edits: Django's history would be empty
    list_display = ("queued_at", "ticket", "to_whom", "condition_shown", "error_shown", "next_attempt_at")
    list_display_links = ("queued_at",)
    list_further = (
        *("source", "recipients", "copies", "header_id", "attempt_count", "sent_at", "bounced_at", "error", "id"),
    )
    list_filter = (StateFilter,)
    date_column = "queued_at"
    joined = ("message__ticket",)
    search_fields = ("header_id",)
    search_help_text = _("Number of a ticket, or a Message-ID")
    actions = ("resend_selected",)
    actions_detail = ("resend",)
    has_resend_permission = needs("tickets.change_dispatch")
    fieldsets = (
        (None, {"fields": ("ticket", "to", "copies_shown", "message_id_shown")}),
        (_("State"), {"fields": ("condition_now", "error", "attempt_count")}),
        (_("Dates"), {"fields": (("queued_at", "next_attempt_at"), ("sent_at", "bounced_at"))}),
    )

    ticket = column(lambda dispatch: link_to(dispatch.message.ticket), description=_("ticket"))
    error_shown = column(lambda dispatch: cut(dispatch.error), description=_("error"))
    copies_shown = column(lambda dispatch: ", ".join(dispatch.copies) or "–", description=_("Cc"))
    condition_now = column(lambda dispatch: dispatch.condition, description=_("state"))
    message_id_shown = column(lambda dispatch: dispatch.header_id or "–", description="Message-ID")

    def found(self, request: HttpRequest, rows: QuerySet[Dispatch], text: str) -> QuerySet[Dispatch]:
        term = text.strip(" <>#")
        if (ticket_id := integer_of(term)) is not None:
            return rows.filter(message__ticket=ticket_id)
        return rows.filter(header_id=term).exclude(header_id="")

    @display(description=_("to"))
    def to(self, dispatch: Dispatch) -> str:
        return ", ".join(dispatch.recipients) or str(dispatch.get_source_display())

    @display(description=_("to"))
    def to_whom(self, dispatch: Dispatch) -> str:
        return cut(self.to(dispatch))

    @display(
        description=_("state"),
        label={"good": "success", "waits": "info", "doubtful": "warning", "bad": "danger"},
    )
    def condition_shown(self, dispatch: Dispatch) -> tuple[str, str]:
        if dispatch.bounced_at or dispatch.state == State.FAILED:
            colour = "bad"
        elif dispatch.state == State.QUEUED:
            colour = "doubtful" if dispatch.error else "waits"
        else:
            colour = "doubtful" if dispatch.error or dispatch.state == State.WRITTEN else "good"
        return colour, dispatch.condition

    # Sending again

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        dispatch = self.get_object(request, object_id)
        may = dispatch is not None and dispatch.may_be_resent
        return super().get_actions_detail(request, object_id) if may else []

    def _resend(self, request: HttpRequest, dispatches: Any) -> None:
        actor = actor_of(request)
        count = self.apply_to_each(
            request, dispatches, lambda dispatch: resend(dispatch, actor), lambda dispatch: dispatch.message.ticket
        )
        if count:
            sentence = ngettext("%(count)s message is sent again.", "%(count)s messages are sent again.", count)
            self.say_done(request, sentence, count)

    @admin.action(description=_("Send again"), permissions=["resend"])
    def resend_selected(self, request: HttpRequest, dispatches: QuerySet[Dispatch]) -> None:
        self._resend(request, dispatches[:MAX_SELECTED])

    @page_action(description=_("Send again"), url_path="resend", icon="replay", permissions=["resend"])
    def resend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        dispatch = self.row_or_404(request, object_id, "resend")
        intro = _now("At once, with all attempts before it.")
        if dispatch.accepted:
            # The next attempt includes the refused recipients.
            dispatch.refused = {}
            intro = _now("Only to those who have not got it: %(who)s.") % {"who": ", ".join(dispatch.addressees)}
        if dispatch.is_unknown:
            intro = _now("It is not known whether it arrived: the customer may get it twice.")
        verb = partial(self._resend, request, [dispatch])
        return self.ask_and_do(request, dispatch, verb, title=_now("Send again"), intro=intro)
