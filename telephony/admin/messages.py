"""Messages to agents: the list, and the page that sends one."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from callcentre.admin import ReadOnlyAdmin, actor_of, column, cut, page_action
from callcentre.admin.dates import dates_filter
from callcentre.admin.scope import AutocompleteSelectFilter, scope_of
from callcentre.core.times import second
from telephony.models import Agent, AgentMessage, Queue
from telephony.verbs.agents import send_message


class MessageForm(forms.Form):
    text = forms.CharField(
        label=_("Message"),
        max_length=AgentMessage.LONGEST,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
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
    list_select_related = ("agent",)
    fields = ("sent", "agent", "text", "actor_name", "closed")
    readonly_fields = fields
    actions_list = ("send",)
    sent = column(lambda message: second(message.sent_at), description=_("sent"))
    words = column(lambda message: cut(message.text), description=_("message"))
    closed = column(lambda message: second(message.closed_at) or "–", description=_("closed"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        found: QuerySet[Any] = super().get_queryset(request).select_related("agent")
        return found

    def has_send_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("telephony.add_agentmessage"))

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
