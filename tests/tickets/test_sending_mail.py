"""Mails to a real server on a socket: the outcome of each success and failure."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core.errors import Conflict
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory
from tests.tickets.mail_servers import (  # noqa: F401  (a fixture)
    MailServer,
    a_mail_server,
    due_now,
    mail_server,
    mute,
    saying,
    send_to,
)
from tests.webhooks.receivers import receiver, tls_for
from tickets.mail import smtp
from tickets.mail.dispatcher import dispatch
from tickets.models import Dispatch, TicketChange
from tickets.verbs.dispatches import record_bounce, resend
from tickets.verbs.messages import reply_to

pytestmark = pytest.mark.django_db


def a_reply(body: str = "<p>Try again</p>", **values: Any) -> Dispatch:
    ticket = values.pop("ticket", None) or TicketFactory()
    message = reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body=body, **values)
    return Dispatch.objects.get(message=message)


def sent(row: Dispatch) -> Dispatch:
    dispatch(row.pk)
    row.refresh_from_db()
    return row


def outcome(row: Dispatch) -> tuple[str, bool, str]:
    return row.state, row.is_unknown, row.error


def test_a_reply_reaches_the_server_once(server):
    row = sent(a_reply())

    dispatch(row.pk)

    assert outcome(row) == ("sent", False, "")
    assert row.sent_at is not None
    assert [envelope.rcpt_tos for envelope in server.received] == [["jan@client.example"]]


def test_a_message_full_of_dots_arrives_as_it_was_written(server):
    body = ".\n..\n.end\n" + "long. " * 20_000

    sent(a_reply(body, body_type="PLAIN"))

    text = server.mails[0].get_body(("plain",))
    assert text is not None
    assert text.get_content().replace("\r\n", "\n") == body + "\n"


@pytest.mark.parametrize(
    ("address", "answer", "state", "condition"),
    [
        ("jan@client.example", "550 No such user", "failed", "failed"),
        ("jan@client.example", "450 Try later", "queued", "waits for another attempt"),
        ("gone@client.example", "550 No such user", "sent", "sent, but not to gone@client.example"),
    ],
)
def test_the_answer_about_a_recipient_decides(server, address, answer, state, condition):
    server.rcpt_answers[address] = answer

    row = sent(a_reply(copies=["gone@client.example"] if address.startswith("gone") else []))

    assert (outcome(row), row.condition) == ((state, False, f"{address}: {answer}"), condition)
    assert (row.next_attempt_at is not None and row.next_attempt_at > timezone.now()) == (state == "queued")


@pytest.mark.parametrize(
    ("answer", "state"), [("451 Greylisted", "queued"), ("421 Closing", "queued"), ("552 Too large", "failed")]
)
def test_the_answer_to_the_message_decides(server, answer, state):
    server.data_answer = answer

    row = sent(a_reply())

    assert outcome(row) == (state, False, answer)
    assert row.begun_at is None


def test_each_attempt_waits_longer_and_the_last_one_fails(server):
    server.data_answer = "451 Not now"
    row = a_reply()

    waited = []
    for _ in Dispatch.delays:
        Dispatch.objects.filter(pk=row.pk).update(next_attempt_at=timezone.now())
        sent(row)
        assert row.next_attempt_at is not None
        waited.append(row.next_attempt_at - timezone.now())
    Dispatch.objects.filter(pk=row.pk).update(next_attempt_at=timezone.now())
    sent(row)

    assert [round(wait / timedelta(minutes=1)) for wait in waited] == [1, 5, 15, 60, 240, 720, 1440, 1440]
    assert outcome(row) == ("failed", False, "451 Not now")
    assert len(server.received) == len(Dispatch.delays) + 1


@pytest.mark.parametrize("fault", ["drops", "holds"])
def test_a_server_that_hangs_up_or_hangs_after_the_message_leaves_the_outcome_unknown(server, monkeypatch, fault):
    monkeypatch.setattr(smtp, "ANSWER_SECONDS", 0.2 if fault == "holds" else smtp.ANSWER_SECONDS)
    setattr(server, fault, True)

    row = sent(a_reply())
    again = sent(row)

    assert (row.state, row.is_unknown, row.condition) == ("failed", True, "failed: outcome unknown")
    assert row.error.startswith("outcome unknown: ")
    assert (again.attempt_count, len(server.received)) == (1, 1)


@pytest.mark.parametrize("command", ["GREETING", "EHLO", "MAIL", "RCPT", "DATA"])
def test_a_disconnect_before_the_message_is_retried(settings, command):
    # A server that does not know EHLO is asked with HELO.
    silence = {command: None, "HELO": None} if command == "EHLO" else {command: None}
    with receiver(saying(**silence)) as running:
        send_to(settings, running.port)
        row = sent(a_reply())

    assert (row.state, row.is_unknown, row.begun_at) == ("queued", False, None)
    assert row.error


@pytest.mark.parametrize(
    ("command", "answer", "state"),
    [
        ("GREETING", "554 Go away", "queued"),
        ("MAIL", "452 Disk full", "queued"),
        ("MAIL", "550 Sender refused", "failed"),
        ("DATA", "451 Not now", "queued"),
        ("DATA", "554 No", "failed"),
    ],
)
def test_an_answer_before_the_message_decides(settings, command, answer, state):
    with receiver(saying(**{command: answer})) as running:
        send_to(settings, running.port)
        row = sent(a_reply())

    assert (row.state, row.is_unknown, answer in row.error) == (state, False, True)


def test_a_timeout_before_the_message_and_an_unreachable_server_are_retried(settings):
    with receiver(mute) as running:
        send_to(settings, running.port)
        settings.EMAIL_TIMEOUT = 0.2
        slow = sent(a_reply())
    unreachable = sent(a_reply())

    assert (slow.state, slow.is_unknown, "timed out" in slow.error) == ("queued", False, True)
    assert (unreachable.state, "refused" in unreachable.error) == ("queued", True)


def test_an_untrusted_certificate_stops_the_mail(settings, tmp_path):
    with mail_server(settings, tls_context=tls_for(tmp_path, "127.0.0.1"), require_starttls=True) as running:
        settings.EMAIL_USE_TLS = True
        row = sent(a_reply())

    assert (row.state, "CERTIFICATE_VERIFY_FAILED" in row.error) == ("queued", True)
    assert not running.received


def test_a_server_without_tls_gets_no_mail_that_wants_it(settings, server):
    settings.EMAIL_USE_TLS = True

    row = sent(a_reply())

    assert (row.state, row.error) == ("queued", "STARTTLS extension not supported by server.")
    assert not server.received


def test_a_task_sends_further_messages_that_are_due(server):
    first, *others = [a_reply() for _ in range(3)]

    dispatch(first.pk)

    assert set(Dispatch.objects.values_list("state", flat=True)) == {"sent"}
    assert len(server.received) == 1 + len(others)


def test_a_slow_worker_that_lost_its_lease_sends_nothing(settings, monkeypatch):
    row = a_reply()
    with mail_server(settings) as server:
        opening = smtp._open

        def open_late(backend):
            """Let another worker take over the dispatch meanwhile."""
            Dispatch.objects.filter(pk=row.pk).update(next_attempt_at=timezone.now() + timedelta(hours=1))
            opening(backend)

        monkeypatch.setattr(smtp, "_open", open_late)
        dispatch(row.pk)

    row.refresh_from_db()
    assert (row.state, row.begun_at, len(server.received)) == ("queued", None, 0)


def test_an_answer_after_the_lease_decides(server, monkeypatch):
    row = a_reply()
    transmit = smtp._transmit

    def slowly(connection, octets):
        transmit(connection, octets)
        Dispatch.objects.filter(pk=row.pk).update(next_attempt_at=timezone.now())
        dispatch(row.pk)  # by another worker
        row.refresh_from_db()
        assert outcome(row) == ("failed", True, "outcome unknown")

    monkeypatch.setattr(smtp, "_transmit", slowly)

    assert outcome(sent(row)) == ("sent", False, "")


def test_only_a_person_sends_a_failed_message_again(server):
    server.drops = True
    row = sent(a_reply())
    server.drops = False
    assert due_now() == []

    resend(row, ACTOR)

    assert due_now() == [row.pk]
    assert outcome(sent(row)) == ("sent", False, "")
    assert server.mails[0]["Message-ID"] == server.mails[1]["Message-ID"]
    change = TicketChange.objects.get(action="resend")
    assert change.changes["state"] == ["failed: outcome unknown", "queued"]


def test_a_sent_message_is_not_sent_again_unless_it_bounced(server):
    row = sent(a_reply())

    with pytest.raises(Conflict):
        resend(row, ACTOR)
    assert due_now() == []
    record_bounce(row, ACTOR, "550 mailbox full")
    record_bounce(row, ACTOR, "the same again")
    assert (row.condition, row.error) == ("bounced", "550 mailbox full")
    assert TicketChange.objects.filter(action="bounce").count() == 1
    resend(row, ACTOR)
    assert (row.condition, row.bounced_at) == ("queued", None)


# Valid addresses that Python's libraries do not expect


def sent_to(address: str, **values: Any) -> Dispatch:
    ticket = TicketFactory(sender=address)
    message = reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="Żółw", **values)
    dispatch(message.dispatch.pk)
    return Dispatch.objects.get(message=message)


def content_of(server: MailServer) -> bytes:
    content = server.received[0].content
    assert isinstance(content, bytes)
    return content


@pytest.mark.parametrize("address", ["a..b@mobile.example", ".a.@mobile.example", "jan@xn--w-uga1v8h.example"])
def test_a_server_is_given_unusual_addresses_as_they_are(address, settings):
    with mail_server(settings) as server:
        row = sent_to(address)

    assert (row.state, row.error) == ("sent", "")
    assert server.received[0].rcpt_tos == [address]
    assert f"To: {address}\r\n".encode() in content_of(server)


def test_non_ascii_local_parts_need_smtputf8(settings):
    with mail_server(settings, enable_SMTPUTF8=True) as server:
        row = sent_to("jóźef@żółw.example", copies=["jan@client.example", "zoë@client.example"])

    assert (row.state, row.error) == ("sent", "")
    to, cc = "jóźef@xn--w-uga1v8h.example", "jan@client.example, zoë@client.example"
    assert server.received[0].rcpt_tos == [to, *cc.split(", ")]
    assert "SMTPUTF8" in server.received[0].mail_options
    assert f"To: {to}\r\n".encode() in content_of(server)
    assert f"Cc: {cc}\r\n".encode() in content_of(server)


def test_a_server_without_smtputf8_fails_the_mail_with_the_reason(settings):
    with mail_server(settings) as server:
        row = sent_to("jóźef@klient.example")

    assert (row.state, server.received) == ("failed", [])
    assert row.error == "SMTPUTF8 not supported by server: its address has letters that this mail server cannot send to"


def test_a_refused_address_of_another_script_is_named_as_it_was_given(settings):
    with mail_server(settings, enable_SMTPUTF8=True) as server:
        server.rcpt_answers["jóźef@xn--w-uga1v8h.example"] = "550 unknown"
        row = sent_to("jóźef@żółw.example", copies=["jan@client.example"])

    assert (row.state, row.refused) == ("sent", {"jóźef@żółw.example": "550 unknown"})


def test_without_a_server_the_file_names_the_address(settings, tmp_path):
    settings.EMAIL_BACKEND, settings.EMAIL_FILE_PATH = "django.core.mail.backends.filebased.EmailBackend", tmp_path

    sent_to("jóźef@klient.example")

    assert "To: jóźef@klient.example\n".encode() in next(tmp_path.iterdir()).read_bytes()
