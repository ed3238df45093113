"""A person opens a ticket on behalf of a customer: who called, or stood at the desk."""

from typing import Any, cast

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

from callcentre.admin import actor_of
from callcentre.admin.base import REFUSALS
from callcentre.models import User
from telephony.models import Agent
from tickets.admin.customer_select import CustomerSelect
from tickets.admin.ticket_page_forms import categories_for, queues_for
from tickets.models import Customer, Source
from tickets.verbs.tickets import open_ticket


class OpeningForm(forms.Form):
    source = forms.ChoiceField(
        label=_("Source"), choices=Source.choices, initial=Source.PHONE, widget=UnfoldAdminSelectWidget()
    )
    customer = forms.ModelChoiceField(label=_("Customer"), queryset=Customer.objects.current(), required=False)
    sender = forms.CharField(
        label=_("E-mail or name"),
        max_length=320,
        required=False,
        widget=UnfoldAdminTextInputWidget(),
        help_text=_("Where a reply by mail goes to; a customer with this address is found by it."),
    )
    subject = forms.CharField(label=_("Subject"), max_length=500, widget=UnfoldAdminTextInputWidget())
    body = forms.CharField(
        label=_("What the customer says"), max_length=2_000_000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 8})
    )
    queue = forms.ChoiceField(label=_("Ticket queue"), widget=UnfoldAdminSelectWidget())
    category = forms.ChoiceField(label=_("Category"), required=False, widget=UnfoldAdminSelectWidget())
    take = forms.BooleanField(label=_("Assign to me"), required=False, initial=True, widget=UnfoldBooleanWidget())

    def __init__(self, *args: Any, is_agent: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own: dict[str, Any] = self.fields
        own["queue"].choices = queues_for(None)
        own["category"].choices = [("", _("none")), *categories_for(None)]
        own["customer"].widget = CustomerSelect(own["customer"].choices)
        if not is_agent:
            del self.fields["take"]


class TicketOpening:
    """The page of TicketAdmin by which a ticket is added."""

    fault_fields_of_opening = {"queue_id": "queue", "category_id": "category", "customer_id": "customer"}

    def add_view(
        self: Any, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        agent = Agent.objects.of_user(cast("User", request.user))
        initial = {"customer": request.GET.get("customer")}
        form = OpeningForm(request.POST or None, initial=initial, is_agent=agent is not None)
        if request.method == "POST" and form.is_valid():
            values = form.cleaned_data
            try:
                ticket = open_ticket(
                    actor_of(request),
                    subject=values["subject"],
                    body=values["body"],
                    source=values["source"],
                    sender=values["sender"],
                    sender_name=str(values["customer"] or ""),
                    queue_id=int(values["queue"]),
                    category_id=int(values["category"]) if values["category"] else None,
                    customer_id=values["customer"].pk if values["customer"] else None,
                    agent_login=agent.login if agent and values.get("take") else "",
                )
                self.message_user(request, _now("The ticket is open."), messages.SUCCESS)
                return redirect(self.url_of("change", ticket.pk))
            except REFUSALS as refusal:
                for name, sentence in self.refusals_of(refusal):
                    own = self.fault_fields_of_opening.get(name, name)
                    form.add_error(own if own in form.fields else None, sentence)
        return self.action_page(  # type: ignore[no-any-return]
            request,
            title=_now("Open a ticket"),
            submit=_now("Open"),
            form=form,
            cancel_url=self.url_of("changelist"),
            intro=_now("On behalf of a customer: nothing is sent to him."),
        )
