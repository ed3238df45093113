"""The pages that add a ticket, merge it into another one, link two tickets, and split messages off."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
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
from tickets import html
from tickets.admin.customer_forms import CustomerSelect
from tickets.admin.ticket_merge_forms import OtherTicketForm, people_of
from tickets.admin.ticket_page_forms import (
    NamedField,
    PriorityField,
    QueueField,
    offer_choices,
)
from tickets.admin.ticket_page_sidebar import others_of_customer
from tickets.admin.ticket_page_thread import author_of
from tickets.models import Customer, Message, Source, Ticket, TicketCategory, TicketType
from tickets.verbs.merges import merge_tickets, split_ticket
from tickets.verbs.tickets import connect_tickets, open_ticket

# The page of a split offers the newest messages.
SHOWN = 500


def merge_view(admin: Admin, request: HttpRequest, ticket_id: int) -> HttpResponse:
    intro = _now("Its messages move to the other ticket; this one is closed, and later mail to it goes to the other.")
    title = _now("Merge into another ticket")
    return _join(admin, request, ticket_id, merge_tickets, title=title, submit=_now("Merge"), intro=intro)


def connect_view(admin: Admin, request: HttpRequest, ticket_id: int) -> HttpResponse:
    intro = _now("Each of the two leads to the other then; neither changes.")
    title = _now("Link to another ticket")
    return _join(admin, request, ticket_id, connect_tickets, title=title, submit=_now("Link"), intro=intro)


def _join(
    admin: Admin, request: HttpRequest, ticket_id: int, verb: Any, *, title: str, submit: str, intro: str
) -> HttpResponse:
    """Ask for the number of the other ticket, show that ticket, and apply the verb after confirmation."""
    ticket = admin.row_or_404(request, str(ticket_id))
    is_merge = verb is merge_tickets
    # The address of a suggestion names the other ticket.
    scope = scope_of(request)
    form = OtherTicketForm(ticket, request.POST or (request.GET if "number" in request.GET else None), scope=scope)
    if other := form.other if form.is_valid() else None:
        number, people = str(other.pk), people_of((ticket, other)) if is_merge else []
        if request.method == "POST" and form.cleaned_data["shown"] == number:
            form = OtherTicketForm(ticket, request.POST, scope=scope, people=people)
            if form.is_valid():
                try:
                    verb(ticket, other, actor_of(request))
                    sentence = _now("Done: #%(one)s and #%(other)s.") % {"one": ticket.pk, "other": other.pk}
                    admin.message_user(request, sentence, messages.SUCCESS)
                    return redirect(admin.url_of("change", other.pk if is_merge else ticket.pk))
                except REFUSALS as refusal:
                    for _field, sentence in admin.refusals_of(refusal):
                        form.add_error("number", sentence)
        else:
            form = OtherTicketForm(ticket, initial={"number": number, "shown": number}, people=people)
        facts = {"number": other.pk, "subject": other.subject, "status": other.status}
        who = str(other.customer or other.sender_name or other.sender or "–")
        shown = _now("#%(number)s: %(subject)s. From: %(who)s. Status: %(status)s.") % {**facts, "who": who}
        intro = f"{shown} {intro}"
    return admin.action_page(
        request,
        title=title,
        submit=submit if other else _now("Continue"),
        form=form,
        obj=ticket,
        intro=intro,
        suggestions_title=_now("Other tickets of the customer"),
        suggestions=[] if other else [_suggestion(each) for each in others_of_customer(ticket, scope)],
    )


def _suggestion(ticket: Ticket) -> tuple[str, str, str]:
    """Return the address that chooses this ticket as the other one, its name, and what tells it from others."""
    facts = f"{ticket.status}, {date_format(localtime(ticket.updated_at), 'Y-m-d H:i')}"
    return f"?number={ticket.pk}", str(ticket), facts


def split_view(admin: Admin, request: HttpRequest, ticket_id: int) -> HttpResponse:
    ticket = admin.row_or_404(request, str(ticket_id))
    is_sent = request.method == "POST"
    texts = request.POST.getlist("messages") if is_sent else request.GET.getlist("message")
    chosen = [pk for pk in map(integer_of, texts) if pk is not None]
    subject = request.POST.get("subject", ticket.subject).strip()[:500]
    errors: list[str] = []
    if is_sent:
        try:
            other = split_ticket(ticket, actor_of(request), chosen, subject)
            sentence = _now("The messages are a ticket of their own now: #%(number)s.") % {"number": other.pk}
            admin.message_user(request, sentence, messages.SUCCESS)
            return redirect(admin.url_of("change", other.pk))
        except REFUSALS as refusal:
            errors = [sentence for _field, sentence in admin.refusals_of(refusal)]
    found = Message.objects.filter(ticket=ticket).select_related("agent").order_by("-created_at", "-id")[:SHOWN]
    rows = [
        {"pk": message.pk, "at": message.created_at, "author": author_of(message), "text": _beginning(message)}
        for message in found
    ]
    return admin.page(
        request,
        "admin/tickets/ticket_split.html",
        ticket,
        title=_now("Split off messages"),
        rows=rows,
        chosen=chosen,
        subject=subject,
        errors=errors,
        cancel_url=admin.url_of("change", ticket.pk),
    )


def _beginning(message: Message) -> str:
    text = message.comment or message.body or message.system_comment
    is_html = message.body_type == Message.BodyType.HTML
    # Read the beginning of a long text only: tags are no longer than this.
    return html.as_text(text[:4000])[:160] if is_html else text[:160]


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
    category = NamedField(TicketCategory, _("Category"))
    type = NamedField(TicketType, pgettext_lazy("of a ticket", "Type"))
    priority = PriorityField()
    take = forms.BooleanField(label=_("Assign to me"), required=False, initial=True, widget=UnfoldBooleanWidget())

    fault_fields = {"queue_id": "queue", "category_id": "category", "type_id": "type", "customer_id": "customer"}

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
                type_id=values["type"],
                priority=values["priority"],
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
