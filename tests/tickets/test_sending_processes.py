"""Sending in processes: killed while the server has the mail, or two at once."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tests.conftest import ACTOR
from tests.processes import ROOT, environment, wait_for
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory
from tests.tickets.mail_servers import MailServer, due_now, mail_server
from tickets.mail.dispatcher import dispatch
from tickets.models import Dispatch
from tickets.verbs.dispatches import resend
from tickets.verbs.messages import reply_to

pytestmark = [pytest.mark.usefixtures("committed_db"), pytest.mark.slow("starts workers")]


@pytest.fixture
def server() -> Iterator[MailServer]:
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


def test_a_worker_killed_after_the_message_leaves_the_outcome_unknown(server: MailServer, tmp_path: Path) -> None:
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
def test_a_killed_worker_sends_no_second_mail_to_an_accepted_recipient(server: MailServer, tmp_path: Path) -> None:
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
def test_a_worker_killed_before_the_message_is_retried(server: MailServer, tmp_path: Path) -> None:
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
def test_only_one_of_two_processes_sends(server: MailServer, tmp_path: Path) -> None:
    row = a_reply()
    server.holds = True
    workers = [a_worker(row.pk, server, tmp_path) for _ in range(2)]

    assert server.is_held.wait(100)
    wait_for(lambda: any(worker.poll() is not None for worker in workers))
    server.go_on.set()

    assert [worker.wait(100) for worker in workers] == [0, 0]
    row.refresh_from_db()
    assert (row.state, row.attempt_count, len(server.received)) == ("sent", 1, 1)
