"""The question before a merge of tickets that belong to different people."""

from collections.abc import Iterable, Sequence

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldBooleanWidget

from callcentre.lists.runs import some_of
from tickets.models import Ticket


def people_of(tickets: Iterable[Ticket]) -> list[str]:
    """Return the names of the customers of these tickets, and of senders who are no customers, each once."""
    tickets = list(tickets)
    customers = {ticket.customer.pk: ticket.customer for ticket in tickets if ticket.customer}
    by_address = {customer.email.lower(): customer for customer in customers.values() if customer.email}
    people: dict[int | str, str] = {}
    for ticket in tickets:
        sender = ticket.sender.lower()
        if customer := ticket.customer or by_address.get(sender):
            people[customer.pk] = f"{customer} ({customer.email or customer.pk})"
        else:
            people.setdefault(sender, ticket.sender_name or ticket.sender or _now("unknown"))
    return list(people.values())


class MergeConfirmationForm(forms.Form):
    """A form that asks for confirmation if tickets of several people become one."""

    is_meant = forms.BooleanField(
        required=False, widget=UnfoldBooleanWidget(), error_messages={"required": _("Tick it, or do not merge.")}
    )

    def ask_about(self, people: Sequence[str]) -> None:
        if len(people) < 2:
            self.fields.pop("is_meant", None)
            return
        self.fields["is_meant"].required = True
        self.fields["is_meant"].label = _now("Merge tickets of different customers: %(people)s") % {
            "people": some_of(people)
        }
