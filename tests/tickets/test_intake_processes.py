"""Intake in processes: killed at the worst moments, or two at once. No mail is lost or doubled."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ROOT, environment
from tests.tickets.factories import TicketQueueFactory
from tests.tickets.imap_server import Mailbox, a_mailbox, local_mailboxes, queue_of  # noqa: F401  (fixtures)
from tests.tickets.mails import a_mail
from tickets.models import Message, ReceivedMail, Ticket

pytestmark = [pytest.mark.usefixtures("committed_db"), pytest.mark.slow("starts workers")]


@pytest.fixture(autouse=True)
def folder(own_storage: Path, tmp_path: Path) -> Path:
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
def test_a_worker_killed_at_any_moment_loses_and_doubles_no_mail(box: Mailbox, folder: Path, place: str) -> None:
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
def test_two_processes_with_the_same_mails_store_each_message_once(folder: Path) -> None:
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
def test_mails_of_a_mail_server_become_tickets(folder: Path) -> None:
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
def test_the_exit_code_tells_a_mail_server_what_to_do_with_a_refused_mail(folder: Path) -> None:
    TicketQueueFactory()

    too_large = handed_in(a_mail("x" * 1_100_000), folder, MAX_MAIL_MB="1")
    no_database = handed_in(a_mail(), folder, DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    no_queue = handed_in(a_mail(), folder, "--queue=987654")

    assert (too_large.returncode, "larger than 1 MB" in too_large.stderr.decode()) == (os.EX_DATAERR, True)
    assert no_database.returncode == os.EX_TEMPFAIL
    assert no_queue.returncode == os.EX_TEMPFAIL
    assert not ReceivedMail.objects.exists()
