"""The first steps of a new installation: each with what was found, and with its test. They name every app, so they
belong to the roof."""

from collections.abc import Callable
from dataclasses import dataclass

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.formats import localize
from django.utils.timezone import localtime
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from callcentre.admin import actor_of, user_of
from callcentre.admin.pages import site_page
from callcentre.core.errors import Invalid
from callcentre.models import ApiUser, User
from campaigns.models import Campaign, Record
from telephony.leader_election import is_connected
from telephony.models import Agent, Connection, Queue, QueueMember
from telephony.verbs.connections import call
from tickets.models import Dispatch, MailboxTest, Source, TicketQueue
from tickets.reasons import translated
from tickets.verbs.outgoing import send_test_mail
from webhooks.models import Delivery, Webhook

DONE, OPEN, FAILING = "success", "info", "danger"
# The steps with a form.
CALL, MAIL = "call", "mail"


@dataclass(frozen=True, slots=True)
class Step:
    """A step: whether it is done, what was found, and the pages on which it is done and tested."""

    title: str
    state: str
    found: str
    links: tuple[tuple[str, str], ...] = ()
    # The form of the step: "call", "mail" or "".
    form: str = ""

    @property
    def word(self) -> str:
        return {DONE: _now("done"), OPEN: _now("to do"), FAILING: _now("fails")}[self.state]


class CallForm(forms.Form):
    agent = forms.ModelChoiceField(
        Agent.objects.active().exclude(number="").order_by("login"),
        label=_("Agent"),
        empty_label=None,
        widget=UnfoldAdminSelectWidget(attrs={"id": "call-agent"}),
    )
    number = forms.CharField(
        max_length=50, label=_("Number"), widget=UnfoldAdminTextInputWidget(attrs={"id": "call-number"})
    )

    # The fields of the form that the faults of the verb belong to.
    fault_fields = {"sip": "agent"}


class MailForm(forms.Form):
    recipient = forms.EmailField(
        max_length=254, label=_("To"), widget=UnfoldAdminEmailInputWidget(attrs={"id": "mail-recipient"})
    )
    queue = forms.ModelChoiceField(
        TicketQueue.objects.active().order_by("id"),
        label=_("Ticket queue"),
        empty_label=None,
        widget=UnfoldAdminSelectWidget(attrs={"id": "mail-queue"}),
    )

    fault_fields = {"sender": "recipient"}


def first_steps_view(request: HttpRequest) -> HttpResponse:
    """Show the steps, or place the test call or send the test mail that was asked for.

    Superusers only: the steps set everything up.
    """
    if not request.user.is_superuser:
        raise PermissionDenied
    tested = request.POST.get("test") if request.method == "POST" else None
    call_form = CallForm(request.POST if tested == CALL else None)
    mail_form = MailForm(request.POST if tested == MAIL else None, initial={"recipient": user_of(request).email})
    if (tested == CALL and _has_called(request, call_form)) or (tested == MAIL and _has_written(request, mail_form)):
        return redirect("first-steps")
    forms_of_steps = {CALL: call_form, MAIL: mail_form}
    steps = [(step, forms_of_steps.get(step.form)) for step in (find() for find in STEPS)]
    done = sum(step.state == DONE for step, _form in steps)
    return site_page(request, "admin/first_steps.html", _now("First steps"), steps=steps, done=done)


def _has_called(request: HttpRequest, form: CallForm) -> bool:
    if not form.is_valid():
        return False
    values = form.cleaned_data
    try:
        call(actor_of(request), sip=values["agent"].number, phone_number=values["number"])
    except Invalid as invalid:
        return _refuse(form, invalid, "number")
    said = _now("The phone of %(agent)s rings; pick up, and %(number)s is called.")
    messages.success(request, said % values)
    return True


def _has_written(request: HttpRequest, form: MailForm) -> bool:
    if not form.is_valid():
        return False
    values = form.cleaned_data
    try:
        send_test_mail(actor_of(request), recipient=values["recipient"], queue_id=values["queue"].pk)
    except Invalid as invalid:
        return _refuse(form, invalid, "recipient")
    messages.success(request, _now("The mail to %(recipient)s waits to be sent. Its step shows the outcome.") % values)
    return True


def _refuse(form: CallForm | MailForm, invalid: Invalid, field: str) -> bool:
    """Show the faults at their fields, or at `field`."""
    for fault in invalid.faults:
        form.add_error(form.fault_fields.get(fault.field, field), fault.message)
    return False


def _list(model: str) -> str:
    return reverse(f"admin:{model}_changelist")


def _new(model: str) -> str:
    return reverse(f"admin:{model}_add")


def _users() -> Step:
    count = User.objects.filter(is_active=True, is_staff=True).exclude(is_superuser=True).count()
    found = _now("Back-office users who are no superusers: %(count)s. Supervisors and agents log in with these.")
    links = ((_now("Add a user"), _new("callcentre_user")), (_now("Rights by groups"), _list("auth_group")))
    return Step(_now("People"), DONE if count else OPEN, found % {"count": count}, links)


def _switch() -> Step:
    name = settings.SWITCH_BACKEND
    if not is_connected():
        found = _now("No process listens to the switch (%(switch)s). Start run_listener, and see its log.")
        return Step(_now("PBX"), FAILING, found % {"switch": name})
    if name == "simulated":
        return Step(_now("PBX"), OPEN, _now("The simulated switch answers. Real calls need a PBX: set SWITCH_BACKEND."))
    return Step(_now("PBX"), DONE, _now("The service is connected to the switch (%(switch)s).") % {"switch": name})


def _agents() -> Step:
    active = Agent.objects.active()
    count, phones = active.count(), active.exclude(number="").count()
    found = _now("Active agents: %(count)s, of whom %(phones)s have a phone.") % {"count": count, "phones": phones}
    links = ((_now("Add an agent"), _new("telephony_agent")), (_now("Agents"), _list("telephony_agent")))
    return Step(_now("Agents"), DONE if phones else OPEN, found, links)


def _queue() -> Step:
    served = QueueMember.objects.filter(queue__is_active=True, agent__is_active=True).values("queue").distinct().count()
    found = _now("Active queues: %(count)s, of which %(served)s have agents.")
    values = {"count": Queue.objects.filter(is_active=True).count(), "served": served}
    links = ((_now("Add a queue"), _new("telephony_queue")), (_now("Queues"), _list("telephony_queue")))
    return Step(_now("Queue of calls"), DONE if served else OPEN, found % values, links)


def _test_call() -> Step:
    last = Connection.objects.filter(state=Connection.State.ENDED).order_by("-id").first()
    title, links = _now("Test call"), ((_now("Calls"), _list("telephony_connection")),)
    if last is None:
        found = _now("No call has ended yet. Choose an agent whose phone is registered, and a number to call.")
        return Step(title, OPEN, found, links, form=CALL)
    found = _now("The last call, %(time)s: %(result)s.")
    values = {"time": localize(localtime(last.created_at)), "result": last.get_disposition_display()}
    is_good = Connection.objects.filter(disposition=Connection.Disposition.ANSWERED).exists()
    return Step(title, DONE if is_good else FAILING, found % values, links, form=CALL)


def _mailbox() -> Step:
    title = _now("Mailbox")
    links: tuple[tuple[str, str], ...] = (
        (_now("Add a ticket queue"), _new("tickets_ticketqueue")),
        (_now("Ticket queues"), _list("tickets_ticketqueue")),
    )
    queue = TicketQueue.objects.filter(is_active=True).exclude(imap_host="").order_by("id").first()
    if queue is None:
        return Step(title, OPEN, _now("No ticket queue reads a mailbox yet."), links)
    test_page = reverse("admin:tickets_ticketqueue_test_connection", args=[queue.pk])
    links = ((_now("Test the mailbox of %(queue)s") % {"queue": queue.name}, test_page), *links)
    test = MailboxTest.objects.filter(queue=queue).first()
    if test and test.finished_at and test.error:
        return Step(title, FAILING, _now("The last test failed: %(reason)s") % {"reason": test.why}, links)
    if queue.poll_error:
        return Step(title, FAILING, _now("The mailbox is not read: %(reason)s") % {"reason": queue.why_not_read}, links)
    if queue.polled_at or (test and test.finished_at):
        return Step(title, DONE, _now("The mailbox of %(queue)s is read.") % {"queue": queue.name}, links)
    return Step(title, OPEN, _now("The mailbox of %(queue)s was not read yet.") % {"queue": queue.name}, links)


def _test_mail() -> Step:
    title = _now("Test mail")
    links = ((_now("Outgoing messages"), _list("tickets_dispatch")),)
    form = MAIL if TicketQueue.objects.active().exists() else ""
    last = Dispatch.objects.filter(source=Source.EMAIL).order_by("-id").first()
    if last is None:
        return Step(title, OPEN, _now("No mail was written yet."), links, form)
    values = {"to": ", ".join(last.recipients), "state": last.get_state_display(), "error": translated(last.error)}
    found = _now("The last mail, to %(to)s: %(state)s. %(error)s") % values
    states = {Dispatch.State.SENT: DONE, Dispatch.State.FAILED: FAILING}
    return Step(title, states.get(Dispatch.State(last.state), OPEN), found.strip(), links, form)


def _campaign() -> Step:
    title = _now("First campaign")
    links = (
        (_now("Add a campaign"), _new("campaigns_campaign")),
        (_now("Import records"), _new("campaigns_recordimport")),
        (_now("Campaigns"), _list("campaigns_campaign")),
    )
    if not Campaign.objects.exists():
        return Step(title, OPEN, _now("There is no campaign yet."), links)
    if not Record.objects.exists():
        return Step(title, OPEN, _now("No campaign has records yet. Import a list of numbers."), links)
    if not Campaign.objects.filter(agents__is_active=True).exists():
        return Step(title, OPEN, _now("No campaign has agents yet."), links)
    return Step(title, DONE, _now("A campaign has records and agents. Start it on its page Dialling."), links)


def _api_user() -> Step:
    links = ((_now("Add an API user"), _new("callcentre_apiuser")), (_now("API documentation"), reverse("docs")))
    users = ApiUser.objects.filter(is_active=True)
    last = users.exclude(last_used_at=None).order_by("-last_used_at").first()
    if last and last.last_used_at:
        found = _now("%(login)s used the API, %(time)s.")
        values = {"login": last.login, "time": localize(localtime(last.last_used_at))}
        return Step(_now("API user"), DONE, found % values, links)
    found = _now("API users: %(count)s. None has used the API yet. Test one: curl -u LOGIN:PASSWORD %(address)s")
    values = {"count": str(users.count()), "address": f"{settings.PUBLIC_URL}/api/ping"}
    return Step(_now("API user"), OPEN, found % values, links)


def _test_event() -> Step:
    title, add = _now("Test event"), (_now("Add a webhook"), _new("webhooks_webhook"))
    webhook = Webhook.objects.filter(is_active=True).order_by("-id").first()
    if webhook is None:
        return Step(title, OPEN, _now("No program hears of events yet."), (add,))
    links = ((_now("Send a test event"), reverse("admin:webhooks_webhook_send_test", args=[webhook.pk])), add)
    last = Delivery.objects.filter(webhook=webhook).order_by("-id").first()
    if last is None:
        return Step(title, OPEN, _now("%(webhook)s was sent nothing yet.") % {"webhook": webhook}, links)
    states = {Delivery.State.SUCCEEDED: DONE, Delivery.State.FAILED: FAILING}
    found = _now("The last delivery to %(webhook)s: %(state)s.")
    values = {"webhook": webhook, "state": last.get_state_display()}
    return Step(title, states.get(Delivery.State(last.state), OPEN), found % values, links)


STEPS: tuple[Callable[[], Step], ...] = (
    *(_users, _switch, _agents, _queue, _test_call),
    *(_mailbox, _test_mail, _campaign, _api_user, _test_event),
)
