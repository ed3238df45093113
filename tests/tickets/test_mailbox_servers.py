"""Servers of mailboxes: permitted addresses, encryption of the password, and messages about failures."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import ACTOR
from tests.tickets.factories import TicketQueueFactory
from tests.tickets.imap_server import Mailbox, a_mailbox, local_mailboxes, queue_of  # noqa: F401  (fixtures)
from tests.webhooks.conftest import resolve  # noqa: F401  (a fixture)
from tests.webhooks.receivers import authorities, tls_for
from tickets import tasks
from tickets.mail import connection_reasons, mailbox_connection
from tickets.mail.mailbox_poll import poll
from tickets.models import MailboxTest, TicketQueue
from tickets.verbs.mailboxes import request_mailbox_test

pytestmark = pytest.mark.usefixtures("committed_db")

# Spellings of this machine, of private and link-local networks, and of invalid hosts.
INTERNAL = [
    *("127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "::1", "[::1]", "::ffff:127.0.0.1"),
    *("0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "169.254.169.254", "fe80::1%eth0"),
    *("64:ff9b::7f00:1", "nowhere.invalid", "user@127.0.0.1", "127.0.0.1/x", "127.0.0.1:25", "?", "a b"),
]


@pytest.fixture
def trusted(tmp_path, monkeypatch):
    """Trust certificates that the tests sign."""
    monkeypatch.setenv("SSL_CERT_FILE", authorities(tmp_path))


def by_poll(queue: TicketQueue) -> str:
    poll(queue.pk)
    queue.refresh_from_db()
    return queue.poll_error


def by_test(queue: TicketQueue) -> str:
    request_mailbox_test(queue, ACTOR)
    mailbox_connection.run_test(queue.pk)
    return MailboxTest.objects.get(pk=queue.pk).error


TLS = {"imap_uses_tls": True, "imap_allows_plain": False}
BOTH = pytest.mark.parametrize("error_of", [by_poll, by_test])
Tried = Callable[[TicketQueue], str]


def logins(box: Mailbox) -> list[str]:
    return [command for command in box.commands if command.startswith("LOGIN")]


@pytest.mark.parametrize(("error_of", "hosts"), [(by_poll, INTERNAL[::2]), (by_test, INTERNAL[1::2])])
def test_a_mailbox_inside_our_network_is_refused_in_the_same_words(box, settings, error_of, hosts):
    # The networks of webhooks are others.
    settings.MAILBOX_ALLOWED_NETWORKS, settings.WEBHOOK_ALLOWED_NETWORKS = [], ["127.0.0.1"]

    for host in hosts:
        assert error_of(queue_of(box, imap_host=host, **TLS)) == connection_reasons.ELSEWHERE, host
    assert box.connections == 0


@BOTH
@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.215.14", "127.0.0.1"], ["127.0.0.1", "10.0.0.1"]])
def test_the_address_behind_a_name_counts_and_not_the_name(
    box,
    settings,
    resolve,  # noqa: F811
    error_of,
    addresses,
):
    settings.MAILBOX_ALLOWED_NETWORKS = ["10.0.0.0/8"]
    resolve("mail.example", addresses)

    assert error_of(queue_of(box, imap_host="mail.example", **TLS)) == connection_reasons.ELSEWHERE
    assert box.connections == 0


@BOTH
def test_an_address_is_looked_up_once_and_is_the_one_connected_to(
    box,
    settings,
    resolve,  # noqa: F811
    error_of,
):
    asked = resolve("mail.example", ["127.0.0.1"])

    error = error_of(queue_of(box, imap_host="mail.example"))

    assert (error, asked, len(logins(box))) == ("", ["mail.example"], 1)


@BOTH
@pytest.mark.parametrize("networks", [[], ["10.0.0.0/8"]])
def test_a_password_without_encryption_stays_in_the_allowed_networks(
    box,
    settings,
    resolve,  # noqa: F811
    error_of,
    networks,
):
    settings.MAILBOX_ALLOWED_NETWORKS = networks
    # A public address, to which no connection may be made.
    resolve("mail.example", ["93.184.215.14"])

    error = error_of(queue_of(box, imap_host="mail.example"))

    assert error == connection_reasons.UNENCRYPTED


@BOTH
def test_a_server_without_starttls_gets_no_password(box, error_of):
    error = error_of(queue_of(box, imap_allows_plain=False))

    assert (error, logins(box)) == (connection_reasons.NO_STARTTLS, [])


@pytest.mark.usefixtures("trusted")
@BOTH
@pytest.mark.parametrize("kind", ["tls", "starttls"])
@pytest.mark.parametrize("name", ["127.0.0.1", "mail.example"])
def test_a_password_goes_to_a_server_whose_certificate_is_for_its_name(box, tmp_path, error_of, kind, name):
    setattr(box, kind, tls_for(tmp_path, name))

    error = error_of(queue_of(box, imap_uses_tls=kind == "tls", imap_allows_plain=False))

    refused = f"{connection_reasons.NO_TLS}: the certificate is for another host"
    assert (error, len(logins(box))) == (("", 1) if name == "127.0.0.1" else (refused, 0))


@BOTH
@pytest.mark.parametrize("greeting", ["SSH-2.0-OpenSSH_9.6 inner-host", "220 inner-host ESMTP", "* BYE inner-host"])
def test_the_answer_of_another_service_is_not_shown(box, settings, error_of, greeting):
    box.greeting = greeting

    assert error_of(queue_of(box)) == mailbox_connection.NO_IMAP


@BOTH
def test_a_closed_port_is_reported_as_unreachable(box, settings, error_of):
    assert error_of(queue_of(box, imap_port=1)) == connection_reasons.UNREACHABLE


@pytest.mark.parametrize("is_before_greeting", [True, False])
def test_a_test_of_a_server_that_never_answers_ends_at_its_limit(box, settings, monkeypatch, is_before_greeting):
    monkeypatch.setattr(mailbox_connection, "LONGEST_SECONDS", 1)
    if is_before_greeting:
        box.greeting = ""
    else:
        box.password = "\0hangs"
    queue = queue_of(box, imap_password="secret")

    error = by_test(queue)

    assert error
    assert MailboxTest.objects.get(pk=queue.pk).finished_at is not None


# The test itself


def test_a_test_counts_the_mails_and_changes_nothing(box, settings):
    for number in range(3):
        box.add(b"From: a@b.example\n\nx", is_seen=number == 0)

    queue = queue_of(box)
    assert by_test(queue) == ""

    test = MailboxTest.objects.get(pk=queue.pk)
    assert (test.mail_count, test.unseen_count, test.asked_by) == (3, 2, "tester")
    assert (box.fetched(), box.seen) == ([], {1})


def test_a_repeated_task_makes_one_test(box):
    queue = queue_of(box)
    request_mailbox_test(queue, ACTOR)

    for _ in range(3):
        mailbox_connection.run_test(queue.pk)

    assert box.connections == 1


def test_a_second_request_starts_no_second_test_and_the_sweep_finds_one_whose_task_was_lost(monkeypatch):
    enqueued: list[Any] = []
    for module in ("tickets.verbs.mailboxes", "tickets.tasks"):
        monkeypatch.setattr(f"{module}.enqueue", lambda *call: enqueued.append(call))
    queue = TicketQueueFactory()

    for _ in range(2):
        request_mailbox_test(queue, ACTOR)
    assert enqueued == [("tickets.test_mailbox", queue.pk)]
    tasks.poll_mailboxes()
    assert enqueued == [("tickets.test_mailbox", queue.pk)] * 2
