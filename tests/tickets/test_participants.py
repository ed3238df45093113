"""Who a mail is from, who may write in a ticket, and notices of mail servers that are text alone."""

import pytest
from django.utils import timezone

from tests.backoffice import page_of, superuser
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CustomerFactory, TicketQueueFactory
from tests.tickets.mails import a_mail, answered, taken
from tickets.mail.intake import process
from tickets.mail.parsing import Mail, Person
from tickets.models import Dispatch, Message, Ticket, TicketStatus
from tickets.models.participants import participants_of
from tickets.verbs.messages import reply_to
from tickets.verbs.received_mails import retry_mail

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]

JAN, EVE = Person("Jan", "jan@client.example"), Person("Eve", "eve@else.example")


@pytest.mark.parametrize(
    ("answers_to", "is_form", "sender", "elsewhere"),
    [
        ([], False, EVE, ""),
        ([JAN], False, EVE, JAN.address),
        ([JAN], True, JAN, ""),
        ([], True, EVE, ""),
        ([Person("", "EVE@else.example")], True, Person("", "EVE@else.example"), ""),
        ([Person("", "EVE@else.example")], False, EVE, ""),
        ([JAN, EVE], True, JAN, ""),
    ],
)
def test_a_mail_is_from_its_author_and_a_form_from_who_filled_it_in(answers_to, *, is_form, sender, elsewhere):
    mail = Mail(author=EVE, answers_to=answers_to)

    mail.set_sender(is_form=is_form)

    assert (mail.sender_name, mail.sender, mail.reply_to) == (sender.name, sender.address, elsewhere)


def test_a_stranger_does_not_join_as_a_participant_by_reply_to_and_tag():
    ticket, _dispatch = answered(subject="Broken")

    received = taken(
        a_mail(From="eve@else.example", Reply_To="jan@client.example", Subject=f"Re: [#{ticket.pk}] Broken")
    )

    message = received.message
    assert message.ticket != ticket
    about = (message.ticket.sender, message.author_address, message.reply_to, received.sender)
    assert about == ("eve@else.example", "eve@else.example", "jan@client.example", "eve@else.example")
    # Nor does a participant whose answers go elsewhere.
    received = taken(a_mail(Reply_To="eve@else.example", Subject=f"Re: [#{ticket.pk}] Broken"))
    assert received.message.ticket != ticket


def test_a_mail_with_our_message_id_joins_and_keeps_its_author():
    ticket, dispatch = answered()

    headers = {"From": "Eve <eve@else.example>", "Reply_To": "jan@client.example"}
    message = taken(a_mail(In_Reply_To=f"<{dispatch.header_id}>", **headers)).message

    assert message.ticket == ticket
    about = (message.author_name, message.author_address, message.reply_to)
    assert about == ("Eve", "eve@else.example", "jan@client.example")


@pytest.mark.usefixtures("plain_static")
def test_a_reply_goes_where_the_sender_wanted_answers_and_no_later_mail_changes_that():
    TicketQueueFactory()
    agent_login = AgentFactory().login
    ticket = taken(a_mail(Reply_To="office@client.example", Message_ID="<1@client.example>")).message.ticket
    page = superuser().page(page_of(ticket))
    taken(a_mail("Second", Reply_To="eve@else.example", In_Reply_To="<1@client.example>"))

    reply = reply_to(ticket, ACTOR, agent_login=agent_login, body="x")

    assert "jan@client.example" in page
    assert "answers go to office@client.example" in page
    assert reply.ticket.messages.filter(type="MAIL").count() == 2
    assert Dispatch.objects.get(message=reply).recipients == ["office@client.example"]
    assert participants_of(reply.ticket)[0] == ["eve@else.example"]
    # It goes to another sender than the mail had, once a person has set one.
    Ticket.objects.filter(pk=ticket.pk).update(sender="new@client.example")
    reply = reply_to(ticket, ACTOR, agent_login=agent_login, body="x")
    assert Dispatch.objects.get(message=reply).recipients == ["new@client.example"]


@pytest.mark.parametrize("place", ["To", "Cc"])
def test_a_colleague_to_whom_the_customer_wrote_too_takes_part(place):
    TicketQueueFactory(address="help@us.example")
    headers = {"To": "help@us.example", "Message_ID": "<1@client.example>"}
    headers[place] = "help@us.example, Ewa <Ewa@client.example>"
    first = taken(a_mail(**headers)).message

    for names in ({"In_Reply_To": "<1@client.example>"}, {"Subject": f"Re: [#{first.ticket.pk}] Broken"}):
        second = taken(a_mail("From me too", From="ewa@CLIENT.example", **names)).message
        assert (second.ticket, second.author_address) == (first.ticket, "ewa@CLIENT.example")
    assert participants_of(first.ticket)[0] == ["ewa@CLIENT.example"]


def test_to_whom_a_colleague_writes_takes_part_too():
    TicketQueueFactory(address="help@us.example")
    first = taken(a_mail(Cc="ewa@client.example", Message_ID="<1@client.example>")).message
    taken(a_mail("And Ola", From="ewa@client.example", Cc="ola@client.example", In_Reply_To="<1@client.example>"))

    assert taken(a_mail(From="ola@client.example", In_Reply_To="<1@client.example>")).message.ticket == first.ticket


def test_an_address_of_ours_in_to_takes_no_part():
    TicketQueueFactory(address="help@us.example")
    first = taken(a_mail(To="HELP@us.example, info@us.example", Message_ID="<1@client.example>")).message
    TicketQueueFactory(address="Info@us.example")

    # Otherwise any stranger who writes our address into the header would join.
    received = taken(
        a_mail(From="eve@else.example", Reply_To="x@else.example, info@us.example", In_Reply_To="<1@client.example>")
    )

    assert received.message is None or received.message.ticket != first.ticket


@pytest.mark.parametrize(
    "subject",
    [
        "Re: [#{}] Broken lamp",
        "Odp: Broken lamp [#{}]",
        "[EXTERNAL] RE: [#{}] broken  lamp",
        "AW: Re: [#{}] Re: Broken lamp",
        "Fwd: [#{}] Broken lamp",
        "[#999999] Re: [#{}] Broken lamp",
    ],
)
def test_a_tag_beside_the_subject_of_its_ticket_leads_there(subject):
    ticket, _dispatch = answered(subject="Re: Broken lamp")

    assert taken(a_mail(Subject=subject.format(ticket.pk))).message.ticket == ticket


@pytest.mark.parametrize("subject", ["[#{}] Your invoice", "Re: [#{}]", "[#{}] Broken lamp stand", "[ACME #{}] Broken"])
def test_the_tag_of_another_help_desk_leads_nowhere(subject):
    ticket, _dispatch = answered(subject="Broken lamp")

    received = taken(a_mail(Subject=subject.format(ticket.pk)))

    assert (received.outcome, received.message.ticket == ticket) == ("stored", False)


def test_a_tag_leads_to_its_ticket_after_its_subject_was_changed():
    TicketQueueFactory()
    ticket = taken(a_mail(Subject="Broken lamp")).message.ticket
    Ticket.objects.filter(pk=ticket.pk).update(subject="Lamp of Kowalski")

    assert taken(a_mail(Subject=f"Re: [#{ticket.pk}] Broken lamp")).message.ticket == ticket


@pytest.mark.parametrize("headers", [{"List_Id": "<team.client.example>"}, {"Precedence": "list"}])
def test_an_answer_through_a_list_opens_a_closed_ticket_again(headers):
    ticket, dispatch = answered(customer=CustomerFactory())
    closed = TicketStatus.objects.get(kind="closed")
    Ticket.objects.filter(pk=ticket.pk).update(status=closed, closed_at=timezone.now())

    message = taken(a_mail(In_Reply_To=f"<{dispatch.header_id}>", **headers)).message

    ticket.refresh_from_db()
    assert (message.ticket, message.is_automatic, ticket.status.kind) == (ticket, False, "new")


@pytest.mark.parametrize(
    "beside", [{}, {"Return_Path": "<bounce+77@mailer.example>"}, {"Sender": "list@mailer.example"}]
)
def test_a_from_without_an_address_is_quarantined_until_a_person_lets_it_in(beside):
    TicketQueueFactory()

    received = taken(a_mail(**beside).replace(b"Jan <jan@client.example>", b"Jan at client.example"))

    assert (received.outcome, received.reason) == ("quarantined", "it has no address of a sender")
    retry_mail(received, ACTOR)
    process(received.pk)
    assert Message.objects.get().ticket.sender == ""


DELAYS = {
    "sendmail": (
        "Warning: could not send message for past 4 hours",
        (
            "    **********************************************\n    **      THIS IS A WARNING MESSAGE ONLY      **\n"
            "    **  YOU DO NOT NEED TO RESEND YOUR MESSAGE  **\n    **********************************************\n"
            "   ----- The following addresses had transient non-fatal errors -----\n<jan@client.example>\n"
        ),
    ),
    "exim": (
        "Warning: message 1kXyZ-0001-AB delayed 24 hours",
        (
            "A message that you sent has not yet been "
            "delivered to one or more of its\nrecipients after more than 24 hours on the queue.\n\n"
            "No action is required on your part. Delivery attempts will continue for\nsome time.\n"
        ),
    ),
    "postfix": (
        "Delayed Mail (still being retried)",
        (
            "Your message could not be delivered for more than 4 hour(s).\n"
            "It will be retried until it is 5 day(s) old.\n"
        ),
    ),
    "gmail": (
        "Delivery Status Notification (Delay)",
        "There was a temporary problem. Gmail will retry for 46 hours.\n",
    ),
    "subject alone": ("Delivery delayed: Re: Broken", "Sorry.\n"),
    "text alone": ("Your mail to jan@client.example", "It is still being retried.\n"),
    "success": ("Successful Mail Delivery Report", "Your message was successfully delivered to jan@client.example.\n"),
}
FAILURES = {
    "sendmail": ("Returned mail: see transcript for details", "   ----- 550 5.1.1 User unknown -----\n"),
    "exim": ("Mail delivery failed: returning message to sender", "This is a permanent error.\n"),
    "exchange": ("Undeliverable: Where is my delayed order", "Your message couldn't be delivered.\n"),
    "given up": ("Undelivered Mail Returned to Sender", "It was delayed for 5 days. It is not tried again.\n"),
    "quoted": (
        "Undelivered Mail",
        "User unknown.\n\n------ This is a copy of your message ------\nNo action is required on your part.\n",
    ),
    "quoted headers": ("Undelivered Mail", "No such user.\n\nSubject: x\n\nThis is a warning message only\n"),
}


def notice(subject: str, text: str, header_id: str, sender: str = "MAILER-DAEMON@mx.example") -> bytes:
    return f"From: {sender}\nTo: help@us.example\nSubject: {subject}\n\n{text}\nMessage-ID: <{header_id}>\n".encode()


@pytest.mark.parametrize("name", DELAYS)
def test_a_delay_in_words_joins_its_ticket_and_is_no_bounce(name):
    ticket, dispatch = answered()

    received = taken(notice(*DELAYS[name], dispatch.header_id))

    dispatch.refresh_from_db()
    assert (dispatch.bounced_at, received.message.ticket, received.message.is_automatic) == (None, ticket, True)


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_in_words_is_a_bounce(name):
    _ticket, dispatch = answered()

    taken(notice(*FAILURES[name], dispatch.header_id, "postmaster@mx.example"))

    dispatch.refresh_from_db()
    assert dispatch.bounced_at is not None


def test_a_delay_that_names_failed_recipients_in_a_header_is_no_bounce():
    _ticket, dispatch = answered()
    raw = b"X-Failed-Recipients: jan@client.example\n" + notice(*DELAYS["gmail"], dispatch.header_id)

    taken(raw)

    dispatch.refresh_from_db()
    assert dispatch.bounced_at is None
