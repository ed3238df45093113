"""The pages of supervisors: listening to a call, ending it, and messages to agents."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from callcentre.admin import ReadOnlyAdmin, actor_of, column, cut, needs, page_action, user_of
from callcentre.admin.dates import dates_filter
from callcentre.admin.scope import AutocompleteSelectFilter, scope_of
from callcentre.core.errors import ErrorCode
from callcentre.core.integers import integer_of
from callcentre.core.times import second
from telephony import causes
from telephony.calls import commands
from telephony.models import Agent, AgentMessage, CallCommand, Connection, Queue, Supervision
from telephony.models.agent_intervals import REASON_LENGTH
from telephony.verbs.agents import send_message

Mode = Supervision.Mode
LIVE = forms.Media(js=("callcentre/live.js",))
MODES = ((Mode.LISTEN, _("Listen")), (Mode.WHISPER, _("Whisper to the agent")), (Mode.BARGE, _("Talk with both")))
SENTENCES: Mapping[ErrorCode, Any] = {
    ErrorCode.PHONE_OCCUPIED: _("Your phone is in a call, or has a standing line. End it first."),
    ErrorCode.PHONE_NOT_CONNECTED: _("Open the window of your phone first, and wait until it is connected."),
    ErrorCode.NOT_MONITORED: _("You do not listen to this call any more."),
}


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"),
        help_text=_("For the audit log and the ledger."),
        required=False,
        max_length=REASON_LENGTH,
        widget=UnfoldAdminTextInputWidget(),
    )


def reason_form(request: HttpRequest) -> ReasonForm:
    return ReasonForm(request.POST if request.method == "POST" else None)


class SupervisionPages(ReadOnlyAdmin):
    """The pages of supervisors of ConnectionAdmin."""

    sentences = SENTENCES
    has_monitor_permission = needs("telephony.monitor_connection")

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Leave out what only an open call allows."""
        is_open = Connection.objects.open().filter(pk=integer_of(str(object_id)) or 0).exists()
        return super().get_actions_detail(request, object_id) if is_open else []

    @page_action(description=_("Listen"), url_path="monitor", icon="hearing", permissions=["monitor"])
    def monitor(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show a call live, and let the person listen, change the mode, take the call over or leave it."""
        call: Connection = self.row_or_404(request, object_id, "view")
        agent = Agent.objects.of_user(user_of(request))
        if request.method == "POST":
            return self._ask(request, call, agent)
        rows = list(call.supervisions.select_related("agent").filter(ended_at=None))
        mine = next((row for row in rows if agent and row.agent_id == agent.pk), None)
        last = call.supervisions.filter(agent=agent).exclude(cause_text="").order_by("-id").first() if agent else None
        is_shown = bool(call.agent and scope_of(request).within(Agent.objects.filter(pk=call.agent.pk)).exists())
        may_message = is_shown and request.user.has_perm("telephony.add_agentmessage")
        return self.page(
            request,
            "admin/telephony/monitor.html",
            call,
            title=_now("Listen to a call"),
            media=self.media + LIVE,
            agent=agent,
            mine=mine,
            others=[row for row in rows if row is not mine],
            failure=causes.shown(last.cause_text) if last and not mine else "",
            modes=MODES,
            is_talking=call.state == Connection.State.TALKING,
            is_open=call.state != Connection.State.ENDED,
            of_agent=call.agent if is_shown and request.user.has_perm("telephony.change_agent") else None,
            message_url=f"{reverse('admin:telephony_agentmessage_send')}?agent={call.agent_id}" if may_message else "",
            back_url=self.url_of("change", call.pk),
            end_url=self.url_of("end_call", call.pk),
        )

    def _ask(self, request: HttpRequest, call: Connection, agent: Agent | None) -> HttpResponse:
        wanted, actor = request.POST.get("do", ""), actor_of(request)
        kinds: dict[str, str] = {"leave": CallCommand.Kind.UNMONITOR, "take_over": CallCommand.Kind.TAKE_OVER}
        kinds |= dict.fromkeys((mode for mode, _label in MODES), CallCommand.Kind.MONITOR)
        if agent and agent.number and (kind := kinds.get(wanted)):
            mode = wanted if kind == CallCommand.Kind.MONITOR else ""
            verb = partial(commands.ask_monitor, actor, kind=kind, sip=agent.number, mode=mode)
            self.apply_to_each(request, [call], verb, subject=lambda one: "")
        return redirect(request.path)

    @page_action(description=_("End the call"), url_path="end", icon="call_end", permissions=["monitor"])
    def end_call(self, request: HttpRequest, object_id: str) -> HttpResponse:
        call: Connection = self.row_or_404(request, object_id, "view")
        form = reason_form(request)
        if request.method == "POST" and form.is_valid():
            reason, actor = form.cleaned_data["reason"], actor_of(request)
            if self.apply_to_each(
                request, [call], lambda one: commands.ask_end(actor, one, reason), subject=lambda one: ""
            ):
                self.message_user(request, _now("The call is ended."), messages.SUCCESS)
            return redirect(self.back_url(request, call))
        intro = _now("All parties are hung up.")
        title = submit = _now("End the call")
        return self.action_page(request, title=title, submit=submit, form=form, obj=call, intro=intro)


def course_of(row: Supervision) -> str:
    """Spell the modes of a supervisor with their times."""
    return ", ".join(f"{second(datetime.fromisoformat(at))[-8:]} {Mode(mode).label}" for mode, at in row.modes)


class MessageForm(forms.Form):
    text = forms.CharField(
        label=_("Message"), max_length=AgentMessage.LONGEST, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3})
    )
    agent = forms.ModelChoiceField(
        label=_("Agent"),
        queryset=Agent.objects.none(),
        required=False,
        widget=UnfoldAdminSelectWidget(),
        help_text=_("Also one who is logged out. Without an agent and a queue, all who are logged in get it."),
    )
    queue = forms.ModelChoiceField(
        label=_("Queue"),
        queryset=Queue.objects.none(),
        required=False,
        widget=UnfoldAdminSelectWidget(),
        help_text=_("Its agents who are logged in."),
    )

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.POST or None, initial={"agent": request.GET.get("agent")})
        scope = scope_of(request)
        self.fields["agent"].queryset = scope.within(Agent.objects.active())  # type: ignore[attr-defined]
        self.fields["queue"].queryset = scope.within(Queue.objects.active())  # type: ignore[attr-defined]

    def clean(self) -> None:
        if self.cleaned_data.get("agent") and self.cleaned_data.get("queue"):
            self.add_error("queue", _now("Choose an agent or a queue."))


@admin.register(AgentMessage)
class AgentMessageAdmin(ReadOnlyAdmin):
    """Messages to agents: who has closed which."""

    has_own_history = True  # never edited: Django's history would be empty
    list_display = ("sent", "agent", "words", "actor_name", "closed")
    list_filter = (("agent", AutocompleteSelectFilter), dates_filter("sent_at"))
    joined = ("agent",)
    fields = ("sent", "agent", "text", "actor_name", "closed")
    readonly_fields = fields
    actions_list = ("send",)
    has_send_permission = needs("telephony.add_agentmessage")
    sent = column(lambda message: second(message.sent_at), description=_("sent"))
    words = column(lambda message: cut(message.text), description=_("message"))
    closed = column(lambda message: second(message.closed_at) or "–", description=_("closed"))

    @page_action(description=_("New message"), url_path="send", icon="campaign", permissions=["send"])
    def send(self, request: HttpRequest) -> HttpResponse:
        form = MessageForm(request)
        if request.method == "POST" and form.is_valid():
            given = form.cleaned_data
            chosen = {"agent": given["agent"], "queue": given["queue"], "scope": scope_of(request)}
            count = send_message(actor_of(request), given["text"], **chosen)
            said = ngettext("Sent to %(count)s agent.", "Sent to %(count)s agents.", count) % {"count": count}
            self.message_user(request, said, messages.SUCCESS if count else messages.WARNING)
            return redirect(self.url_of("changelist"))
        intro = _now("The bar of each agent shows it until the agent closes it.")
        title, submit = _now("Message to agents"), _now("Send")
        cancel = self.url_of("changelist")
        return self.action_page(request, title=title, submit=submit, form=form, intro=intro, cancel_url=cancel)
