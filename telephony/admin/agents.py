from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext, pgettext_lazy
from unfold.contrib.filters.admin import DropdownFilter
from unfold.widgets import UnfoldAdminSelectWidget

from callcentre.admin import Admin, actor_of, column, confirm_first, display, link, needs, never, page_action
from callcentre.admin.base import MAX_SELECTED
from callcentre.admin.scope import RelatedDropdownFilter, scope_of
from callcentre.core.actor import Actor
from callcentre.core.integers import integer_of
from callcentre.core.times import second
from telephony.admin.new_agent import new_agent_view
from telephony.admin.queues import AgentSkillInline
from telephony.admin.state_labels import COLOURS, LABELS, label_of, length
from telephony.admin.supervision import ReasonForm, reason_form
from telephony.current_states import LOGGED_OUT, Current, current_states
from telephony.models import Agent, AgentGroup, AgentState, Pause, Queue
from telephony.verbs import presence
from telephony.verbs.agents import end_lines_without_setting


class StateFilter(DropdownFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return list(LABELS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Agent]) -> QuerySet[Agent]:
        now = AgentState.objects.filter(ended_at=None).order_by()
        match self.value():
            case None:
                return queryset
            case status if status == LOGGED_OUT:
                return queryset.exclude(pk__in=now.values("agent"))
            case status:
                return queryset.filter(pk__in=now.filter(kind=status).values("agent"))


class QueueFilter(DropdownFilter):
    """A filter that links from the overview set. The panel shows it while it is in use."""

    title = _("queue")
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        pk, queues = integer_of(self.value() or ""), scope_of(request).within(Queue.objects.all())
        return list(queues.filter(pk=pk).values_list("pk", "name")) if pk is not None else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Agent]) -> QuerySet[Agent]:
        pk = integer_of(self.value() or "")
        return queryset if pk is None else queryset.filter(memberships__queue=pk)


class PauseForm(ReasonForm):
    pause = forms.ModelChoiceField(
        label=_("Pause"), queryset=Pause.objects.active(), widget=UnfoldAdminSelectWidget(), empty_label=None
    )


def _pause(agent: Agent, actor: Actor, pause: Pause, reason: str) -> bool:
    return presence.pause(agent, actor, pause.pk, reason=reason)


def _paused(form: PauseForm) -> str:
    return _now("paused for %(pause)s") % {"pause": form.cleaned_data["pause"]}


@admin.register(Agent)
class AgentAdmin(Admin):
    """Agents, their phones and their present states."""

    list_display = ("login", "full_name", "state", "since", "number", "group", "outbound_mode", "is_active")
    list_display_links = ("login", "full_name")
    list_further = ("name", "surname", "email", "has_line", "created_at", "updated_at", "id")
    list_filter = ("is_active", StateFilter, "outbound_mode", ("group", RelatedDropdownFilter), QueueFilter)
    list_select_related = ("group",)
    search_fields = ("login", "name", "surname", "number", "email")
    search_help_text = _("Login, name, number or e-mail")
    actions = ("log_out_selected", "pause_selected", "free_selected", "activate", "deactivate")
    actions_list = ("new_agent",)
    actions_detail = ("log_out", "pause", "free", "message")
    has_message_permission = needs("telephony.add_agentmessage")
    has_delete_permission = never  # calls and the ledger refer to it: it is made inactive
    readonly_fields = ("state_now",)
    inlines = (AgentSkillInline,)
    autocomplete_fields = ("user",)
    full_name = column(
        lambda agent: agent.full_name, description=pgettext_lazy("with the surname", "name"), ordering="surname"
    )
    state = column(lambda agent: (agent.current.status, label_of(agent.current)), description=_("state"), label=COLOURS)

    def get_fieldsets(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        now = [(_("Now"), {"fields": ("state_now",)})] if obj else []
        return [
            (None, {"fields": ("login", "is_active")}),
            *now,
            (_("Person"), {"fields": ("name", "surname", "email", "user")}),
            (_("Work"), {"fields": ("number", "group", "outbound_mode", "has_line", "uses_browser_phone")}),
        ]

    def complete_rows(self, rows: Sequence[Any]) -> None:
        states = current_states([agent.pk for agent in rows])
        for agent in rows:
            agent.current = states[agent.pk]

    @display(description=_("since"))
    def since(self, agent: Any) -> str:
        instant = agent.current.since
        if instant is None:
            return ""
        return format_html('<span class="cc-day">{}</span> ({})', second(instant), length(instant))

    @display(description=_("state"))
    def state_now(self, agent: Any) -> str:
        if not hasattr(agent, "current"):  # the theme calls this several times
            agent.current = current_states([agent.pk])[agent.pk]
        current: Current = agent.current
        links = [
            link(f"{reverse(f'admin:telephony_{model}_changelist')}?agent__id__exact={agent.pk}", text)
            for model, text in (("agentstate", _now("States")), ("agentsession", _now("Sessions")))
        ]
        since = _now("since %(time)s") % {"time": second(current.since)} if current.since else ""
        return format_html("{} {} · {} · {}", label_of(current), since, *links)

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and "is_active" in form.changed_data and not obj.is_active:
            presence.deactivate(obj, actor_of(request))
        if change and "has_line" in form.changed_data:
            end_lines_without_setting(obj)

    @page_action(description=_("New agent"), url_path="new-agent", icon="person_add", permissions=["add"])
    def new_agent(self, request: HttpRequest) -> HttpResponse:
        return new_agent_view(self, request)

    def _apply(self, request: HttpRequest, agents: Iterable[Agent], verb: Callable[[Agent], object], label: str) -> int:
        """Apply a verb to each agent, log it, and return the number of successes."""

        def apply(agent: Agent) -> object:
            outcome = verb(agent)
            self.log_change(request, agent, label)
            return outcome

        return self.apply_to_each(request, agents, apply)

    def _force(
        self, request: HttpRequest, object_id: str, form: Any, verb: Callable[..., object], said: Any, **texts: Any
    ) -> HttpResponse:
        """Ask for the reason and the like, then apply the verb with that to one agent."""
        agent = self.row_or_404(request, object_id)
        if not form.is_valid():
            return self.action_page(request, form=form, obj=agent, **texts)
        if self._apply(request, [agent], lambda one: verb(one, actor_of(request), **form.cleaned_data), said(form)):
            self.message_user(request, f"{agent}: {said(form)}", messages.SUCCESS)
        return redirect(self.back_url(request, agent))

    @page_action(description=_("Log out"), url_path="log-out", icon="logout", permissions=["change"])
    def log_out(self, request: HttpRequest, object_id: str) -> HttpResponse:
        intro = _now("The session ends. A call goes on, and the agent gets no other.")
        texts = {"title": _now("Log an agent out"), "submit": _now("Log out"), "intro": intro}
        return self._force(
            request, object_id, reason_form(request), presence.log_out, lambda form: _now("logged out"), **texts
        )

    @page_action(description=_("Pause"), url_path="pause", icon="pause_circle", permissions=["change"])
    def pause(self, request: HttpRequest, object_id: str) -> HttpResponse:
        pauses = [(pause.pk, pause.name) for pause in Pause.objects.active()]
        texts = {"title": _now("Pause an agent"), "submit": _now("Pause"), "intro": _now("Choose the pause.")}
        form = PauseForm(request.POST or None)
        return self._force(request, object_id, form, _pause, _paused, **texts, buttons=("pause", pauses))

    @page_action(description=_("Set ready"), url_path="free", icon="play_circle", permissions=["change"])
    def free(self, request: HttpRequest, object_id: str) -> HttpResponse:
        intro = _now("A pause or the wrap-up after a call ends: the agent gets calls again.")
        texts = {"title": _now("Set an agent ready"), "submit": _now("Set ready"), "intro": intro}
        return self._force(
            request, object_id, reason_form(request), presence.free, lambda form: pgettext("agent", "ready"), **texts
        )

    @page_action(description=_("Message"), url_path="message", icon="campaign", permissions=["message"])
    def message(self, request: HttpRequest, object_id: str) -> HttpResponse:
        agent = self.row_or_404(request, object_id, "view")
        return redirect(f"{reverse('admin:telephony_agentmessage_send')}?agent={agent.pk}")

    @admin.action(description=_("Log out"), permissions=["change"])
    @confirm_first(_("The sessions end. Calls go on, and the agents get no others."))
    def log_out_selected(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        chosen, actor = agents[:MAX_SELECTED], actor_of(request)
        count = self._apply(request, chosen, lambda agent: presence.log_out(agent, actor), _now("logged out"))
        self.say_done(request, ngettext("%(count)s agent logged out.", "%(count)s agents logged out.", count), count)

    @admin.action(description=_("Set ready"), permissions=["change"])
    def free_selected(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        chosen, actor = agents[:MAX_SELECTED], actor_of(request)
        count = self._apply(request, chosen, lambda agent: presence.free(agent, actor), pgettext("agent", "ready"))
        self.say_done(request, ngettext("%(count)s agent is ready.", "%(count)s agents are ready.", count), count)

    @admin.action(description=_("Pause"), permissions=["change"])
    def pause_selected(self, request: HttpRequest, agents: QuerySet[Agent]) -> HttpResponse | None:
        chosen, actor = list(agents[:MAX_SELECTED]), actor_of(request)
        form = PauseForm(request.POST if "apply" in request.POST else None)
        if not form.is_valid():
            intro = ngettext("%(count)s agent is paused.", "%(count)s agents are paused.", len(chosen))
            return self.action_page(
                request,
                title=_now("Pause agents"),
                submit=_now("Pause"),
                form=form,
                selected=chosen,
                intro=intro % {"count": len(chosen)},
            )
        count = self._apply(request, chosen, lambda one: _pause(one, actor, **form.cleaned_data), _paused(form))
        self.say_done(request, ngettext("%(count)s agent is paused.", "%(count)s agents are paused.", count), count)
        return None

    @admin.action(description=_("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        count = agents.exclude(is_active=True).update(is_active=True, updated_at=timezone.now())
        self.say_done(request, ngettext("%(count)s agent activated.", "%(count)s agents activated.", count), count)

    @admin.action(description=_("Deactivate"), permissions=["change"])
    @confirm_first(
        _("The agents are logged out and cannot log in again until they are activated. Calls go on."), is_active=True
    )
    def deactivate(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        actor, working = actor_of(request), agents.exclude(is_active=False)[:MAX_SELECTED]
        count = self._apply(request, working, lambda agent: presence.deactivate(agent, actor), _now("inactive"))
        self.say_done(request, ngettext("%(count)s agent deactivated.", "%(count)s agents deactivated.", count), count)


@admin.register(AgentGroup)
class AgentGroupAdmin(Admin):
    """Groups of agents for planning and reports."""

    list_display = ("name", "agents_count")
    agents_count = column(lambda group: group.agent_count, description=_("active agents"), ordering="agent_count")
    fields = ("name",)
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentGroup]:
        active = Count("agents", filter=Q(agents__is_active=True))
        groups: QuerySet[AgentGroup] = super().get_queryset(request)
        return groups.annotate(agent_count=active)
