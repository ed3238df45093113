"""Received mails per second, beside the parsing of mails alone.

python -m benchmarks.mail [MAILS]

A mail has 30 kB of HTML and its text. The bound is the standard library in one process: it parses the mail and reads
its headers and text, without cleaning or storing. Ours are two processes that receive mails of their own, as the
workers do: each raw mail is stored on the disk, its HTML cleaned, and a new ticket with its message, history and event,
or an answer to a ticket, committed. The rounds of both alternate.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import django

from benchmarks.harness import ROOT, Service, Table, manage, service

ROUNDS = 5
PROCESSES = 2
ROW = (
    '<tr><td style="padding:4px;font-family:Arial,sans-serif"><p class="MsoNormal" style="margin:0">Dzień dobry,'
    ' zamówienie <b>{number}</b> nie dotarło, proszę o <a href="https://shop.example/{number}">sprawdzenie</a>.</p>'
    "</td></tr>\n"
)


def a_mail(number: int, round_number: int) -> bytes:
    mail = EmailMessage()
    mail["From"] = f"Jan Żółw {number} <jan{number % 997}.{round_number}@client.example>"
    mail["To"] = "Pomoc <help@us.example>"
    mail["Subject"] = f"Zamówienie {number} nie doszło"
    mail["Message-ID"] = f"<{round_number}.{number}@client.example>"
    mail["Date"] = "Sat, 21 Nov 2026 08:00:00 +0100"
    if number % 3 == 2:
        # An answer of the customer to their own mail: it joins the ticket of the mail before.
        mail.replace_header("From", f"jan{(number - PROCESSES) % 997}.{round_number}@client.example")
        mail["In-Reply-To"] = f"<{round_number}.{number - PROCESSES}@client.example>"
    rows = [ROW.format(number=number * 1000 + row) for row in range(30_000 // len(ROW.encode()))]
    mail.set_content("Dzień dobry, zamówienie nie dotarło.\n" * 20)
    mail.add_alternative(f"<html><body><table>{''.join(rows)}</table></body></html>", subtype="html")
    return mail.as_bytes()


def parse(raw: bytes) -> tuple[Any, ...]:
    message = BytesParser(policy=policy.default).parsebytes(raw)
    body: Any = message.get_body(("html", "plain"))
    names = ("From", "To", "Subject", "Message-ID", "Date", "In-Reply-To", "References")
    return (*(message[name] for name in names), body.get_content())


def measure(running: Service, mails: int = 1500) -> None:
    table = Table(f"Mails received: {mails} in {ROUNDS} rounds")
    table.head()
    make = "from tickets.models import TicketQueue as Q; Q.objects.create(name='Benchmark', address='help@us.example')"
    manage(running.environment, "shell", "--command", make)
    each = max(mails // ROUNDS // PROCESSES * PROCESSES, PROCESSES)
    bounds, rates = [], []
    with tempfile.TemporaryDirectory() as folder:
        workers = [_worker(running) for _ in range(PROCESSES)]
        try:
            for number in range(ROUNDS):
                paths = _write(Path(folder), number, each)
                bounds.append(_parsed(paths))
                rates.append(_taken(workers, paths))
        finally:
            for worker in workers:
                worker.kill()
    _expect(running, each * ROUNDS)
    table.add_rate(
        "receive HTML mails of 30 kB in two processes",
        "parsed alone by the standard library, one process",
        statistics.median(bounds),
        statistics.median(rates),
        0.3,
    )


def _write(folder: Path, round_number: int, count: int) -> list[Path]:
    paths = [folder / f"{round_number}-{number}.eml" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(a_mail(number, round_number))
    return paths


def _parsed(paths: list[Path]) -> float:
    """Return mails per second."""
    raws = [path.read_bytes() for path in paths]
    started = time.perf_counter()
    for raw in raws:
        parse(raw)
    return len(paths) / (time.perf_counter() - started)


def _taken(workers: list[subprocess.Popen[str]], paths: list[Path]) -> float:
    """Return mails per second, until the last of them is committed."""
    started = time.perf_counter()
    for position, worker in enumerate(workers):
        assert worker.stdin is not None
        worker.stdin.write(" ".join(str(path) for path in paths[position::PROCESSES]) + "\n")
        worker.stdin.flush()
    for worker in workers:
        assert worker.stdout is not None
        if worker.stdout.readline() != "done\n":
            raise RuntimeError("a worker has died")
    return len(paths) / (time.perf_counter() - started)


def _worker(running: Service) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.mail", "worker"]
    environment = {**running.environment, "DJANGO_SETTINGS_MODULE": "callcentre.settings"}
    worker = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    if worker.stdout.readline() != "ready\n":
        raise RuntimeError("a worker did not start")
    return worker


def work() -> None:
    """Receive the mails of each line, and print a line when done."""
    django.setup()
    from tickets.mail.intake import take_in  # noqa: PLC0415  (Django must be set up)
    from tickets.models import TicketQueue  # noqa: PLC0415

    queue = TicketQueue.objects.get()
    print("ready", flush=True)
    for line in sys.stdin:
        for path in line.split():
            with Path(path).open("rb") as stream:
                take_in(stream, queue)
        print("done", flush=True)


def _expect(running: Service, count: int) -> None:
    with running.connect() as connection:
        outcomes = connection.execute("SELECT outcome, reason, count(*) FROM tickets_receivedmail GROUP BY 1, 2")
        found = outcomes.fetchall()
        assert found == [("stored", "", count)], found
        (messages,) = connection.execute("SELECT count(*) FROM tickets_message").fetchone() or (0,)
        (tickets,) = connection.execute("SELECT count(*) FROM tickets_ticket").fetchone() or (0,)
    assert messages == count, messages
    print(f"\n{tickets:,} tickets with {messages:,} messages")


def main() -> None:
    if sys.argv[1:] == ["worker"]:
        work()
        return
    with service(0) as running:
        measure(running, *(int(argument) for argument in sys.argv[1:2]))


if __name__ == "__main__":
    main()
