"""The detection of a mail that comes twice, the queue of a mail, and mails of machines."""

from email.message import EmailMessage
from io import BytesIO

import pytest

from tests.tickets.factories import TicketQueueFactory
from tests.tickets.mails import a_mail, answered, taken
from tests.tickets.test_concurrency import at_once
from tickets.mail.intake import take_in
from tickets.models import Message, ReceivedMail, Ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]


def scanned(content: bytes, filename: str = "scan.pdf") -> bytes:
    """Return the mail of a scanner, which gives all its mails one Message-ID, subject and text."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "scan@client.example", "help@us.example", "Scan"
    mail["Message-ID"] = "<scan@client.example>"
    mail.set_content("Scanned.")
    mail.add_attachment(content, maintype="application", subtype="pdf", filename=filename)
    return mail.as_bytes()


def test_the_same_mail_twice_is_one_message_and_one_with_another_file_or_quotation_is_another() -> None:
    TicketQueueFactory()
    raws = [scanned(b"one"), scanned(b"two"), scanned(b"one", "b.pdf")]
    for what in ("this", "that"):
        text = f"No.\n\nOn Mon, 1 Jan 2026 at 10:00 Us wrote:\n> Try {what}\n"
        raws.append(a_mail(text, Message_ID="<1@client.example>"))

    received = [taken(raw) for raw in raws]

    assert [each.outcome for each in received] == ["stored"] * 5
    assert len({each.message_id for each in received}) == Message.objects.count() == 5
    assert taken(raws[0]) == received[0]
    again = taken(b"Delivered-To: help@us.example\n" + scanned(b"two"))
    assert (again.outcome, again.message) == ("ignored", received[1].message)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_mail_that_two_of_our_mailboxes_get_is_one_message_in_the_first_queue(turn: int) -> None:
    queues = [TicketQueueFactory(address="help@us.example"), TicketQueueFactory(address="sales@us.example")][::turn]
    raw = a_mail(To="help@us.example, sales@us.example", Message_ID="<1@client.example>")

    first, second = (taken(b"Received: by mx%d\r\n" % queue.pk + raw, queue) for queue in queues)

    assert (first.outcome, second.outcome, second.reason) == ("stored", "ignored", "it has come before, by another way")
    assert second.message == first.message
    assert (Message.objects.count(), Ticket.objects.get().queue) == (1, queues[0])


def test_a_mail_that_ends_its_lines_differently_by_another_way_is_one_message() -> None:
    queue, other = TicketQueueFactory(), TicketQueueFactory()
    raw = scanned(b"a").replace(b"application/pdf", b"text/csv").replace(b"base64", b"8bit")

    first, second = taken(raw, queue), taken(raw.replace(b"\n", b"\r\n"), other)

    assert (second.outcome, second.message) == ("ignored", first.message)


@pytest.mark.usefixtures("committed_db")
def test_a_mail_that_two_mailboxes_get_at_once_is_one_message() -> None:
    queues = [TicketQueueFactory() for _number in range(4)]
    raw = scanned(b"x" * 100_000)

    results = at_once(*(lambda queue=queue: take_in(BytesIO(raw), queue) for queue in queues))

    assert sorted(each.outcome for each in results) == ["ignored", "ignored", "ignored", "stored"]
    assert (Message.objects.count(), ReceivedMail.objects.values("message").distinct().count()) == (1, 1)


def test_a_mail_whose_message_was_deleted_becomes_a_message_again() -> None:
    TicketQueueFactory()
    taken(a_mail(Message_ID="<1@client.example>"))
    Ticket.objects.all().delete()

    assert taken(b"X: y\n" + a_mail(Message_ID="<1@client.example>")).outcome == "stored"


@pytest.mark.parametrize(
    ("headers", "queue"),
    [
        (b"Delivered-To: SALES@us.example\n", "sales@us.example"),
        (b"X-Original-To: sales@us.example\nDelivered-To: catchall@us.example\n", "sales@us.example"),
        (b"Delivered-To: sales@us.example\nDelivered-To: all@elsewhere.example\n", "sales@us.example"),
        (b"Envelope-To: <sales@us.example>\n", "sales@us.example"),
        (b"Delivered-To: nothing@us.example\n", "help@us.example"),
        (b"", "help@us.example"),
    ],
)
def test_a_mail_goes_to_the_queue_of_its_delivery_header(headers: bytes, queue: str) -> None:
    for address in ("first@us.example", "sales@us.example", "help@us.example"):
        TicketQueueFactory(address=address)

    assert taken(headers + a_mail()).message.ticket.queue.address == queue


def test_a_mail_to_two_queues_goes_to_the_first_recipient() -> None:
    TicketQueueFactory(address="sales@us.example")
    TicketQueueFactory(address="help@us.example")

    received = taken(a_mail(To="Help <help@us.example>", Cc="sales@us.example"))

    assert received.message.ticket.queue.address == "help@us.example"


def test_an_answer_to_our_mail_joins_its_ticket() -> None:
    ticket, dispatch = answered()

    text = "Works now.\n\nOn Mon, 1 Jan 2026 at 10:00 Us wrote:\n> Try again\n"
    taken(a_mail(text, In_Reply_To=f"<{dispatch.header_id}>"))

    message = ticket.messages.last()
    assert message is not None
    assert (message.type, message.body.strip(), message.quoted.startswith("On Mon")) == ("MAIL", "Works now.", True)
    ticket.refresh_from_db()
    assert ticket.status.kind == "new"


def test_an_answering_machine_does_not_reopen_a_ticket() -> None:
    ticket, dispatch = answered()

    taken(a_mail(Auto_Submitted="auto-replied", In_Reply_To=f"<{dispatch.header_id}>"))

    ticket.refresh_from_db()
    assert (ticket.messages.count(), ticket.status.kind) == (2, "waiting_for_customer")


def test_an_unreadable_mail_is_quarantined() -> None:
    TicketQueueFactory()

    received = taken(b"\r\n\r\nno headers at all")

    assert (received.outcome, received.reason) == ("quarantined", "it has no headers")
    assert not Ticket.objects.exists()


def test_our_own_mail_that_comes_back_is_no_ticket() -> None:
    _ticket, dispatch = answered()

    received = taken(a_mail(Message_ID=f"<{dispatch.header_id}>", From="Help <noreply@us.example>"))

    assert (received.outcome, Ticket.objects.count()) == ("ignored", 1)
