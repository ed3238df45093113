"""The list of chats, and the actions that start, assign and close them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget

from callcentre.admin import (
    Admin,
    DeletableMixin,
    PeriodFilter,
    UncountedMixin,
    actor_of,
    column,
    confirm_first,
    display,
    page_action,
)
from callcentre.admin.base import MAX_SELECTED
from callcentre.admin.lists import ConditionFilter
from callcentre.admin.periods import within
from callcentre.admin.scope import (
    AutocompleteSelectFilter,
    AutocompleteSelectMultipleFilter,
    offer_within,
    scope_of,
)
from callcentre.core.counted import Spans
from callcentre.core.scope import ALL, Scope
from callcentre.core.search import Hit, SearchText, candidates, ids_inside, read_by_list, union
from callcentre.core.statements import rows_of
from callcentre.core.times import minute
from telephony.models import Agent
from tickets.admin.chat_page import ChatPageMixin
from tickets.models import Chat, ChatMessage
from tickets.verbs.chats import assign_chat, close_chat, start_chat

MAX_FOUND = 500
_BY_ADDRESS = "SELECT id FROM tickets_chat WHERE UPPER(client_email) LIKE UPPER(%(address)s) AND client_email <> ''"
_WITH_WORDS = """
SELECT chat_id AS id FROM chats_with_words(
  to_tsquery('callcentre_words', %(query)s), to_tsquery('callcentre_words', %(begun)s), %(most)s)
"""
_NEWEST = "SELECT id FROM tickets_chat WHERE id IN ({branches}) ORDER BY created_at DESC, id DESC LIMIT %(most)s"
_HITS = """
SELECT c.id, c.client_name, c.client_email, q.name, a.login, c.created_at
FROM tickets_chat c JOIN telephony_queue q ON q.id = c.queue_id LEFT JOIN telephony_agent a ON a.id = c.agent_id
WHERE c.id IN ({branches}){inside} ORDER BY c.created_at DESC, c.id DESC LIMIT %(shown)s
"""


def find(text: str, scope: Scope = ALL) -> tuple[list[Any], bool]:
    """Return the ids of the chats that a text finds, and whether the search stopped before it found all."""
    search, most = SearchText.read(text), read_by_list(MAX_FOUND, Chat, scope)
    if not (branches := _branches(search)):
        return [], False
    statement = _NEWEST.format(branches=union(branches, most))
    read = [pk for (pk,) in rows_of(statement, search.parameters | {"most": most})]
    ids = ids_inside(read, Chat, scope)[:MAX_FOUND]
    return ids, len(read) == most or len(ids) == MAX_FOUND


def chats(search: SearchText, count: int, scope: Scope = ALL) -> list[Hit]:
    """Return the newest chats that a text finds."""
    if not (branches := _branches(search)):
        return []
    most = candidates(scope)
    values = search.parameters | {"most": most, "shown": count} | scope.by_column
    rows = rows_of(_HITS.format(branches=union(branches, most), inside=scope.sql(Chat, "c")), values)
    return [
        Hit(pk, name, tuple(filter(None, (email, queue, login, minute(at)))))
        for pk, name, email, queue, login, at in rows
    ]


def _branches(search: SearchText) -> list[str]:
    by_address = [_BY_ADDRESS] if search.address else []
    return by_address + ([_WITH_WORDS] if search.query and not search.is_address else [])


INSTANTS = ("created_at", "assigned_at", "answered_at", "closed_at")


class StateFilter(ConditionFilter):
    title = _("state")
    parameter_name = "state"
    conditions = {
        "waiting": (_("waits for an agent"), Q(closed_at=None, agent=None)),
        "open": (pgettext_lazy("of a chat", "open"), Q(closed_at=None)),
        "closed": (pgettext_lazy("of a chat", "closed"), Q(closed_at__isnull=False)),
    }


class Counted(PeriodFilter):
    ways = {"closed": _("closed"), "written": _("an agent wrote")}

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        if way == "closed":
            return within("closed_at", spans)
        lines = ChatMessage.objects.filter(within("created_at", spans), agent=arguments[0])
        return Q(pk__in=lines.values("chat"))


class AgentForm(forms.Form):
    agent = forms.ModelChoiceField(
        label=_("Agent"), queryset=Agent.objects.active(), widget=UnfoldAdminSelectWidget(), empty_label=None
    )


@admin.register(Chat)
class ChatAdmin(ChatPageMixin, DeletableMixin, UncountedMixin, Admin):
    """Chats with their client, agent and state."""

    deletion_kind = "chat"
    date_column = newest_by = "created_at"
    list_display = ("started", "client_name", "client_email", "queue", "login", "state")
    list_display_links = ("started", "client_name")
    list_filter = (
        StateFilter,
        ("queue", AutocompleteSelectMultipleFilter),
        ("agent", AutocompleteSelectFilter),
        Counted,
    )
    joined = ("queue", "agent")
    search_fields = ("client_email",)
    search_help_text = _("Name or e-mail of the client, words of messages, or the id of a chat")
    actions = ("close_selected",)
    actions_detail = ("answer", "assign", "close")
    has_own_history = True  # the page shows all times
    readonly_fields = ("agent", *INSTANTS)
    fixed_fields = ("client_name", "client_email", "queue")

    started = column(lambda chat: chat.created_at, description=_("started"))
    login = column(lambda chat: chat.agent.login if chat.agent else "–", description=_("agent"))

    class Media:
        js = ("tickets/canned.js", "tickets/chat.js")

    def found(self, request: HttpRequest, rows: QuerySet[Chat], text: str) -> QuerySet[Chat]:
        try:
            return rows.filter(pk=text)
        except (ValueError, forms.ValidationError):
            ids, is_cut = find(text, scope_of(request))
            return self.rows_found(request, rows, ids, MAX_FOUND, is_cut=is_cut)

    @display(description=_("state"), label={"waiting": "warning", "open": "info", "closed": "success"})
    def state(self, chat: Chat) -> tuple[str, str]:
        return chat.state.value, str(chat.state.label)

    # The page

    def get_fieldsets(self, request: HttpRequest, obj: Chat | None = None) -> Any:
        about = [("client_name", "client_email"), "queue"]
        if obj is None:
            return [(None, {"fields": about})]
        return [(None, {"fields": [*about, "agent"]}), (_("Course"), {"fields": [INSTANTS[:2], INSTANTS[2:]]})]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            given = form.cleaned_data
            values = {"client_name": given["client_name"], "client_email": given["client_email"]}
            obj.__dict__.update(start_chat(actor_of(request), queue_id=given["queue"].pk, **values).__dict__)

    # The actions

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Return no buttons for a closed chat. The conversation has the button of the answer."""
        chat = self.get_object(request, object_id)
        if chat is None or chat.closed_at:
            return []
        actions = super().get_actions_detail(request, object_id)
        return [one for one in actions if not one.action_name.endswith("_answer")]

    @page_action(description=_("Give to an agent"), url_path="assign", icon="person_add", permissions=["change"])
    def assign(self, request: HttpRequest, object_id: str) -> HttpResponse:
        chat, form = self.row_or_404(request, object_id), AgentForm(request.POST or None)
        offer_within(scope_of(request), form.fields)
        if form.is_valid():
            verb = partial(assign_chat, chat, actor_of(request), agent_login=form.cleaned_data["agent"].login)
            return self.ask_and_do(request, chat, verb, title=_now("Give to an agent"), intro="")
        return self.action_page(request, title=_now("Give to an agent"), submit=_now("Give"), form=form, obj=chat)

    @page_action(description=_("Close the chat"), url_path="close", icon="done_all", permissions=["change"])
    def close(self, request: HttpRequest, object_id: str) -> HttpResponse:
        chat = self.row_or_404(request, object_id)
        intro = _now("Customer and agents can write no more messages in it. There is no way back.")
        verb = partial(close_chat, chat, actor_of(request))
        return self.ask_and_do(request, chat, verb, title=_now("Close the chat"), intro=intro)

    @admin.action(description=_("Close"), permissions=["change"])
    @confirm_first(
        _("No more messages can be written in the chats. A closed chat is not opened again."), closed_at=None
    )
    def close_selected(self, request: HttpRequest, chats: QuerySet[Chat]) -> None:
        actor, count = actor_of(request), 0
        for chat in chats.filter(closed_at=None)[:MAX_SELECTED]:
            close_chat(chat, actor)
            count += 1
        sentence = ngettext("%(count)s chat closed.", "%(count)s chats closed.", count)
        self.say_done(request, sentence, count)
