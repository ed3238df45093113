"""The page of a chat: the conversation, which is kept up to date, and the form of the answer."""

from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget

from callcentre.admin import Admin, actor_of, page_action, user_of
from callcentre.admin.base import REFUSALS
from callcentre.core.integers import integer_of
from telephony.models import Agent
from tickets.admin.canned_replies import canned_replies_for_chat
from tickets.models import Chat, ChatState
from tickets.verbs.chats import write_in_chat

# A page shows the newest messages.
LINES = 500
JSON = "application/json"


class AnswerForm(forms.Form):
    body = forms.CharField(
        label=pgettext_lazy("what an agent writes", "Answer"),
        max_length=10_000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4, "autofocus": True}),
    )


class ChatPageMixin(Admin):
    """An admin whose page shows the conversation, new messages and the form of the answer."""

    change_form_outer_after_template = "admin/tickets/chat.html"

    def get_urls(self) -> Any:
        return [self.url_to("<uuid:chat_id>/lines", self.lines_view, "lines"), *super().get_urls()]

    def page_context(self, request: HttpRequest, obj: Chat | None) -> dict[str, Any]:
        if obj is None:
            return {}
        newest = list(obj.messages.select_related("agent").order_by("-id")[: LINES + 1])
        return {
            "is_cut_off": len(newest) > LINES,
            "lines_limit": LINES,
            "show_save": False,
            "show_save_and_continue": False,
            "show_save_and_add_another": False,
            **self._conversation(obj, newest[:LINES][::-1]),
            **self._answer(request, obj),
        }

    def lines_view(self, request: HttpRequest, chat_id: UUID) -> HttpResponse:
        """Return the messages after the one that the page has, and the state of the chat."""
        chat = self.row_or_404(request, str(chat_id), "view_or_change")
        after = integer_of(request.GET.get("after")) or 0
        lines = list(chat.messages.select_related("agent").filter(pk__gt=after).order_by("id")[:LINES])
        response = render(request, "admin/tickets/chat_conversation.html", self._conversation(chat, lines))
        response["Cache-Control"] = "no-store"
        return response

    @page_action(description=_("Answer"), url_path="answer", icon="reply", permissions=["change"])
    def answer(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Write the answer. The page's script wants JSON; without scripts the answer has a page."""
        chat, form = self.row_or_404(request, object_id), AnswerForm(request.POST or None)
        agent = Agent.objects.of_user(user_of(request))
        if agent is None:
            raise PermissionDenied
        is_page = request.headers.get("Accept") != JSON
        if request.method == "POST" and form.is_valid():
            try:
                write_in_chat(chat, actor_of(request), body=form.cleaned_data["body"], agent_login=agent.login)
            except REFUSALS as error:
                self.add_refusals(form, error)
            else:
                return redirect(self.url_of("change", chat.pk)) if is_page else JsonResponse({"errors": []})
        if is_page:
            return self.action_page(request, title=_now("Answer"), submit=_now("Send"), form=form, obj=chat)
        errors = [sentence for sentences in form.errors.values() for sentence in sentences]
        return JsonResponse({"errors": errors}, status=400)

    def _conversation(self, chat: Chat, lines: list[Any]) -> dict[str, Any]:
        return {"chat": chat, "lines": lines, "chat_says": _sentence_of(chat)}

    def _answer(self, request: HttpRequest, chat: Chat) -> dict[str, Any]:
        if chat.closed_at or not self.has_change_permission(request, chat):
            return {}
        if (agent := Agent.objects.of_user(user_of(request))) is None:
            return {"is_no_agent": True}
        return {
            "answer_form": AnswerForm(),
            "answer_url": reverse("admin:tickets_chat_answer", args=[chat.pk]),
            "canned": canned_replies_for_chat(chat, agent),
        }


def _sentence_of(chat: Chat) -> str:
    match chat.state:
        case ChatState.CLOSED:
            return _now("The chat is closed.")
        case ChatState.OPEN if chat.agent:
            return _now("%(agent)s has the chat.") % {"agent": chat.agent.full_name or chat.agent.login}
    return _now("The chat waits for an agent.")
