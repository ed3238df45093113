"""What is done to many tickets at once: each by the verb, and of those that refuse it is said why."""

from collections import defaultdict
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

from callcentre.admin import Admin, actor_of
from callcentre.admin.base import MAX_SELECTED, REFUSALS
from callcentre.core.errors import ErrorCode, Fault
from tickets.admin.merge_confirmation import NAMED, PeopleForm, people_of
from tickets.admin.ticket_page_forms import agents_for, queues_for, status_values, statuses_for, tags_of
from tickets.models import Ticket
from tickets.verbs.merges import merge_tickets
from tickets.verbs.tickets import edit_ticket


class AssignForm(forms.Form):
    agent = forms.ChoiceField(label=_("Agent"), required=False, widget=UnfoldAdminSelectWidget())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own: dict[str, Any] = self.fields
        own["agent"].choices = [("", _("nobody")), *agents_for(None)]

    def values(self, ticket: Ticket) -> dict[str, Any]:
        return {"agent_login": self.cleaned_data["agent"]}


class StatusForm(forms.Form):
    status = forms.ChoiceField(label=_("Status"), widget=UnfoldAdminSelectWidget())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own: dict[str, Any] = self.fields
        own["status"].choices = statuses_for(None)

    def values(self, ticket: Ticket) -> dict[str, Any]:
        return status_values(self.cleaned_data["status"])


class QueueForm(forms.Form):
    queue = forms.ChoiceField(label=_("Ticket queue"), widget=UnfoldAdminSelectWidget())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own: dict[str, Any] = self.fields
        own["queue"].choices = queues_for(None)

    def values(self, ticket: Ticket) -> dict[str, Any]:
        return {"queue_id": int(self.cleaned_data["queue"])}


class TagsForm(forms.Form):
    added = forms.CharField(
        label=_("Add tags"), required=False, help_text=_("Commas between them."), widget=UnfoldAdminTextInputWidget()
    )
    removed = forms.CharField(
        label=_("Remove tags"), required=False, help_text=_("Commas between them."), widget=UnfoldAdminTextInputWidget()
    )

    def clean(self) -> dict[str, Any]:
        for name in ("added", "removed"):
            if any(len(tag) > 100 for tag in tags_of(self.cleaned_data.get(name, ""))):
                raise ValidationError({name: _now("A tag has at most 100 characters.")})
        return self.cleaned_data

    def values(self, ticket: Ticket) -> dict[str, Any]:
        removed = set(tags_of(self.cleaned_data["removed"]))
        kept = [tag for tag in ticket.tags if tag not in removed]
        return {"tags": list(dict.fromkeys([*kept, *tags_of(self.cleaned_data["added"])]))}


class TicketBulkActions(Admin):
    """Actions of the list of tickets."""

    actions = ("assign_selected", "set_status", "move_to_queue", "change_tags", "merge_selected")

    @admin.action(description=_("Assign to an agent"), permissions=["change"])
    def assign_selected(self, request: HttpRequest, tickets: QuerySet[Ticket]) -> Any:
        return self._edit_selected(request, tickets, AssignForm, _now("Assign to an agent"))

    @admin.action(description=_("Set the status"), permissions=["change"])
    def set_status(self, request: HttpRequest, tickets: QuerySet[Ticket]) -> Any:
        return self._edit_selected(request, tickets, StatusForm, _now("Set the status"))

    @admin.action(description=_("Move to another queue"), permissions=["change"])
    def move_to_queue(self, request: HttpRequest, tickets: QuerySet[Ticket]) -> Any:
        return self._edit_selected(request, tickets, QueueForm, _now("Move to another queue"))

    @admin.action(description=_("Change tags"), permissions=["change"])
    def change_tags(self, request: HttpRequest, tickets: QuerySet[Ticket]) -> Any:
        return self._edit_selected(request, tickets, TagsForm, _now("Change tags"))

    @admin.action(description=_("Merge into the oldest of them"), permissions=["change"])
    def merge_selected(self: Any, request: HttpRequest, tickets: QuerySet[Ticket]) -> Any:
        """Those that were merged before have no messages any more: none of them is the target, and they are named."""
        selected = list(tickets.select_related("customer").order_by("pk")[: MAX_SELECTED + 1])
        if self._are_too_many(request, selected):
            return None
        refused = [
            (ticket, self.sentence(Fault(ErrorCode.TICKET_MERGED, params={"ticket_id": ticket.merged_into_id})))
            for ticket in selected
            if ticket.merged_into_id
        ]
        joined = [ticket for ticket in selected if not ticket.merged_into_id]
        if len(joined) < 2:
            sentence = _now("Two tickets or more are merged that were not merged before.")
            self.message_user(request, sentence, messages.ERROR)
            self._report(request, len(refused), refused)
            return None
        target, *sources = joined
        form = PeopleForm(request.POST if "apply" in request.POST else None)
        form.ask_about(people_of(joined))
        if form.is_valid():
            for source in sources:
                self._attempt(refused, source, lambda source=source: merge_tickets(source, target, actor_of(request)))
            self._report(request, len(selected) - 1, refused)
            return None
        intro = _now("All messages move to %(ticket)s; the others are closed.") % {"ticket": target}
        if refused:
            numbers = ", ".join(f"#{ticket.pk}" for ticket, _sentence in refused)
            left_out = _now("Left out, because they were merged before: %(tickets)s.") % {"tickets": numbers}
            intro = f"{intro} {left_out}"
        return self.action_page(
            request,
            title=_now("Merge into the oldest of them"),
            submit=_now("Merge"),
            form=form,
            selected=selected,
            intro=intro,
        )

    def _edit_selected(self: Any, request: HttpRequest, tickets: QuerySet[Ticket], form_type: Any, title: str) -> Any:
        selected = list(tickets.order_by("pk")[: MAX_SELECTED + 1])
        if self._are_too_many(request, selected):
            return None
        form = form_type(request.POST if "apply" in request.POST else None)
        if form.is_bound and form.is_valid():
            refused: list[tuple[Ticket, str]] = []
            for ticket in selected:
                values = form.values(ticket)
                self._attempt(
                    refused,
                    ticket,
                    lambda ticket=ticket, values=values: edit_ticket(ticket, actor_of(request), **values),
                )
            self._report(request, len(selected), refused)
            return None
        count = len(selected)
        intro = ngettext("%(count)s ticket is selected.", "%(count)s tickets are selected.", count) % {"count": count}
        return self.action_page(request, title=title, submit=title, form=form, selected=selected, intro=intro)

    def _are_too_many(self: Any, request: HttpRequest, selected: list[Ticket]) -> bool:
        if len(selected) > MAX_SELECTED:
            sentence = _now("At most %(count)s tickets at once.") % {"count": MAX_SELECTED}
            self.message_user(request, sentence, messages.ERROR)
        return len(selected) > MAX_SELECTED

    def _attempt(self: Any, refused: list[tuple[Ticket, str]], ticket: Ticket, change: Any) -> None:
        """One that is refused stops no other."""
        try:
            with transaction.atomic():
                change()
        except REFUSALS as refusal:
            refused += [(ticket, sentence) for _field, sentence in self.refusals_of(refusal)]

    def _report(self: Any, request: HttpRequest, count: int, refused: list[tuple[Ticket, str]]) -> None:
        """How many were changed, and of the others why not: a sentence a reason, with some of their numbers."""
        done = count - len({ticket.pk for ticket, _sentence in refused})
        if done:
            sentence = ngettext("%(count)s ticket changed.", "%(count)s tickets changed.", done)
            self.message_user(request, sentence % {"count": done}, messages.SUCCESS)
        reasons: dict[str, list[str]] = defaultdict(list)
        for ticket, sentence in refused:
            reasons[sentence].append(f"#{ticket.pk}")
        for sentence, numbers in reasons.items():
            more = _now(" and %(count)s more") % {"count": len(numbers) - NAMED} if len(numbers) > NAMED else ""
            listed = ", ".join(numbers[:NAMED]) + more
            said = _now("Not changed: %(numbers)s. %(reason)s") % {"numbers": listed, "reason": sentence}
            self.message_user(request, said, messages.ERROR)
