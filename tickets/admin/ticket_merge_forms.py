"""The forms of a merge: the number of another ticket, and the confirmation if the tickets are of several people."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from callcentre.core.integers import integer_of
from callcentre.core.scope import ALL, Scope
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


class OtherTicketForm(MergeConfirmationForm):
    """The number of another ticket, the number that the page has shown, and the confirmation of a merge."""

    number = forms.CharField(
        label=_("Number of the other ticket"),
        max_length=20,
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "numeric", "autofocus": True}),
    )
    shown = forms.CharField(widget=forms.HiddenInput, required=False)

    other: Ticket | None = None
    field_order = ("number", "shown", "is_meant")

    def __init__(
        self, ticket: Ticket, *args: Any, scope: Scope = ALL, people: Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.ticket, self.scope = ticket, scope
        self.ask_about(people)

    def clean_number(self) -> str:
        number: str = self.cleaned_data["number"].strip().lstrip("#")
        if (pk := integer_of(number)) is None:
            raise ValidationError(_now("A ticket's number has digits only."))
        tickets = self.scope.within(Ticket.objects.select_related("customer", "status"))
        self.other = tickets.filter(pk=pk).first()
        if self.other is None:
            raise ValidationError(_now("There is no ticket with this number."))
        if self.other.pk == self.ticket.pk:
            raise ValidationError(_now("This is the ticket itself."))
        return str(self.other.pk)
