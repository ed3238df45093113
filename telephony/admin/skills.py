"""The skills of agents and queues, the priorities of callers, and the reasons why a caller still waits."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, Inline, display, link
from callcentre.admin.scope import scope_of
from callcentre.admin.theme import ModelForm
from callcentre.core.phone import normalise_prefix
from telephony.calls.why_waiting import explain
from telephony.customers import customers_of, name_beside, pages_of_customers
from telephony.leader_election import is_connected
from telephony.models import Agent, AgentSkill, CallerPriority, Connection, RequiredSkill, Skill
from telephony.numbers import comparable, is_number


class AgentSkillInline(Inline):
    tab = True
    model = AgentSkill
    fields = ("skill", "level")
    autocomplete_fields = ("skill",)
    verbose_name_plural = _("skills")


class RequiredSkillInline(Inline):
    tab = True
    model = RequiredSkill
    fields = ("skill", "level")
    autocomplete_fields = ("skill",)
    verbose_name_plural = _("required skills")


@admin.register(Skill)
class SkillAdmin(Admin):
    """Skills that agents have and queues require."""

    list_display = ("name",)
    search_fields = ("name",)
    fields = ("name",)


class CallerPriorityForm(ModelForm):
    class Meta:
        model = CallerPriority
        fields = ("number", "steps", "remark")

    def clean_number(self) -> str:
        """Return a number in its normal form, or the beginning of such numbers."""
        raw = self.cleaned_data["number"].strip()
        number = normalise_prefix(raw) if raw.startswith(("+", "00")) else comparable(raw)
        if not number or not is_number(number):
            raise forms.ValidationError(_("Give a number, or the beginning of numbers with + and the country."))
        return number


@admin.register(CallerPriority)
class CallerPriorityAdmin(Admin):
    """Callers who come before others, or after them."""

    form = CallerPriorityForm
    list_display = ("number", "customer", "steps", "remark")
    search_fields = ("number", "remark")
    fields = ("number", "steps", "remark")

    def save_model(self, request: HttpRequest, obj: CallerPriority, form: Any, change: bool) -> None:
        found = customers_of([obj.number]).get(obj.number)
        obj.customer_id = found.id if found else None
        super().save_model(request, obj, form, change)

    def complete_rows(self, rows: Sequence[Any]) -> None:
        customers = pages_of_customers({row.customer_id for row in rows if row.customer_id})
        for row in rows:
            row.known_customer = customers.get(row.customer_id)

    @display(description=_("customer"))
    def customer(self, row: Any) -> str:
        if row.known_customer is None:
            return "–"
        customer, address = row.known_customer
        return link(address, name_beside(row.number, customer.label) or _("unknown"))


def waiting_of(request: HttpRequest, call: Connection) -> dict[str, Any]:
    """Return why no phone rings for a waiting caller: the context of `admin/telephony/why_waiting.html`.

    Agents outside the person's scope are counted, not named.
    """
    if call.state != Connection.State.WAITING or call.waiting_since is None:
        return {}
    if (why := explain(call, timezone.now())) is None:
        return {}
    agents = scope_of(request).within(Agent.objects.filter(pk__in=[member.agent_id for member in why.members]))
    seen = set(agents.order_by().values_list("pk", flat=True))
    members = [member for member in why.members if member.agent_id in seen]
    counts = {"before": why.place - 1, "others": len(why.members) - len(members)}
    return {"why": why, "members": members, "is_connected": is_connected(), **counts}
