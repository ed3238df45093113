"""Calls and mails to a customer from the page of the customer."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from callcentre.admin import Admin, actor_of, user_of
from callcentre.admin.base import REFUSALS
from callcentre.admin.scope import scope_of
from callcentre.core.integers import integer_of
from telephony.models import Agent
from telephony.verbs.connections import call
from tickets.admin.ticket_page_forms import QueueField, offer_choices
from tickets.models import Customer
from tickets.verbs.outgoing import write_to_customer


class OutgoingForm(forms.Form):
    """The first mail of a ticket, to one of the customer's addresses."""

    recipient = forms.ChoiceField(label=_("To"), widget=UnfoldAdminSelectWidget())
    subject = forms.CharField(label=_("Subject"), max_length=500, widget=UnfoldAdminTextInputWidget())
    body = forms.CharField(label=_("Text"), max_length=2_000_000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 12}))
    queue = QueueField()

    fault_fields = {"queue_id": "queue", "sender": "recipient"}

    def __init__(self, emails: list[str], *args: Any) -> None:
        super().__init__(*args)
        recipient: Any = self.fields["recipient"]
        recipient.choices = [(email, email) for email in emails]
        recipient.initial = emails[0]


def contact_of(request: HttpRequest, customer: Customer) -> dict[str, Any]:
    """Return the numbers and the address of the page, and what the user may do with them."""
    agent = Agent.objects.of_user(user_of(request))
    may_open = request.user.has_perm("tickets.add_ticket")
    return {
        "numbers": list(customer.numbers.all()),
        "may_call": agent is not None and bool(agent.number),
        "may_write": agent is not None and may_open,
        "new_ticket_url": f"{reverse('admin:tickets_ticket_add')}?customer={customer.pk}" if may_open else "",
    }


def call_view(admin: Admin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Ring the phone of the user's agent, then call one of the customer's numbers."""
    customer: Customer = admin.row_or_404(request, object_id, "view")
    agent = Agent.objects.of_user(user_of(request))
    if request.method != "POST" or agent is None or not agent.number:
        raise PermissionDenied
    number = customer.numbers.filter(pk=integer_of(request.POST.get("number", "")) or 0).first()
    if number is None:
        raise Http404
    try:
        call(actor_of(request), sip=agent.number, phone_number=number.number, customer_id=customer.pk)
    except REFUSALS as refusal:
        admin.say_refused(request, refusal)
    else:
        said = _now("Your phone %(sip)s rings; pick up, and %(number)s is called.")
        values = {"sip": agent.number, "number": number.phone_number}
        admin.message_user(request, said % values, messages.SUCCESS)
    return redirect(admin.url_of("change", customer.pk))


def write_view(admin: Admin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Write a mail to the customer. It opens a ticket, which gets the answer."""
    customer: Customer = admin.row_or_404(request, object_id, "view")
    agent = Agent.objects.of_user(user_of(request))
    if agent is None or customer.merged_into_id or not request.user.has_perm("tickets.add_ticket"):
        raise PermissionDenied
    emails = customer.emails
    if not emails:
        raise Http404(_now("The customer has no e-mail address."))
    form = OutgoingForm(emails, request.POST or None)
    offer_choices(form, scope_of(request))
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        try:
            message = write_to_customer(
                customer,
                actor_of(request),
                recipient=values["recipient"],
                agent_login=agent.login,
                subject=values["subject"],
                body=values["body"],
                queue_id=values["queue"],
            )
        except REFUSALS as refusal:
            admin.add_refusals(form, refusal)
        else:
            admin.message_user(request, _now("The mail waits to be sent; its ticket is open."), messages.SUCCESS)
            return redirect("admin:tickets_ticket_change", message.ticket_id)
    return admin.action_page(
        request,
        title=_now("Write to the customer"),
        submit=_now("Send"),
        form=form,
        obj=customer,
        intro=_now("The mail opens a ticket of yours. The customer's answer comes there."),
    )
