"""The parts and pages of a customer: timeline, people who may be the same, a merge, a new mail or call."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from callcentre.admin import Admin, actor_of, may_see, user_of
from callcentre.admin.base import REFUSALS
from callcentre.admin.history import in_words
from callcentre.admin.scope import scope_of
from callcentre.core.integers import integer_of
from callcentre.core.scope import Scope
from telephony.models import Agent, Connection
from telephony.verbs.connections import call
from tickets.admin.customer_history import label_of_column
from tickets.admin.ticket_page_forms import QueueField, offer_choices
from tickets.models import Chat, Company, Customer, CustomField
from tickets.models.customer_fields import FORM_FIELDS
from tickets.timeline import Place, Reader, kinds, read_page
from tickets.verbs.customers import plan_merge
from tickets.verbs.outgoing import write_to_customer

PER_PAGE = 25
MOST_ALIKE = 20
# The most merged customers that the page names.
SHOWN = 10


def timeline_of(request: HttpRequest, customer: Customer) -> dict[str, Any]:
    """Return the entries that the user may see, and the links of the filter and of the pages."""
    seen = [kind for kind in kinds() if may_see(request.user, kind.app, kind.model)]
    reader = Reader(
        frozenset(kind.name for kind in seen),
        sees_recordings=request.user.has_perm("telephony.view_recording"),
        sees_summaries=request.user.has_perm("telephony.view_transcription"),
        scope=scope_of(request),
    )
    chosen = request.GET.get("kind", "")
    only = [chosen] if chosen in reader.kinds else []
    before = Place.parse(request.GET.get("before", ""))
    page = read_page(customer, reader, only=only, before=before, limit=PER_PAGE)
    choices = [
        {"label": kind.plural, "icon": kind.icon, "name": kind.name, "url": _link(kind=kind.name)} for kind in seen
    ]
    return {
        "timeline": page.entries,
        "timeline_kinds": choices,
        "timeline_kind": only[0] if only else "",
        "timeline_all": _link(),
        "timeline_newest": _link(kind=chosen if only else "") if before else "",
        "timeline_older": _link(kind=chosen if only else "", before=str(page.next)) if page.next else "",
        "sees_calls": "call" in reader.kinds,
        "sees_tickets": "ticket" in reader.kinds,
    }


def _link(**query: str) -> str:
    return f"?{urlencode({name: value for name, value in query.items() if value})}#timeline"


def panels_of(customer: Customer) -> dict[str, Any]:
    """Return the context of the parts. Reads the merged customers once for the whole page."""
    prefetch_related_objects([customer], "merged")
    others = sorted(customer.merged.all(), key=lambda other: other.pk)
    emails = dict.fromkeys(one.email.lower() for one in (customer, *others) if one.email)
    return {
        "emails": [email for email in emails if email != customer.email.lower()],
        "others": others[:SHOWN],
        "alike": alike(customer),
    }


def alike(customer: Customer) -> list[dict[str, Any]]:
    """Return customers with the same number or address, and the numbers and address that they share."""
    numbers = {row.number for row in customer.numbers.all()}
    found = []
    for other in customer.perhaps_same().select_related("company").prefetch_related("numbers")[:MOST_ALIKE]:
        shared = [row.phone_number for row in other.numbers.all() if row.number in numbers]
        if other.email and other.email.lower() == customer.email.lower():
            shared.append(other.email)
        found.append({"customer": other, "shared": ", ".join(shared)})
    return found


@dataclass(frozen=True, slots=True)
class FieldPreview:
    """The values of one field before the merge and after it. `is_left`: the source's value is not taken over."""

    label: Any
    source: str
    target: str
    after: str
    is_left: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    lines: list[FieldPreview]
    # The names of rows that move to the target, and their counts.
    moving: list[tuple[Any, int]]


def preview_of(source: Customer, target: Customer, scope: Scope) -> Preview:
    done = plan_merge(source, target)
    lines = [
        _preview_of_column(source, target, field.name, done.values.get(field.name, getattr(target, field.name)))
        for field in FORM_FIELDS
    ]
    numbers = ", ".join(raw for raw, _number in done.numbers)
    lines.append(
        FieldPreview(_now("Phone numbers"), ", ".join(source.phone_numbers), ", ".join(target.phone_numbers), numbers)
    )
    after = done.values["custom_fields"]
    for field in CustomField.objects.filter(owner=CustomField.Owner.CUSTOMER):
        key = str(field.pk)
        mine, others = target.custom_fields.get(key, ""), source.custom_fields.get(key, "")
        if mine or others:
            theirs, own, kept = (str(in_words(value)) for value in (others, mine, after[key]))
            lines.append(FieldPreview(field.name, theirs, own, kept, key in done.left_fields))
    moving = [
        (_now("tickets"), scope.within(source.tickets.all()).count()),
        (_now("calls"), scope.within(Connection.objects.filter(customer_id=source.pk)).count()),
        (_now("chats"), scope.within(Chat.objects.of_emails(source.emails)).count()),
        (_now("notes"), source.notes.count()),
    ]
    return Preview([line for line in lines if line.source or line.target], moving)


def _preview_of_column(source: Customer, target: Customer, name: str, after: Any) -> FieldPreview:
    theirs, mine, shown = (_shown(name, value) for value in (getattr(source, name), getattr(target, name), after))
    return FieldPreview(label_of_column(name), theirs, mine, shown, is_left=bool(theirs) and theirs != shown)


def _shown(name: str, value: Any) -> str:
    if name == "company_id" and value:
        return str(Company.objects.get(pk=value))
    return str(value or "")


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
