"""The watch of mailboxes: one connection each, new mail at once, polls where it does not run."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from callcentre.core.advisory_locks import try_lock
from tests.processes import ROOT, environment, wait_for
from tests.tickets.imap_server import Mailbox, a_mailbox, local_mailboxes, queue_of, serving  # noqa: F401  (fixtures)
from tests.tickets.mails import a_mail
from tests.tickets.provider import Provider, a_provider, granted, queue_with_tokens  # noqa: F401  (a fixture)
from tests.webhooks.receivers import authorities, tls_for
from tickets.mail import mailbox_watch
from tickets.mail.mailbox_poll import LOCK_SPACE, poll
from tickets.mail.mailbox_watch import Watch
from tickets.models import Ticket, TicketQueue

pytestmark = [
    pytest.mark.usefixtures("committed_db", "own_storage"),
    pytest.mark.slow("waits for servers in threads"),
]


@pytest.fixture(name="box")
def a_mailbox_with_idle(box):
    box.has_idle = True
    return box


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(mailbox_watch, "TICK_SECONDS", 0.05)
    monkeypatch.setattr(mailbox_watch, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(mailbox_watch, "PAUSE_SECONDS", 0.1)


@contextmanager
def watching() -> Iterator[None]:
    watch = Watch()
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        yield
    finally:
        watch.is_stopping = True
        thread.join()


def is_idle(box: Mailbox) -> bool:
    return box.commands[-1:] == ["IDLE"]


def is_locked(queue_id: int) -> bool:
    with try_lock(LOCK_SPACE, queue_id) as is_free:
        return not is_free


def subjects() -> list[str]:
    return list(Ticket.objects.order_by("id").values_list("subject", flat=True))


@pytest.mark.parametrize("encryption", ["none", "TLS"])
def test_new_mail_is_read_as_soon_as_the_server_tells_over_one_connection(box, tmp_path, monkeypatch, encryption):
    monkeypatch.setenv("SSL_CERT_FILE", authorities(tmp_path))
    box.tls = tls_for(tmp_path, "127.0.0.1") if encryption == "TLS" else None
    box.add(a_mail(Subject="Before"))
    queue = queue_of(box, imap_uses_tls=encryption == "TLS", imap_allows_plain=encryption == "none")

    with watching():
        wait_for(lambda: is_idle(box))
        for number in range(3):
            box.add(a_mail(Subject=f"Mail {number}"))
            wait_for(lambda count=number + 2: Ticket.objects.count() == count)  # type: ignore[misc]
        wait_for(lambda: is_idle(box))
        assert poll(queue.pk) == 0

    assert subjects() == ["Before", "Mail 0", "Mail 1", "Mail 2"]
    assert box.connections == 1
    queue.refresh_from_db()
    assert (queue.poll_error, queue.read_at) == ("", queue.polled_at)


@pytest.mark.parametrize("server", ["has no IDLE", "does not tell"])
def test_a_server_that_does_not_tell_is_asked_again_and_again(box, monkeypatch, server):
    monkeypatch.setattr(mailbox_watch, "READ_SECONDS", 0.2)
    box.has_idle, box.tells = server == "does not tell", False
    queue_of(box)

    with watching():
        wait_for(lambda: any("SEARCH" in command for command in box.commands))
        box.add(a_mail(Subject="Late"))
        wait_for(lambda: subjects() == ["Late"])

    assert box.connections == 1
    assert ("IDLE" in box.commands) == box.has_idle


def test_a_lost_connection_is_opened_again_and_no_failure_is_shown(box):
    queue = queue_of(box)

    with watching():
        wait_for(lambda: is_idle(box))
        box.hang_up()
        box.add(a_mail(Subject="Meanwhile"))
        wait_for(lambda: subjects() == ["Meanwhile"])

    assert box.connections == 2
    queue.refresh_from_db()
    assert queue.failing_since is None


def test_a_refused_log_in_is_shown_tried_with_growing_pauses_and_at_once_after_a_change(box, monkeypatch):
    monkeypatch.setattr(mailbox_watch, "PAUSE_SECONDS", 100)
    queue = queue_of(box, imap_password="wrong")

    def error() -> str:
        return TicketQueue.objects.values_list("poll_error", flat=True).get(pk=queue.pk)

    with watching():
        wait_for(lambda: error().startswith("the server refuses user and password"))
        queue.refresh_from_db()
        queue.imap_password = box.password
        queue.save(update_fields=["imap_password", "updated_at"])
        wait_for(lambda: is_idle(box))

    assert (error(), box.connections) == ("", 2)


def test_an_inactive_queue_is_let_go(box):
    queue = queue_of(box)

    with watching():
        wait_for(lambda: is_idle(box))
        queue.refresh_from_db()
        queue.is_active = False
        queue.save(update_fields=["is_active", "updated_at"])
        wait_for(lambda: not is_locked(queue.pk))


def test_a_token_opens_the_connection(box, provider):
    box.user, box.token = "help@us.example", provider.token
    box.add(a_mail())
    granted(queue_with_tokens(box))

    with watching():
        wait_for(lambda: is_idle(box))

    assert Ticket.objects.count() == len(provider.asked) == 1


@pytest.mark.trial
def test_a_hundred_mailboxes_are_kept_by_one_process_though_some_servers_hang(box):
    box.has_idle = True
    hanging = Mailbox(password="\0hangs")
    with serving(hanging):
        for number in range(100):
            queue_of(hanging if number < 20 else box, imap_password=box.password)
        with watching():
            wait_for(lambda: box.commands.count("IDLE") >= 80)
            box.add(a_mail())
            wait_for(lambda: len(box.fetched()) >= 80)
            # The servers that hang are not waited for.
            kept = box.open
            for queue in TicketQueue.objects.filter(imap_port=hanging.port):
                queue.save(update_fields=["updated_at"])

    assert kept == 80


@pytest.mark.trial
def test_a_watch_that_is_killed_leaves_its_mailboxes_to_the_polls(box, tmp_path):
    queue = queue_of(box)
    command = [sys.executable, "manage.py", "watch_mailboxes"]
    variables = environment(tmp_path, MAILBOX_ALLOWED_NETWORKS="127.0.0.1")
    process = subprocess.Popen(command, cwd=ROOT, env=variables)
    try:
        wait_for(lambda: is_idle(box))
        box.add(a_mail(Subject="Kept"))
        wait_for(lambda: subjects() == ["Kept"])
        process.kill()
        process.wait()
        box.add(a_mail(Subject="Polled"))
        # The watch may have died before it noted that it had read the first mail, which the poll then reads again.
        wait_for(lambda: poll(queue.pk) and subjects() == ["Kept", "Polled"])
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)

    assert subjects() == ["Kept", "Polled"]
