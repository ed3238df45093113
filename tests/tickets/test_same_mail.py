"""A mail that comes twice, the queue of a mail, mails of machines, and arbitrary mails: none is lost."""

import random
import sysconfig
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.tickets.factories import TicketQueueFactory
from tests.tickets.mails import a_mail, answered, taken
from tests.tickets.test_concurrency import at_once
from tests.tiers import examples
from tickets.mail.intake import take_in
from tickets.mail.parsing import Unreadable, parse
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


def test_the_same_mail_twice_is_one_message_and_one_with_another_file_or_quotation_is_another():
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
def test_a_mail_that_two_of_our_mailboxes_get_is_one_message_in_the_first_queue(turn):
    queues = [TicketQueueFactory(address="help@us.example"), TicketQueueFactory(address="sales@us.example")][::turn]
    raw = a_mail(To="help@us.example, sales@us.example", Message_ID="<1@client.example>")

    first, second = (taken(b"Received: by mx%d\r\n" % queue.pk + raw, queue) for queue in queues)

    assert (first.outcome, second.outcome, second.reason) == ("stored", "ignored", "it has come before, by another way")
    assert second.message == first.message
    assert (Message.objects.count(), Ticket.objects.get().queue) == (1, queues[0])


def test_a_mail_that_ends_its_lines_differently_by_another_way_is_one_message():
    queue, other = TicketQueueFactory(), TicketQueueFactory()
    raw = scanned(b"a").replace(b"application/pdf", b"text/csv").replace(b"base64", b"8bit")

    first, second = taken(raw, queue), taken(raw.replace(b"\n", b"\r\n"), other)

    assert (second.outcome, second.message) == ("ignored", first.message)


@pytest.mark.usefixtures("committed_db")
def test_a_mail_that_two_mailboxes_get_at_once_is_one_message():
    queues = [TicketQueueFactory() for _number in range(4)]
    raw = scanned(b"x" * 100_000)

    results = at_once(*(lambda queue=queue: take_in(BytesIO(raw), queue) for queue in queues))

    assert sorted(each.outcome for each in results) == ["ignored", "ignored", "ignored", "stored"]
    assert (Message.objects.count(), ReceivedMail.objects.values("message").distinct().count()) == (1, 1)


def test_a_mail_whose_message_was_deleted_becomes_a_message_again():
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
def test_a_mail_goes_to_the_queue_of_its_delivery_header(headers, queue):
    for address in ("first@us.example", "sales@us.example", "help@us.example"):
        TicketQueueFactory(address=address)

    assert taken(headers + a_mail()).message.ticket.queue.address == queue


def test_a_mail_to_two_queues_goes_to_the_first_recipient():
    TicketQueueFactory(address="sales@us.example")
    TicketQueueFactory(address="help@us.example")

    received = taken(a_mail(To="Help <help@us.example>", Cc="sales@us.example"))

    assert received.message.ticket.queue.address == "help@us.example"


def test_an_answer_to_our_mail_joins_its_ticket():
    ticket, dispatch = answered()

    text = "Works now.\n\nOn Mon, 1 Jan 2026 at 10:00 Us wrote:\n> Try again\n"
    taken(a_mail(text, In_Reply_To=f"<{dispatch.header_id}>"))

    message = ticket.messages.last()
    assert message is not None
    assert (message.type, message.body.strip(), message.quoted.startswith("On Mon")) == ("MAIL", "Works now.", True)
    ticket.refresh_from_db()
    assert ticket.status.kind == "new"


def test_an_answering_machine_does_not_reopen_a_ticket():
    ticket, dispatch = answered()

    taken(a_mail(Auto_Submitted="auto-replied", In_Reply_To=f"<{dispatch.header_id}>"))

    ticket.refresh_from_db()
    assert (ticket.messages.count(), ticket.status.kind) == (2, "waiting_for_customer")


def test_an_unreadable_mail_is_quarantined():
    TicketQueueFactory()

    received = taken(b"\r\n\r\nno headers at all")

    assert (received.outcome, received.reason) == ("quarantined", "it has no headers")
    assert not Ticket.objects.exists()


def test_our_own_mail_that_comes_back_is_no_ticket():
    _ticket, dispatch = answered()

    received = taken(a_mail(Message_ID=f"<{dispatch.header_id}>", From="Help <noreply@us.example>"))

    assert (received.outcome, Ticket.objects.count()) == ("ignored", 1)


# The mails of CPython's own tests, if the interpreter has them.
FOLDER = Path(sysconfig.get_path("stdlib"), "test", "test_email", "data")
MAILS = sorted(FOLDER.glob("msg_*.txt")) if FOLDER.is_dir() else []


def check(received: ReceivedMail, raw: bytes) -> None:
    """The mail has a valid outcome, and its raw mail is saved."""
    received.refresh_from_db()
    with received.open_raw() as kept:
        assert kept.read() == raw
    assert received.outcome in ("stored", "quarantined", "ignored")
    # A mail that came before by another way names its message.
    assert (received.message is None) == (received.outcome == "quarantined")
    assert bool(received.reason) == (received.outcome != "stored")
    assert "not understood" not in received.reason


@pytest.mark.skipif(not MAILS, reason="this interpreter comes without the mails of CPython's test.test_email")
def test_every_mail_of_cpythons_own_tests_becomes_a_message_or_is_quarantined():
    TicketQueueFactory()

    for path in MAILS:
        raw = path.read_bytes()
        check(take_in(BytesIO(raw)), raw)

    assert len(MAILS) > 40
    assert Message.objects.count() > 33


def sample() -> bytes:
    """A mail with most features of mails."""
    return (
        b"Return-Path: <jan@c.example>\nReceived: from a by b; Mon, 2 Nov 2026 10:11:12 +0100\n"
        b"From: =?utf-8?Q?Jan_=C5=BB=C3=B3=C5=82w?= <jan@c.example>\nTo: Us: help@us.example, x@us.example;\n"
        b"Subject: =?iso-8859-2?B?r/Oztw==?= [#12]\nMessage-ID: <1@c.example>\n"
        b"References: <0@us.example> <2@us.example>\n"
        b"In-Reply-To: <0@us.example>\nDate: Mon, 2 Nov 2026 10:11:12 +0100\nMIME-Version: 1.0\n"
        b'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: multipart/alternative; boundary=c\n\n'
        b"--c\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nza=C5=BC\n> x\n"
        b"--c\nContent-Type: text/html; charset=iso-8859-2\nContent-Transfer-Encoding: base64\n\n"
        b"PGh0bWw+PGI+emG/PC9iPjxpbWcgc3JjPSJjaWQ6bG9nbyI+PC9odG1sPg==\n--c--\n"
        b"--b\nContent-Type: image/png; name*0*=utf-8''za%C5; name*1*=%BC.png\nContent-ID: <logo>\n"
        b"Content-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--b\n"
        b"Content-Type: message/rfc822\n\nSubject: inner\n\ninner\n"
        b"--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\nAction: failed\nStatus: 5.1.1\n--b--\n"
    )


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """The mail with pieces of it removed, doubled, moved, or changed."""
    raw = bytearray(sample())
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, len(raw)))
        end = min(len(raw), start + draw(st.integers(0, 80)))
        match draw(st.integers(0, 3)):
            case 0:
                del raw[start:end]
            case 1:
                raw[start:start] = raw[start:end] * draw(st.integers(1, 20))
            case 2:
                raw[start:end] = draw(st.binary(max_size=20))
            case _:
                raw[start:start] = draw(
                    st.sampled_from(
                        [b"\n", b"\r", b"\0", b"=?", b"?=", b"--b", b"--c--\n", b";", b'"', b"<", b"\xff\xfe", b"*0*="]
                    )
                )
    return bytes(raw)


@pytest.mark.slow("runs many examples")
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.one_of(mutated(), st.binary(max_size=300)))
@example(b"")
@example(b":")
@example(b"From: a@b.example\nContent-Type: multipart/mixed\n\n--\n")
@example(b"From: a@b.example\nContent-Type: text/plain; charset*=utf-8'x\n\nx")
@example(b"From: a@b.example\nContent-Type: message/rfc822\n\n")
@example(b"From: a@b.example\nContent-Disposition: attachment; filename*0*=x'y'%zz\n\nx")
@example(b"From: a@b.example\nContent-Transfer-Encoding: uuencode\n\nbegin 666 x\n\xff")
@example(b"\xff: \xff\n\n\xff")
def test_any_bytes_are_saved_with_an_outcome(raw):
    if not Message.objects.exists():
        TicketQueueFactory()
    ReceivedMail.objects.all().delete()

    check(take_in(BytesIO(raw)), raw)


@pytest.mark.slow("runs many examples")
@settings(max_examples=examples(600))
@given(st.one_of(mutated(), st.binary(max_size=2000), st.text(max_size=500).map(str.encode)))
def test_parsing_any_bytes_raises_only_unreadable(raw):
    try:
        mail = parse(raw)
    except Unreadable:
        return
    # PostgreSQL can store all of it.
    for text in (
        mail.body[0],
        mail.subject,
        mail.sender,
        mail.sender_name,
        *(each.filename for each in mail.attachments),
    ):
        assert "\0" not in text
        text.encode()


@pytest.mark.slow("runs many examples")
def test_a_hundred_mutations_beside_good_mail_lose_none_of_it():
    TicketQueueFactory()
    randomness = random.Random(5)

    for number in range(50):
        raw = bytearray(sample())
        for _ in range(40):
            raw[randomness.randrange(len(raw))] = randomness.randrange(256)
        check(take_in(BytesIO(bytes(raw))), bytes(raw))
        good = a_mail(f"Help {number}", From=f"c{number}@client.example")
        assert take_in(BytesIO(good)).outcome == "stored"
