"""Messages on their way out: which were sent, which were not and why, and sending these again."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.contrib.filters.admin import DropdownFilter

from callcentre.admin import ReadOnlyAdmin, UncountedMixin, actor_of, cut, display, page_action
from callcentre.admin.base import MAX_SELECTED, REFUSALS
from callcentre.core.integers import integer_of
from tickets.models import Dispatch
from tickets.verbs.dispatches import resend

State = Dispatch.State


class StateFilter(DropdownFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        further = [("partly", _("sent, but not to all")), ("unknown", _("outcome unknown")), ("bounced", _("bounced"))]
        return [*State.choices, *further]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Dispatch]) -> QuerySet[Dispatch]:
        match self.value():
            case "partly":
                return queryset.filter(state=State.SENT).exclude(refused={})
            case "unknown":
                return queryset.filter(state=State.FAILED, is_unknown=True)
            case "bounced":
                return queryset.filter(bounced_at__isnull=False)
            case state if state in State.values:
                return queryset.filter(state=state)
        return queryset


@admin.register(Dispatch)
class DispatchAdmin(UncountedMixin, ReadOnlyAdmin):
    """What was not sent, and why?"""

    has_own_history = True  # nobody edits them: Django's would be empty
    list_display = ("queued_at", "ticket", "to_whom", "condition_shown", "error_shown", "next_attempt_at")
    list_display_links = ("queued_at",)
    list_filter = (StateFilter,)
    list_select_related = ("message__ticket",)
    search_fields = ("header_id",)
    search_help_text = _("Number of a ticket, or a Message-ID")
    actions = ("resend_selected",)
    actions_detail = ("resend",)
    fieldsets = (
        (None, {"fields": ("ticket", "to", "copies_shown", "message_id_shown")}),
        (_("State"), {"fields": ("condition_now", "error", "attempt_count")}),
        (_("Dates"), {"fields": (("queued_at", "next_attempt_at"), ("sent_at", "bounced_at"))}),
    )
    readonly_fields = ("ticket", "to", "copies_shown", "message_id_shown", "condition_now")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Dispatch]:
        return super().get_queryset(request).select_related("message__ticket")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Dispatch], search_term: str
    ) -> tuple[QuerySet[Dispatch], bool]:
        term = search_term.replace("\0", "").strip(" <>#")
        if (ticket_id := integer_of(term)) is not None:
            queryset = queryset.filter(message__ticket=ticket_id)
        elif term:
            queryset = queryset.filter(header_id=term).exclude(header_id="")
        return queryset, False

    @display(description=_("ticket"))
    def ticket(self, dispatch: Dispatch) -> str:
        ticket = dispatch.message.ticket
        url = reverse("admin:tickets_ticket_change", args=[ticket.pk])
        return format_html('<a class="cc-link" href="{}">{}</a>', url, ticket)

    @display(description=_("to"))
    def to(self, dispatch: Dispatch) -> str:
        return ", ".join(dispatch.recipients) or str(dispatch.get_source_display())

    @display(description=_("to"))
    def to_whom(self, dispatch: Dispatch) -> str:
        return cut(self.to(dispatch))

    @display(description=_("error"))
    def error_shown(self, dispatch: Dispatch) -> str:
        return cut(dispatch.error)

    @display(description=_("Cc"))
    def copies_shown(self, dispatch: Dispatch) -> str:
        return ", ".join(dispatch.copies) or "–"

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

    @display(description=_("state"))
    def condition_now(self, dispatch: Dispatch) -> str:
        return dispatch.condition

    @display(description="Message-ID")
    def message_id_shown(self, dispatch: Dispatch) -> str:
        return dispatch.header_id or "–"

    # Sending again

    def has_resend_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("tickets.change_dispatch")

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        dispatch = self.get_object(request, object_id)
        may = dispatch is not None and dispatch.may_be_resent
        return super().get_actions_detail(request, object_id) if may else []

    def _resend(self, request: HttpRequest, dispatches: Any) -> None:
        actor, count = actor_of(request), 0
        for dispatch in dispatches:
            try:
                resend(dispatch, actor)
                count += 1
            except REFUSALS as error:
                for _field, sentence in self.refusals_of(error):
                    self.message_user(request, f"{dispatch.message.ticket}: {sentence}", messages.ERROR)
        if count:
            sentence = ngettext("%(count)s message is sent again.", "%(count)s messages are sent again.", count)
            self.message_user(request, sentence % {"count": count}, messages.SUCCESS)

    @admin.action(description=_("Send again"), permissions=["resend"])
    def resend_selected(self, request: HttpRequest, dispatches: QuerySet[Dispatch]) -> None:
        self._resend(request, dispatches[:MAX_SELECTED])

    @page_action(description=_("Send again"), url_path="resend", icon="replay", permissions=["resend"])
    def resend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        dispatch = self.get_object(request, object_id)
        if dispatch is None:
            raise Http404
        if request.method == "POST":
            self._resend(request, [dispatch])
            return redirect(self.url_of("change", dispatch.pk))
        intro = _now("At once, with all attempts before it.")
        if dispatch.accepted:
            # As it would be sent: those who were refused are asked again.
            dispatch.refused = {}
            intro = _now("Only to those who have not got it: %(who)s.") % {"who": ", ".join(dispatch.addressees)}
        if dispatch.is_unknown:
            intro = _now("Nobody knows whether it arrived: the customer may get it twice.")
        return self.action_page(request, title=_now("Send again"), submit=_now("Send again"), obj=dispatch, intro=intro)
