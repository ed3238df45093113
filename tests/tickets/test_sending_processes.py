"""Sending and intake in processes: killed at the worst moments, or two at once."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tests.conftest import ACTOR
from tests.processes import ROOT, environment, wait_for
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory, TicketQueueFactory
from tests.tickets.imap_server import Mailbox, a_mailbox, local_mailboxes, queue_of  # noqa: F401  (fixtures)
from tests.tickets.mail_servers import MailServer, due_now, mail_server
from tests.tickets.mails import a_mail
from tickets.mail.dispatcher import dispatch
from tickets.models import Dispatch, Message, ReceivedMail, Ticket
from tickets.verbs.dispatches import resend
from tickets.verbs.messages import reply_to

pytestmark = [pytest.mark.usefixtures("committed_db"), pytest.mark.slow("starts workers")]


@pytest.fixture
def server():
    with mail_server() as running:
        yield running


def a_reply(*copies: str) -> Dispatch:
    agent = AgentFactory().login
    message = reply_to(TicketFactory(), ACTOR, agent_login=agent, body="<p>Try again</p>", copies=copies)
    return Dispatch.objects.get(message=message)


def a_worker(pk: int, server: MailServer, folder: Path) -> subprocess.Popen[bytes]:
    variables = environment(folder, EMAIL_HOST="127.0.0.1", EMAIL_PORT=str(server.port), EMAIL_TIMEOUT="100")
    command = [sys.executable, "-m", "tests.tickets.sending_process", str(pk)]
    return subprocess.Popen(command, cwd=ROOT, env=variables)


def leased_for(row: Dispatch) -> timedelta:
    row.refresh_from_db()
    assert row.next_attempt_at
    return row.next_attempt_at - timezone.now()


def expire(row: Dispatch) -> None:
    """End the worker's lease."""
    Dispatch.objects.filter(pk=row.pk).update(next_attempt_at=timezone.now())


def test_a_worker_killed_after_the_message_leaves_the_outcome_unknown(server, tmp_path):
    row = a_reply()
    server.holds = True
    worker = a_worker(row.pk, server, tmp_path)
    assert server.is_held.wait(100)

    worker.kill()
    worker.wait()
    assert due_now() == []
    assert leased_for(row) <= timedelta(minutes=1)
    expire(row)
    dispatch(row.pk)

    row.refresh_from_db()
    assert (row.state, row.is_unknown, row.condition) == ("failed", True, "failed: outcome unknown")
    server.go_on.set()
    server.holds = False
    resend(row, ACTOR)
    assert a_worker(row.pk, server, tmp_path).wait(100) == 0
    row.refresh_from_db()
    assert (row.state, len(server.received)) == ("sent", 2)


@pytest.mark.trial
def test_a_killed_worker_sends_no_second_mail_to_an_accepted_recipient(server, tmp_path):
    server.rcpt_answers["eva@client.example"] = "450 Busy"
    row = a_reply("eva@client.example")
    assert a_worker(row.pk, server, tmp_path).wait(100) == 0
    server.rcpt_answers.clear()
    server.holds = True
    expire(row)
    worker = a_worker(row.pk, server, tmp_path)
    assert server.is_held.wait(100)

    worker.kill()
    worker.wait()
    expire(row)
    dispatch(row.pk)
    row.refresh_from_db()
    assert (row.state, row.is_unknown, row.accepted) == ("failed", True, ["jan@client.example"])
    server.go_on.set()
    server.holds = False
    resend(row, ACTOR)
    assert a_worker(row.pk, server, tmp_path).wait(100) == 0

    row.refresh_from_db()
    envelopes = [envelope.rcpt_tos for envelope in server.received]
    assert envelopes == [["jan@client.example"], ["eva@client.example"], ["eva@client.example"]]
    assert (row.state, row.condition) == ("sent", "sent")


@pytest.mark.trial
def test_a_worker_killed_before_the_message_is_retried(server, tmp_path):
    row = a_reply()
    server.holds_recipients = True
    worker = a_worker(row.pk, server, tmp_path)
    assert server.is_held.wait(100)

    worker.kill()
    worker.wait()
    server.go_on.set()
    assert leased_for(row) <= timedelta(minutes=1)
    expire(row)

    assert due_now() == [row.pk]
    assert a_worker(row.pk, server, tmp_path).wait(100) == 0
    row.refresh_from_db()
    assert (row.state, row.attempt_count, len(server.received)) == ("sent", 2, 1)


@pytest.mark.trial
def test_only_one_of_two_processes_sends(server, tmp_path):
    row = a_reply()
    server.holds = True
    workers = [a_worker(row.pk, server, tmp_path) for _ in range(2)]

    assert server.is_held.wait(100)
    wait_for(lambda: any(worker.poll() is not None for worker in workers))
    server.go_on.set()

    assert [worker.wait(100) for worker in workers] == [0, 0]
    row.refresh_from_db()
    assert (row.state, row.attempt_count, len(server.received)) == ("sent", 1, 1)


@pytest.fixture(autouse=True)
def folder(own_storage, tmp_path):
    """Return the data folder of the processes."""
    return tmp_path


def worker(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.tickets.intake_process", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment(folder, MAILBOX_ALLOWED_NETWORKS="127.0.0.1"))


def handed_in(raw: bytes, folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "manage.py", "receive_mail", *arguments]
    return subprocess.run(
        command, check=False, cwd=ROOT, env=environment(folder, **more), input=raw, capture_output=True
    )


def raw_mails_on_disk(folder: Path) -> int:
    return sum(path.is_file() for path in (folder / "files").rglob("*"))


@pytest.mark.walk("stored")
@pytest.mark.parametrize("place", ["kept", "stored"])
def test_a_worker_killed_at_any_moment_loses_and_doubles_no_mail(box, folder, place):
    queue = queue_of(box)
    for number in range(3):
        box.add(a_mail(f"Help {number}", Subject=f"Mail {number}"))

    assert worker(folder, place, "poll", str(queue.pk)).wait(100) == -signal.SIGKILL
    assert not box.seen
    assert worker(folder, "never", "poll", str(queue.pk)).wait(100) == 0

    assert sorted(Ticket.objects.values_list("subject", flat=True)) == ["Mail 0", "Mail 1", "Mail 2"]
    assert Message.objects.count() == ReceivedMail.objects.count() == 3
    assert box.seen == {1, 2, 3}


@pytest.mark.trial
def test_two_processes_with_the_same_mails_store_each_message_once(folder):
    TicketQueueFactory()
    paths = []
    for number in range(15):
        path = folder / f"{number}.eml"
        path.write_bytes(a_mail(f"Help {number}", Subject=f"Mail {number}"))
        paths.append(str(path))

    workers = [worker(folder, "never", "take", *paths) for _ in range(2)]

    assert [each.wait(200) for each in workers] == [0, 0]
    assert Ticket.objects.count() == Message.objects.count() == 15
    assert set(ReceivedMail.objects.values_list("outcome", flat=True)) == {"stored"}
    assert raw_mails_on_disk(folder) == 15


@pytest.mark.trial
def test_mails_of_a_mail_server_become_tickets(folder):
    TicketQueueFactory()
    queue = TicketQueueFactory(address="other@us.example")

    done = handed_in(a_mail(), folder, f"--queue={queue.pk}")
    unreadable = handed_in(b"\n\nno headers", folder)

    message = Message.objects.get()
    assert done.returncode == 0
    assert done.stdout.decode() == f"Ticket {message.ticket_id}, message {message.pk}.\n"
    assert message.ticket.queue == queue
    assert unreadable.returncode == 0
    assert "it has no headers" in unreadable.stdout.decode()


@pytest.mark.trial
def test_the_exit_code_tells_a_mail_server_what_to_do_with_a_refused_mail(folder):
    TicketQueueFactory()

    too_large = handed_in(a_mail("x" * 1_100_000), folder, MAX_MAIL_MB="1")
    no_database = handed_in(a_mail(), folder, DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    no_queue = handed_in(a_mail(), folder, "--queue=987654")

    assert (too_large.returncode, "larger than 1 MB" in too_large.stderr.decode()) == (os.EX_DATAERR, True)
    assert no_database.returncode == os.EX_TEMPFAIL
    assert no_queue.returncode == os.EX_TEMPFAIL
    assert not ReceivedMail.objects.exists()
