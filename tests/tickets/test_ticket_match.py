"""The match of mails with tickets, the effects of a mail, and mails that become no message."""

from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from callcentre.core.errors import Conflict, Invalid
from tests.conftest import ACTOR, ApiClient
from tests.tickets.factories import CustomerFactory, TicketFactory, TicketQueueFactory, levelled_queue
from tests.tickets.mails import a_mail, answered, files_on_disk, taken
from tickets.mail import intake
from tickets.mail.intake import FLOOD, MOST_ATTEMPTS, process
from tickets.models import CustomerSettings, Dispatch, Message, ReceivedMail, StoredFile, Ticket, TicketStatus
from tickets.verbs.merges import split_ticket
from tickets.verbs.messages import receive_message
from tickets.verbs.received_mails import discard_mail, retry_mail
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]


def actions() -> list[str]:
    return list(Event.objects.order_by("id").values_list("action", flat=True))


def test_a_mail_may_be_empty_and_control_characters_are_removed_from_a_name() -> None:
    TicketQueueFactory()
    raw = a_mail(" \n").replace(b"Jan <jan", b"=?utf-8?b?SmFuIBtbMzFtIEtvd2FsDQpCY2M6IHg=?= <jan")

    message = taken(raw).message

    assert message.ticket.subject == "Broken"
    assert (message.author_name, message.ticket.sender_name) == ("Jan [31m Kowal Bcc: x", "Jan [31m Kowal Bcc: x")


def test_a_new_ticket_has_its_customer_its_targets_and_its_events(api: ApiClient) -> None:
    queue = levelled_queue(address="help@us.example", resolution_minutes=120)
    customer = CustomerFactory(email="JAN@client.example")
    CustomerFactory(email="jan@client.example")

    received = taken(a_mail(Message_ID="<1@client.example>"), queue)

    ticket = Ticket.objects.get()
    assert (ticket.customer, ticket.source, ticket.status.kind) == (customer, "email", "new")
    assert ticket.response_due_at == ticket.created_at + timedelta(minutes=60)
    assert ticket.resolution_due_at == ticket.created_at + timedelta(minutes=120)
    assert actions() == ["TICKET_CREATED"]
    assert Event.objects.get().payload["direction"] == "in"
    assert ticket.history.get().actor_name == "mail"
    (shown,) = api.get("/api/tickets").json()["result"]
    assert (shown["from"], shown["subject"], shown["customer_id"]) == ("jan@client.example", "Broken", customer.pk)
    assert [(message["type"], message["body"]) for message in shown["messages"]] == [("MAIL", "Help!\n")]
    assert (received.header_id, received.message.author_name) == ("1@client.example", "Jan")


def test_an_answer_opens_a_closed_ticket_again_with_its_events() -> None:
    ticket, dispatch = answered()
    closed = TicketStatus.objects.get(kind="closed")
    Ticket.objects.filter(pk=ticket.pk).update(status=closed, closed_at=timezone.now())
    Event.objects.all().delete()

    taken(a_mail("Still broken", In_Reply_To=f"<{dispatch.header_id}>"))

    ticket.refresh_from_db()
    assert (ticket.status.kind, ticket.closed_at) == ("new", None)
    assert ticket.messages.latest("id").system_comment == "Changed status from [Closed] to [New]"
    assert actions() == ["TICKET_MESSAGE_RECEIVED", "TICKET_UPDATED"]


def test_an_answer_to_a_split_off_message_joins_its_new_ticket() -> None:
    ticket, dispatch = answered()
    receive_message(ticket, ACTOR, body="Of another matter")
    other = split_ticket(ticket, ACTOR, [dispatch.message_id], "The other matter")

    received = taken(a_mail("Second", In_Reply_To=f"<{dispatch.header_id}>"))

    assert received.message.ticket == other


@pytest.mark.parametrize("way", ["in_reply_to", "references", "theirs", "subject"])
def test_an_answer_finds_its_ticket(way: str) -> None:
    ticket, dispatch = answered()
    taken(a_mail("First", Message_ID="<theirs@client.example>", In_Reply_To=f"<{dispatch.header_id}>"))
    headers = {
        "in_reply_to": {"In_Reply_To": f"<{dispatch.header_id}>"},
        "references": {"References": f"<{dispatch.header_id}> <other@client.example>"},
        # The customer's answer to their own mail.
        "theirs": {"In_Reply_To": "<theirs@client.example>"},
        "subject": {"Subject": f"Odp: Broken [#{ticket.pk}]"},
    }[way]

    received = taken(a_mail("Second", **headers))

    assert received.message.ticket == ticket


@pytest.mark.parametrize("sender", ["Jan@C.example", "copy@c.example", "other@c.example", "form@web.example"])
def test_a_participant_may_answer(sender: str) -> None:
    ticket, dispatch = answered(sender="jan@c.example", customer=CustomerFactory(email="other@c.example"))
    Dispatch.objects.update(copies=["Copy@c.example"])
    headers = {"From": sender}
    if sender == "form@web.example":
        headers["Reply_To"] = "jan@c.example"

    assert taken(a_mail(In_Reply_To=f"<{dispatch.header_id}>", **headers)).message.ticket == ticket


@pytest.mark.parametrize("sender", ["eve@client.example", "jan@client.example.evil.example", "n@client.example"])
def test_a_stranger_begins_a_new_ticket(sender: str) -> None:
    ticket, dispatch = answered()

    for headers in ({"In_Reply_To": f"<{dispatch.header_id}>"}, {"Subject": f"Re: [#{ticket.pk}]"}):
        assert taken(a_mail(From=sender, **headers)).message.ticket != ticket


def test_a_forged_message_id_matches_no_ticket() -> None:
    ticket, dispatch = answered()
    forged = dispatch.header_id.replace(dispatch.header_id.split(".")[3][:4], "0000", 1)
    Dispatch.objects.update(header_id="other@us.example")

    assert taken(a_mail(In_Reply_To=f"<{forged}>")).message.ticket != ticket


def test_mail_to_a_merged_ticket_joins_the_target() -> None:
    ticket, dispatch = answered()
    target = TicketFactory(sender="else@client.example")
    last = TicketFactory(sender="last@client.example")
    Ticket.objects.filter(pk=target.pk).update(merged_into=last)
    Ticket.objects.filter(pk=ticket.pk).update(merged_into=target)

    assert taken(a_mail(In_Reply_To=f"<{dispatch.header_id}>")).message.ticket == last


def bounce(header_id: str, action: str = "failed") -> bytes:
    return (
        f"From: MAILER-DAEMON@client.example\nTo: help@us.example\nSubject: Undelivered\n"
        f'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\n\n--b\n\nSorry.\n--b\n'
        f"Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.client.example\n\n"
        f"Final-Recipient: rfc822; jan@client.example\nAction: {action}\nStatus: 5.1.1\n"
        f"Diagnostic-Code: smtp; 550 5.1.1 No such\n user\n--b\n"
        f"Content-Type: text/rfc822-headers\n\nMessage-ID: <{header_id}>\nSubject: Re: Broken\n--b--\n"
    ).encode()


def test_a_bounce_marks_the_mail_that_did_not_arrive() -> None:
    ticket, dispatch = answered()

    received = taken(bounce(dispatch.header_id))

    dispatch.refresh_from_db()
    ticket.refresh_from_db()
    assert (dispatch.bounced_at is not None, dispatch.error) == (True, "550 5.1.1 No such user")
    assert (received.message.ticket, received.message.is_automatic) == (ticket, True)
    assert ticket.status.kind == "waiting_for_customer"
    assert [file.filename for file in received.message.files.all()] == ["part-1.txt", "part-2.txt"]


def test_a_delay_is_no_bounce_and_joins_the_present_ticket_of_its_message() -> None:
    ticket, dispatch = answered()
    receive_message(ticket, ACTOR, body="Of another matter")
    other = split_ticket(ticket, ACTOR, [dispatch.message_id], "The other matter")

    assert taken(bounce(dispatch.header_id, "delayed")).message.ticket == other
    dispatch.refresh_from_db()
    assert dispatch.bounced_at is None
    assert taken(bounce(dispatch.header_id)).message.ticket == other


def test_a_bounce_concerns_only_its_recipient() -> None:
    _ticket, dispatch = answered()
    both = ["jan@client.example", "eva@client.example"]
    Dispatch.objects.update(state="sent", sent_at=timezone.now(), next_attempt_at=None, copies=both[1:], accepted=both)

    taken(bounce(dispatch.header_id))

    dispatch.refresh_from_db()
    assert (dispatch.refused, dispatch.accepted) == ({both[0]: "550 5.1.1 No such user"}, both[1:])


def test_a_bounce_of_a_foreign_mail_is_quarantined() -> None:
    _ticket, dispatch = answered()
    forged = dispatch.header_id[:-30] + "0" * 20 + "@us.example"

    received = taken(bounce(forged))

    assert (received.outcome, received.reason) == ("quarantined", "it is a bounce of no mail of ours")
    dispatch.refresh_from_db()
    assert dispatch.bounced_at is None


def test_mail_of_our_own_addresses_makes_no_loop() -> None:
    TicketQueueFactory(address="help@us.example")

    for headers in ({"From": "HELP@us.example"}, {"Reply_To": "help@us.example"}):
        assert taken(a_mail(**headers)).reason == "it says that it comes from one of our own addresses"
    assert not Ticket.objects.exists()


def test_a_flood_is_quarantined_until_a_person_lets_it_in() -> None:
    queue = TicketQueueFactory()
    for number in range(FLOOD):
        ReceivedMail.objects.create(
            sha256=f"{number}", queue=queue, sender="jan@client.example", size=1, outcome="stored"
        )

    received = taken(a_mail())
    other = taken(a_mail(From="eva@client.example"))

    assert (received.outcome, other.outcome) == ("quarantined", "stored")
    retry_mail(received, ACTOR)
    process(received.pk)
    received.refresh_from_db()
    assert (received.outcome, received.decided_by) == ("stored", "tester")


def test_mail_without_a_queue_is_quarantined_until_a_person_retries_it() -> None:
    received = taken(a_mail())
    assert (received.outcome, received.reason) == ("quarantined", "there is no ticket queue")
    with translation.override("pl"):
        assert received.why != received.reason

    TicketQueueFactory()
    retry_mail(received, ACTOR)
    assert received.outcome == "received"
    process(received.pk)
    process(received.pk)

    received.refresh_from_db()
    assert (received.outcome, received.reason, Message.objects.count()) == ("stored", "", 1)
    with pytest.raises(Conflict):
        retry_mail(received, ACTOR)


def test_a_person_discards_a_mail_with_a_reason() -> None:
    received = taken(a_mail())

    with pytest.raises(Invalid):
        discard_mail(received, ACTOR, " ")
    discard_mail(received, ACTOR, "spam")

    assert (received.outcome, received.reason, received.decided_by) == ("ignored", "spam", "tester")
    with received.open_raw() as raw:
        assert raw.read() == a_mail()
    with pytest.raises(Conflict):
        discard_mail(received, ACTOR, "spam")


class KilledError(BaseException):
    """The death of the process: no handler catches it."""


def test_a_mail_that_kills_its_workers_is_quarantined(monkeypatch: pytest.MonkeyPatch) -> None:
    TicketQueueFactory()

    def die(raw: bytes) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(intake, "parse", die)
        for _ in range(MOST_ATTEMPTS + 1):
            with pytest.raises(KilledError):
                taken(a_mail())
    received = taken(a_mail())

    assert (received.outcome, received.reason) == ("quarantined", "it has stopped its worker again and again: 3")
    retry_mail(received, ACTOR)
    process(received.pk)
    assert Ticket.objects.count() == 1


def test_a_store_that_fails_is_not_the_fault_of_the_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    TicketQueueFactory()

    def fail(*args: object, **values: object) -> None:
        raise OperationalError("deadlock detected")

    with monkeypatch.context() as patch:
        patch.setattr(intake, "open_ticket", fail)
        with pytest.raises(OperationalError):
            taken(a_mail())
    assert not ReceivedMail.objects.exists()

    assert taken(a_mail()).outcome == "stored"


def test_images_of_the_mail_are_files_that_its_html_names() -> None:
    TicketQueueFactory()
    mail = EmailMessage()
    mail["From"] = "jan@client.example"
    pixel = "iVBORw0KGgo="
    markup = (
        f'<p>See <img src="cid:logo%40x"> <img alt="a" src="data:image/png;base64,{pixel}"> <img src="cid:none"></p>'
    )
    mail.set_content(markup, subtype="html")
    mail.add_related(b"logo", maintype="image", subtype="png", cid="<logo@x>", filename="logo.png")
    mail.add_attachment(b"pdf", maintype="application", subtype="pdf", filename="a.pdf")

    message = taken(mail.as_bytes()).message

    logo, pdf, image = message.files.order_by("id")
    assert message.attachments == [logo.token, pdf.token, image.token]
    assert f'src="cid:{logo.token}"' in message.body
    assert f'src="cid:{image.token}"' in message.body
    assert [(each.content_id == each.token, each.filename) for each in (logo, pdf, image)] == [
        (True, "logo.png"),
        (False, "a.pdf"),
        (True, "image-3.png"),
    ]
    with default_storage.open(image.path) as content:
        assert content.read().startswith(b"\x89PNG")


def test_a_quotation_is_folded() -> None:
    TicketQueueFactory()
    quoted = '<blockquote type="cite"><script>x</script>Try again</blockquote>'

    message = taken(a_mail(f"<p>No.</p>{quoted}", subtype="html")).message

    assert (message.body, message.quoted.strip()) == ("<p>No.</p>", "<blockquote>Try again</blockquote>")


# Only the mail of an unknown sender reads the setting. A new customer costs four more.
@pytest.mark.parametrize(("creates_unknown", "expected"), [(False, [13, 17, 13]), (True, [12, 17, 17])])
def test_the_number_of_queries_for_a_mail(creates_unknown: bool, expected: list[int], own_storage: Path) -> None:
    CustomerSettings.objects.update(creates_unknown=creates_unknown)
    queue = TicketQueueFactory(address="help@us.example")
    taken(a_mail(), queue)
    counts = []

    for raw in (
        a_mail("<p>New</p>", subtype="html", Message_ID="<2@client.example>"),
        a_mail("Answer", In_Reply_To="<2@client.example>", Message_ID="<3@client.example>"),
        a_mail("<p>New</p>", subtype="html", Message_ID="<4@client.example>", From="eva@client.example"),
    ):
        with CaptureQueriesContext(connection) as queries:
            assert taken(raw, queue).outcome == "stored"
        counts.append(len(queries))

    assert counts == expected
    # Only the raw mails.
    assert files_on_disk(own_storage) == 4
    assert not StoredFile.objects.exists()
