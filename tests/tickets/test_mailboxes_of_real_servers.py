"""The poll of real IMAP servers (pymap; Dovecot, if it is installed), without TLS."""

import imaplib
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from imap_tools.mailbox import MailBoxUnencrypted

from tests.tickets.factories import TicketQueueFactory
from tests.tickets.imap_server import local_mailboxes  # noqa: F401  (a fixture)
from tests.tickets.mails import a_mail
from tickets.mail.mailbox_poll import poll
from tickets.models import ReceivedMail, Ticket, TicketQueue

pytestmark = pytest.mark.usefixtures("committed_db", "own_storage")

USER, PASSWORD, FOLDER = "demouser", "demopass", "Zgłoszenia"


# Dovecot without its system service: all its files are in one folder, for one user without an account.
DOVECOT = """
base_dir = {folder}/run
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
auth_failure_delay = 0
mail_location = maildir:{folder}/mail
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid=nobody gid=nogroup home={folder}/mail
}}
service imap-login {{
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
"""


def _pymap(number: int, _folder: Path) -> list[str]:
    pytest.importorskip("pymap", reason="the IMAP server of the tests (pymap) is not installed")
    options = ["--host", "127.0.0.1", "--port", str(number), "--no-tls", "--no-service", "admin", "dict"]
    start = "import sys; from pymap.main import main; sys.argv[0] = 'pymap'; main()"
    return [sys.executable, "-c", start, *options]


def _dovecot(number: int, folder: Path) -> list[str]:
    program = shutil.which("dovecot", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None or os.geteuid() != 0:
        pytest.skip("Dovecot is not installed, or this user may not start it")
    folder.chmod(0o755)
    (folder / "mail").mkdir()
    shutil.chown(folder / "mail", "nobody", "nogroup")
    (folder / "dovecot.conf").write_text(DOVECOT.format(folder=folder, port=number, password=PASSWORD))
    return [program, "-F", "-c", str(folder / "dovecot.conf")]


@pytest.fixture(scope="module", params=[_pymap, _dovecot], ids=["pymap", "dovecot"])
def port(request):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    # Not in pytest's own folder, which other users cannot open.
    with TemporaryDirectory() as folder:
        server = subprocess.Popen(request.param(number, Path(folder)), stdout=subprocess.DEVNULL)
        try:
            _wait_for(number, server)
            yield number
        finally:
            server.terminate()
            server.wait(100)


def _wait_for(number: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 100
    while True:
        assert server.poll() is None
        try:
            imaplib.IMAP4("127.0.0.1", number, timeout=30).logout()
        except (OSError, imaplib.IMAP4.error):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


@pytest.fixture
def theirs(port):
    """The mailbox as another client sees it."""
    with MailBoxUnencrypted("127.0.0.1", port, timeout=100).login(USER, PASSWORD) as mailbox:
        if mailbox.folder.exists(FOLDER):
            mailbox.folder.delete(FOLDER)
        mailbox.folder.create(FOLDER)
        yield mailbox


@pytest.fixture
def queue(port):
    mailbox = {
        "imap_host": "127.0.0.1",
        "imap_port": port,
        "imap_uses_tls": False,
        "imap_allows_plain": True,
        "imap_folder": FOLDER,
    }
    made: TicketQueue = TicketQueueFactory(**mailbox, imap_user=USER, imap_password=PASSWORD)
    return made


def test_mail_is_read_once_and_marked_as_read(theirs, queue):
    theirs.append(a_mail(Subject="Read"), FOLDER, flag_set=["\\Seen"])
    theirs.append(a_mail(Subject="Unread"), FOLDER)

    counts = [poll(queue.pk), poll(queue.pk)]
    theirs.append(a_mail("Grüße\n" * 10_000, Subject="Grüße"), FOLDER, flag_set=["\\Seen"])
    counts += [poll(queue.pk), poll(queue.pk)]

    queue.refresh_from_db()
    assert (counts, queue.poll_error) == ([1, 0, 1, 0], "")
    assert list(Ticket.objects.order_by("id").values_list("subject", flat=True)) == ["Unread", "Grüße"]
    theirs.folder.set(FOLDER)
    assert theirs.uids("UNSEEN") == []


def test_a_recreated_folder_is_read_from_its_beginning(theirs, queue):
    raw = a_mail(Subject="Once")
    theirs.append(raw, FOLDER)
    poll(queue.pk)
    queue.refresh_from_db()
    before = queue.imap_validity

    theirs.folder.delete(FOLDER)
    theirs.folder.create(FOLDER)
    for each in (raw, a_mail(Subject="Another")):
        theirs.append(each, FOLDER)
    poll(queue.pk)

    queue.refresh_from_db()
    assert (queue.poll_error, queue.imap_validity != before) == ("", True)
    assert sorted(Ticket.objects.values_list("subject", flat=True)) == ["Another", "Once"]


def test_a_wrong_password_and_a_missing_folder_are_shown(theirs, queue):
    for change, error in (
        ({"imap_password": "błąd"}, "refuses"),
        ({"imap_folder": "None"}, "does not open the folder: None: "),
    ):
        for name, value in {"imap_password": PASSWORD, **change}.items():
            setattr(queue, name, value)
        queue.save()
        poll(queue.pk)
        queue.refresh_from_db()
        assert error in queue.poll_error
        assert queue.failing_since is not None
    assert not ReceivedMail.objects.exists()
