"""Queues, their agents, opening hours and waiting callers."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget

from callcentre.admin import Admin, Inline, WeekdaysInline, column, confirm_first, display, never, user_of
from callcentre.admin.scope import scope_of
from callcentre.admin.theme import ModelForm
from callcentre.core.phone import normalise_prefix
from callcentre.core.times import spell_length
from telephony import models, queue_waits
from telephony.admin.call_columns import CustomerColumn
from telephony.admin.menus import PromptInline
from telephony.admin.state_labels import length
from telephony.calls.why_waiting import explain
from telephony.customers import customers_of, name_beside, ticket_queues
from telephony.leader_election import is_connected
from telephony.numbers import comparable, is_number


class AgentSkillInline(Inline):
    tab = True
    model: Any = models.AgentSkill
    fields = ("skill", "level")
    autocomplete_fields = ("skill",)
    verbose_name_plural = _("skills")


class RequiredSkillInline(AgentSkillInline):
    model = models.RequiredSkill
    verbose_name_plural = _("required skills")


@admin.register(models.Skill)
class SkillAdmin(Admin):
    """Skills that agents have and queues require."""

    list_display = ("name",)
    search_fields = ("name",)
    fields = ("name",)


class CallerPriorityForm(ModelForm):
    class Meta:
        model = models.CallerPriority
        fields = ("number", "steps", "remark")

    def clean_number(self) -> str:
        """Return a number in its normal form, or the beginning of such numbers."""
        raw = self.cleaned_data["number"].strip()
        number = normalise_prefix(raw) if raw.startswith(("+", "00")) else comparable(raw)
        if not number or not is_number(number):
            raise forms.ValidationError(_("Give a number, or the beginning of numbers with + and the country."))
        return number


@admin.register(models.CallerPriority)
class CallerPriorityAdmin(CustomerColumn, Admin):
    """Callers who come before others, or after them."""

    form = CallerPriorityForm
    list_display = ("number", "customer", "steps", "remark")
    search_fields = ("number", "remark")
    fields = ("number", "steps", "remark")

    def save_model(self, request: HttpRequest, obj: models.CallerPriority, form: Any, change: bool) -> None:
        found = customers_of([obj.number]).get(obj.number)
        obj.customer_id = found.id if found else None
        super().save_model(request, obj, form, change)


def waiting_of(request: HttpRequest, call: models.Connection) -> dict[str, Any]:
    """Return why no phone rings for a waiting caller: the context of `admin/telephony/why_waiting.html`.

    Agents outside the person's scope are counted, not named.
    """
    if call.state != models.Connection.State.WAITING or call.waiting_since is None:
        return {}
    if (why := explain(call, timezone.now())) is None:
        return {}
    agents = scope_of(request).within(models.Agent.objects.filter(pk__in=[member.agent_id for member in why.members]))
    seen = set(agents.order_by().values_list("pk", flat=True))
    members = [member for member in why.members if member.agent_id in seen]
    counts = {"before": why.place - 1, "others": len(why.members) - len(members)}
    return {"why": why, "members": members, "is_connected": is_connected(), **counts}


class MemberInline(Inline):
    tab = True
    model = models.QueueMember
    fields = ("agent", "priority")
    autocomplete_fields = ("agent",)
    verbose_name_plural = _("agents")

    def get_queryset(self, request: HttpRequest) -> QuerySet[models.QueueMember]:
        return super().get_queryset(request).select_related("agent")


class HoursInline(WeekdaysInline):
    tab = True
    model = models.OpeningHours
    fields = ("weekday", "opens_at", "closes_at")


class QueueForm(ModelForm):
    voicemail_ticket_queue_id = forms.TypedChoiceField(
        label=_("Tickets of messages in"), required=False, coerce=int, empty_value=None, widget=UnfoldAdminSelectWidget
    )


@admin.register(models.Queue)
class QueueAdmin(Admin):
    """Queues, with their waiting callers, estimated wait and free agents."""

    form = QueueForm
    list_display = ("name", "number", "waiting", "longest", "estimate", "free_agents", "is_active")
    list_further = (
        *(
            "priority",
            "step_seconds",
            "ring_seconds",
            "wrap_up_seconds",
            "topic_minutes",
            "longest_wait_seconds",
            "overflow_queue",
        ),
        *("overflow_number", "music_class", "callback_key", "callback_after_seconds", "id"),
    )
    list_select_related = ("overflow_queue",)
    list_filter = ("is_active",)
    search_fields = ("name", "number")
    search_help_text = _("Name or number")
    actions = ("activate", "deactivate")
    has_delete_permission = never  # calls refer to it: it is made inactive
    autocomplete_fields = ("overflow_queue",)
    fieldsets = (
        (None, {"fields": ("name", "number", "is_active", "priority", "step_seconds")}),
        (_("Agents' work"), {"fields": ("ring_seconds", "wrap_up_seconds", "topic_minutes")}),
        (_("Waiting"), {"fields": ("longest_wait_seconds", "most_waiting", "overflow_queue", "overflow_number")}),
        (_("Prompts"), {"fields": ("music_class", "prompt_seconds", "prompt_language")}),
        (_("Voicemail"), {"fields": ("has_voicemail", "voicemail_seconds", "voicemail_ticket_queue_id")}),
        (
            _("Call-backs"),
            {"fields": ("callback_key", "callback_after_seconds", "callback_attempts", "callback_minutes")},
        ),
    )
    inlines = (MemberInline, RequiredSkillInline, HoursInline, PromptInline)
    change_form_outer_before_template = "admin/telephony/callers.html"

    waiting = column(lambda queue: queue.situation.waiting, description=pgettext_lazy("of callers", "waiting"))
    longest = column(lambda queue: length(queue.situation.longest_since) or "–", description=_("longest"))
    free_agents = column(
        lambda queue: f"{queue.situation.free} / {queue.situation.serving}", description=_("agents ready / at work")
    )

    class Media:
        js = ("callcentre/live.js",)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form, name = super().get_form(request, obj, change=change, **kwargs), "voicemail_ticket_queue_id"
        if name in form.base_fields:
            form.base_fields[name] = field = deepcopy(form.base_fields[name])
            offered, chosen = ticket_queues(user_of(request)), getattr(obj, name, None)
            # One outside the scope of the person stays, without its name.
            kept = [(chosen, _("as it is"))] if chosen and chosen not in dict(offered) else []
            field.choices = [("", _("no tickets")), *kept, *offered]
        return form

    def complete_rows(self, rows: Sequence[Any]) -> None:
        found = queue_waits.situations([queue.pk for queue in rows])
        for queue in rows:
            queue.situation = found[queue.pk]

    @display(description=_("estimated wait"))
    def estimate(self, queue: Any) -> str:
        seconds = queue.situation.estimated_seconds
        return "–" if seconds is None else spell_length(seconds)

    def page_context(self, request: HttpRequest, obj: models.Queue | None) -> dict[str, Any]:
        if obj is None:
            return {}
        callers = [
            (caller, name_beside(caller["number"], caller["customer_label"]), length(caller["since"]))
            for caller in queue_waits.callers(obj)
        ]
        return {"callers": callers, "is_open": obj.is_open(timezone.now())}

    @admin.action(description=_("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, queues: QuerySet[models.Queue]) -> None:
        count = queues.exclude(is_active=True).update(is_active=True, updated_at=timezone.now())
        sentence = ngettext("%(count)s queue activated.", "%(count)s queues activated.", count)
        self.say_done(request, sentence, count)

    @admin.action(description=_("Deactivate"), permissions=["change"])
    @confirm_first(
        _("The queues take no more callers: a new caller goes where the queue overflows, or is disconnected."),
        is_active=True,
    )
    def deactivate(self, request: HttpRequest, queues: QuerySet[models.Queue]) -> None:
        count = queues.exclude(is_active=False).update(is_active=False, updated_at=timezone.now())
        sentence = ngettext("%(count)s queue deactivated.", "%(count)s queues deactivated.", count)
        self.say_done(request, sentence, count)
