"""The watch of many mailboxes in one process: its memory, its connections, and the time from a mail to its ticket.

python -m benchmarks.mailboxes [mailboxes]

The mailboxes are behind servers of the tests, on sockets, with TLS and IDLE. Mails arrive while the process rests.
"""

import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import django

from benchmarks.harness import ROOT, Service, Table, manage, service
from benchmarks.launch import processor_seconds, pss

MAILS = 20
REST_SECONDS = 70.0  # each mailbox is read once a minute
_QUEUES = """
from tickets.models import TicketQueue
for n, port in enumerate(%s):
    TicketQueue.objects.create(name=f"Mailbox {n}", address=f"m{n}@us.example", imap_host="127.0.0.1", imap_port=port,
                               imap_uses_tls=True, imap_user="us", imap_password="secret")
"""
_BACKENDS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


def measure(running: Service, mailboxes: int) -> None:
    os.environ |= running.environment | {"DJANGO_SETTINGS_MODULE": "callcentre.settings"}
    django.setup()
    # The servers of the tests need settings.
    from tests.tickets.imap_server import Mailbox, serving  # noqa: PLC0415
    from tests.tickets.mails import a_mail  # noqa: PLC0415
    from tests.webhooks.receivers import authorities, tls_for  # noqa: PLC0415

    table = Table(f"{mailboxes} mailboxes with TLS in one process")
    with ExitStack() as stack, running.connect() as connection:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tls: ssl.SSLContext = tls_for(folder, "127.0.0.1")
        boxes = [stack.enter_context(serving(Mailbox(tls=tls, has_idle=True))) for _ in range(mailboxes)]
        manage(running.environment, "shell", "-v0", "-c", _QUEUES % [box.port for box in boxes])
        before = _count(connection, _BACKENDS)
        environment = running.environment | {
            "SSL_CERT_FILE": authorities(folder),
            "MAILBOX_ALLOWED_NETWORKS": "127.0.0.1",
        }
        command = [sys.executable, "manage.py", "watch_mailboxes"]
        process = subprocess.Popen(command, env=environment, cwd=ROOT)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        started = time.monotonic()
        _wait(lambda: all(box.commands[-1:] == ["IDLE"] for box in boxes))
        opened, processor = time.monotonic() - started, processor_seconds(process.pid)
        time.sleep(REST_SECONDS)
        resting = (processor_seconds(process.pid) - processor) / REST_SECONDS
        table.head()
        table.add_time("start of the process, until all mailboxes wait (IDLE)", opened, 60)
        table.add_amount("its memory (PSS) at rest", pss(process.pid), 250, "MB")
        table.add_amount("its connections to mail servers", sum(box.open for box in boxes), mailboxes, "")
        table.add_amount("its connections to PostgreSQL at rest", _count(connection, _BACKENDS) - before, 2, "")
        table.add_amount("its threads", len(list(Path(f"/proc/{process.pid}/task").iterdir())), 150, "")
        table.add_amount("processor time at rest", resting, 0.1, "s/s")
        mails = (a_mail(Subject=f"Mail {n}", From=f"jan{n}@client.example") for n in count())
        times = [_ticket_after(connection, box.add, next(mails)) for box in (boxes * MAILS)[:MAILS]]
        table.add_time("from a mail to its ticket, median", statistics.median(times), 5)
        table.add_time("the longest", max(times), 5)
        together = time.monotonic()
        tickets = _count(connection, "SELECT count(*) FROM tickets_ticket")
        for box in boxes:
            box.add(next(mails))
        _wait(lambda: _count(connection, "SELECT count(*) FROM tickets_ticket") == tickets + mailboxes)
        table.add_time("a mail in each mailbox at once, until the last ticket", time.monotonic() - together, 5)
        table.add_amount("its memory (PSS) afterwards", pss(process.pid), 250, "MB")
        table.add_amount(
            "connections that mail servers have seen", sum(box.connections for box in boxes), mailboxes, ""
        )


def _ticket_after(connection: Any, add: Callable[[bytes], object], raw: bytes) -> float:
    before, started = _count(connection, "SELECT count(*) FROM tickets_ticket"), time.monotonic()
    add(raw)
    _wait(lambda: _count(connection, "SELECT count(*) FROM tickets_ticket") > before)
    return time.monotonic() - started


def _count(connection: Any, statement: str) -> int:
    count: int = connection.execute(statement).fetchone()[0]
    return count


def _wait(is_so: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 300
    while not is_so():
        if time.monotonic() > ends_at:
            raise RuntimeError("it has not come within five minutes")
        time.sleep(0.02)


def main() -> None:
    with service(0) as running:
        measure(running, int(sys.argv[1]) if len(sys.argv) > 1 else 100)


if __name__ == "__main__":
    main()
