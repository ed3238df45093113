"""The page on which a person opens a ticket for a customer who called or came in."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from callcentre.admin import Admin, actor_of, user_of
from callcentre.admin.base import REFUSALS
from callcentre.admin.scope import scope_of
from callcentre.core.integers import integer_of
from telephony.models import Agent
from tickets.admin.customer_forms import CustomerSelect
from tickets.admin.ticket_page_forms import CategoryField, QueueField, offer_choices
from tickets.models import Customer, Source
from tickets.verbs.tickets import open_ticket


class OpeningForm(forms.Form):
    """The customer, the source and the first message of a new ticket."""

    source = forms.ChoiceField(
        label=_("Source"), choices=Source.choices, initial=Source.PHONE, widget=UnfoldAdminSelectWidget()
    )
    customer = forms.ModelChoiceField(label=_("Customer"), queryset=Customer.objects.current(), required=False)
    sender = forms.CharField(
        label=_("E-mail, number or name"),
        max_length=320,
        required=False,
        widget=UnfoldAdminTextInputWidget(),
        help_text=_(
            "A reply by mail goes to this address, else to the customer's. A customer with the address is found by it."
        ),
    )
    subject = forms.CharField(label=_("Subject"), max_length=500, widget=UnfoldAdminTextInputWidget())
    body = forms.CharField(
        label=_("What the customer says"), max_length=2_000_000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 8})
    )
    queue = QueueField()
    category = CategoryField()
    take = forms.BooleanField(label=_("Assign to me"), required=False, initial=True, widget=UnfoldBooleanWidget())

    fault_fields = {"queue_id": "queue", "category_id": "category", "customer_id": "customer"}

    def __init__(self, *args: Any, is_agent: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        customer: Any = self.fields["customer"]
        customer.widget = CustomerSelect(customer.choices)
        if not is_agent:
            del self.fields["take"]


def add_view(admin: Admin, request: HttpRequest) -> HttpResponse:
    if not admin.has_add_permission(request):
        raise PermissionDenied
    agent = Agent.objects.of_user(user_of(request))
    known = Customer.objects.current().filter(pk=integer_of(request.GET.get("customer", "")) or 0).first()
    initial = {"customer": known, "sender": request.GET.get("sender") or (known.email if known else "")}
    form = OpeningForm(request.POST or None, initial=initial, is_agent=agent is not None)
    offer_choices(form, scope_of(request))
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        try:
            message = open_ticket(
                actor_of(request),
                subject=values["subject"],
                body=values["body"],
                source=values["source"],
                sender=values["sender"],
                sender_name=str(values["customer"] or ""),
                queue_id=values["queue"],
                category_id=values["category"],
                customer_id=values["customer"].pk if values["customer"] else None,
                agent_login=agent.login if agent and values.get("take") else "",
            )
            admin.message_user(request, _now("The ticket is open."), messages.SUCCESS)
            return redirect(admin.url_of("change", message.ticket_id))
        except REFUSALS as refusal:
            admin.add_refusals(form, refusal)
    return admin.action_page(
        request,
        title=_now("Open a ticket"),
        submit=_now("Open"),
        form=form,
        cancel_url=admin.url_of("changelist"),
        intro=_now("On behalf of a customer: the customer gets no mail."),
    )
