"""The actions of the list of tickets. Each ticket is changed by its verb; the reasons of refusals are shown."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from callcentre.admin import Admin, actor_of, user_of
from callcentre.admin.base import MAX_SELECTED, REFUSALS
from callcentre.admin.scope import scope_of
from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault
from callcentre.lists.runs import run_of
from telephony.models import Agent
from tickets.admin.ticket_merge_forms import MergeConfirmationForm, people_of
from tickets.admin.ticket_page_forms import (
    AgentField,
    QueueField,
    offer_choices,
    status_values,
    statuses_for,
    tags_of,
)
from tickets.models import Macro, Ticket
from tickets.models.ticket import LONGEST_TAG
from tickets.verbs.automation import use_macro
from tickets.verbs.merges import merge_tickets
from tickets.verbs.tickets import edit_ticket

# A ticket and the reason why it was not changed.
Refused = tuple[Ticket, str]


class EditForm(forms.Form):
    """The form of an action on each ticket. `person` is the agent of the person who does it."""

    person: Agent | None = None

    def do(self, ticket: Ticket, actor: Actor) -> bool:
        """Change the ticket, and return whether that changed anything."""
        return bool(edit_ticket(ticket, actor, **self.values(ticket)))

    def values(self, ticket: Ticket) -> dict[str, Any]:
        raise NotImplementedError


class MacroForm(EditForm):
    macro = forms.ModelChoiceField(
        Macro.objects.filter(is_active=True), label=_("Macro"), widget=UnfoldAdminSelectWidget()
    )

    def do(self, ticket: Ticket, actor: Actor) -> bool:
        use_macro(ticket, self.cleaned_data["macro"], actor, self.person)
        return True


class AssignForm(EditForm):
    agent = AgentField()

    def values(self, ticket: Ticket) -> dict[str, Any]:
        return {"agent_login": self.cleaned_data["agent"]}


class StatusForm(EditForm):
    status = forms.ChoiceField(label=_("Status"), choices=statuses_for, widget=UnfoldAdminSelectWidget())

    def values(self, ticket: Ticket) -> dict[str, Any]:
        return status_values(self.cleaned_data["status"])


class QueueForm(EditForm):
    queue = QueueField()

    def values(self, ticket: Ticket) -> dict[str, Any]:
        return {"queue_id": self.cleaned_data["queue"]}


class TagsForm(EditForm):
    added = forms.CharField(
        label=_("Add tags"), required=False, help_text=_("Commas between them."), widget=UnfoldAdminTextInputWidget()
    )
    removed = forms.CharField(
        label=_("Remove tags"), required=False, help_text=_("Commas between them."), widget=UnfoldAdminTextInputWidget()
    )

    def clean(self) -> dict[str, Any]:
        super().clean()
        for name in ("added", "removed"):
            if any(len(tag) > LONGEST_TAG for tag in tags_of(self.cleaned_data.get(name, ""))):
                raise ValidationError({name: _now("A tag has at most 100 characters.")})
        return self.cleaned_data

    def values(self, ticket: Ticket) -> dict[str, Any]:
        removed = set(tags_of(self.cleaned_data["removed"]))
        kept = [tag for tag in ticket.tags if tag not in removed]
        return {"tags": list(dict.fromkeys([*kept, *tags_of(self.cleaned_data["added"])]))}


def _action(name: str, form_type: type[EditForm], title: Any) -> Any:
    """Return the action of this name that asks by a form, and changes each ticket by it."""

    def action(model_admin: Admin, request: HttpRequest, tickets: QuerySet[Ticket]) -> Any:
        return _edit(model_admin, request, tickets, form_type, str(title))

    action.__name__ = name
    return admin.action(action, description=title, permissions=["change"])


assign_selected = _action("assign_selected", AssignForm, _("Assign to an agent"))
set_status = _action("set_status", StatusForm, _("Set the status"))
move_to_queue = _action("move_to_queue", QueueForm, _("Move to another queue"))
change_tags = _action("change_tags", TagsForm, _("Change tags"))
use_macro_on_selected = _action("use_macro_on_selected", MacroForm, _("Use a macro"))


@admin.action(description=_("Merge into the oldest of them"), permissions=["change"])
def merge_selected(model_admin: Admin, request: HttpRequest, tickets: QuerySet[Ticket]) -> Any:
    """Merge the tickets. Leave out tickets that were merged before, as they have no messages, and name them."""
    selected = list(tickets.select_related("customer").order_by("pk")[: MAX_SELECTED + 1])
    if _are_too_many(model_admin, request, selected):
        return None
    joined = [ticket for ticket in selected if not ticket.merged_into_id]
    refused = [
        (ticket, model_admin.sentence(Fault(ErrorCode.TICKET_MERGED, params={"ticket_id": ticket.merged_into_id})))
        for ticket in selected
        if ticket.merged_into_id
    ]
    if len(joined) < 2:
        sentence = _now("Two tickets or more are merged that were not merged before.")
        model_admin.message_user(request, sentence, messages.ERROR)
        _report(model_admin, request, len(refused), refused)
        return None
    target, *sources = joined
    form = MergeConfirmationForm(request.POST if "apply" in request.POST else None)
    form.ask_about(people_of(joined))
    if form.is_valid():
        actor = actor_of(request)
        refused += _apply_to_each(model_admin, sources, lambda source: merge_tickets(source, target, actor))
        _report(model_admin, request, len(selected) - 1, refused)
        return None
    intro = _now("All messages move to %(ticket)s; the others are closed.") % {"ticket": target}
    if refused:
        numbers = ", ".join(f"#{ticket.pk}" for ticket, _sentence in refused)
        left_out = _now("Left out, because they were merged before: %(tickets)s.") % {"tickets": numbers}
        intro = f"{intro} {left_out}"
    title = _now("Merge into the oldest of them")
    return model_admin.action_page(
        request, title=title, submit=_now("Merge"), form=form, selected=selected, intro=intro
    )


# Merging is of the selected tickets as a whole; all that match would become one ticket.
merge_selected.is_together = True  # type: ignore[attr-defined]

ACTIONS = (assign_selected, set_status, move_to_queue, change_tags, use_macro_on_selected, merge_selected)


def _edit(model_admin: Admin, request: HttpRequest, tickets: QuerySet[Ticket], form_type: Any, title: str) -> Any:
    selected = list(tickets.order_by("pk")[: MAX_SELECTED + 1])
    if _are_too_many(model_admin, request, selected):
        return None
    form = form_type(request.POST if "apply" in request.POST else None)
    form.person = Agent.objects.of_user(user_of(request))
    offer_choices(form, scope_of(request))
    if form.is_valid():
        actor = actor_of(request)
        refused = _apply_to_each(model_admin, selected, lambda ticket: run_of(request).note(form.do(ticket, actor)))
        _report(model_admin, request, len(selected), refused)
        return None
    count = len(selected)
    intro = ngettext("%(count)s ticket is selected.", "%(count)s tickets are selected.", count) % {"count": count}
    return model_admin.action_page(request, title=title, submit=title, form=form, selected=selected, intro=intro)


def _are_too_many(model_admin: Admin, request: HttpRequest, selected: list[Ticket]) -> bool:
    if len(selected) > MAX_SELECTED:
        sentence = _now("At most %(count)s tickets at once.") % {"count": MAX_SELECTED}
        model_admin.message_user(request, sentence, messages.ERROR)
    return len(selected) > MAX_SELECTED


def _apply_to_each(model_admin: Admin, tickets: list[Ticket], verb: Callable[[Ticket], object]) -> list[Refused]:
    """Apply a verb to each ticket, and return the refusals. One refusal stops no other ticket."""
    refused: list[Refused] = []
    for ticket in tickets:
        try:
            with transaction.atomic():
                verb(ticket)
        except REFUSALS as refusal:
            refused += [(ticket, sentence) for _field, sentence in model_admin.refusals_of(refusal)]
    return refused


def _report(model_admin: Admin, request: HttpRequest, count: int, refused: list[Refused]) -> None:
    """Show the number of changed tickets and the reasons of refusals."""
    done = count - len({ticket.pk for ticket, _sentence in refused})
    if done:
        sentence = ngettext("%(count)s ticket changed.", "%(count)s tickets changed.", done)
        model_admin.say_done(request, sentence, done)
    model_admin.say_all_refused(request, [(f"#{ticket.pk}", sentence) for ticket, sentence in refused])
