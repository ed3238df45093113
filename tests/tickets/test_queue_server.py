"""The SMTP server of a ticket queue: its log-in, its limit, and what happens while it is away."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from aiosmtpd.smtp import AuthResult, LoginPassword
from django.urls import reverse
from django.utils import timezone

from tests.backoffice import superuser
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory, TicketQueueFactory
from tests.tickets.imap_server import local_mailboxes  # noqa: F401  (a fixture)
from tests.tickets.mail_servers import MailServer, mail_server
from tests.tickets.provider import Provider, a_provider, granted  # noqa: F401  (a fixture)
from tickets.mail.dispatcher import dispatch
from tickets.models import Dispatch, TicketQueue
from tickets.verbs.messages import reply_to

pytestmark = pytest.mark.usefixtures("committed_db", "own_storage", "plain_static")
State = Dispatch.State
MAILBOX = "help@us.example"


def queue_at(server: MailServer, **values: Any) -> TicketQueue:
    own = {"smtp_host": "127.0.0.1", "smtp_port": server.port, "smtp_allows_plain": True}
    queue: TicketQueue = TicketQueueFactory(**{"address": MAILBOX, **own, **values})
    return queue


def sent(queue: TicketQueue) -> Dispatch:
    """Reply to a ticket of the queue, and return the dispatch after its first attempt."""
    ticket = TicketFactory(queue=queue, source="email", sender="jan@client.example")
    message = reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="<p>Hello</p>")
    dispatch(message.dispatch.pk)
    return Dispatch.objects.get(message=message)


class Gate:
    """The log-ins of a server: by a token, or by a password."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted

    async def auth_XOAUTH2(self, server: Any, arguments: list[str]) -> Any:  # noqa: N802  (the names of aiosmtpd)
        from base64 import b64decode

        if b64decode(arguments[1]).decode() == f"user={MAILBOX}\1auth=Bearer {self.wanted}\1\1":
            return AuthResult(success=True)
        await server.push("334 eyJzdGF0dXMiOiI0MDAifQ==")
        assert not (await server._reader.readline()).strip()
        return AuthResult(success=False, handled=False)


def of_password(server: Any, session: Any, envelope: Any, mechanism: str, login: Any) -> AuthResult:
    is_right = isinstance(login, LoginPassword) and (login.login, login.password) == (b"us", b"secret")
    return AuthResult(success=is_right, handled=False)


PASSWORDS = {"auth_required": True, "auth_require_tls": False, "authenticator": of_password}


def test_the_mail_of_a_queue_goes_through_its_own_server_and_other_mail_through_the_service(settings):
    with mail_server(settings) as general, mail_server(**PASSWORDS) as own:
        queue = queue_at(own, smtp_user="us", smtp_password="secret", sender_name="Help")

        assert (sent(queue).state, sent(TicketQueueFactory()).state) == (State.SENT, State.SENT)

    assert [mail["From"] for mail in own.mails] == [f"Help <{MAILBOX}>"]
    assert len(general.mails) == 1


def test_the_account_of_the_mailbox_sends_with_its_token(provider, monkeypatch):
    with mail_server(auth_required=True, auth_require_tls=False) as server:
        monkeypatch.setattr(MailServer, "auth_XOAUTH2", Gate("token-1").auth_XOAUTH2, raising=False)
        account = {"imap_login": "google", "imap_host": "127.0.0.1", "imap_user": MAILBOX, "smtp_uses_mailbox": True}
        queue = queue_at(server, **account)
        granted(queue)

        right = sent(queue)
        provider.token = "of-another"
        queue.grant.delete()
        granted(queue)
        wrong = sent(queue)

    assert (right.state, wrong.state) == (State.SENT, State.QUEUED)
    assert wrong.error.startswith("the server refuses the token")
    assert len(server.mails) == 1


def test_more_mails_than_the_limit_wait_for_the_next_minute_and_count_no_attempt():
    with mail_server() as server:
        queue = queue_at(server, smtp_limit=2)
        with time_machine.travel(datetime(2026, 11, 28, 10, 0, 30, tzinfo=UTC), tick=False):
            found = [sent(queue) for _ in range(3)]
        with time_machine.travel(datetime(2026, 11, 28, 10, 1, tzinfo=UTC), tick=False):
            dispatch(found[2].pk)

    assert [each.state for each in found] == [State.SENT, State.SENT, State.QUEUED]
    assert found[2].next_attempt_at == datetime(2026, 11, 28, 10, 1, tzinfo=UTC)
    assert found[2].attempt_count == 0
    assert len(server.mails) == 3


def test_a_server_that_is_away_is_shown_and_gets_no_mail_for_a_minute(settings):
    with mail_server() as server:
        queue = queue_at(server)
    page = reverse("admin:index")

    first, second = sent(queue), sent(queue)

    assert first.error == "the server cannot be reached"
    assert (first.attempt_count, second.attempt_count, second.error) == (1, 0, "")
    assert second.next_attempt_at is not None
    assert timedelta() < second.next_attempt_at - timezone.now() <= timedelta(minutes=1)
    assert f"The mail of {queue.name} is not sent." in superuser().get(page).text

    with mail_server() as again:
        TicketQueue.objects.update(smtp_port=again.port)
        with time_machine.travel(timezone.now() + timedelta(minutes=2)):
            dispatch(first.pk)
    queue.refresh_from_db()
    assert (queue.smtp_failing_since, queue.smtp_error, len(again.mails)) == (None, "", 2)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"smtp_allows_plain": False}, "the server offers no encryption (STARTTLS)"),
        ({"smtp_allows_plain": False, "smtp_uses_tls": True}, "no encrypted connection"),
        ({"smtp_host": "169.254.169.254"}, "a log-in without encryption is permitted only within"),
        ({"smtp_user": "us", "smtp_password": "wrong"}, "the server refuses user and password: "),
    ],
)
def test_an_unusable_server_is_no_fault_of_the_mail(values, reason):
    with mail_server(**PASSWORDS) as server:
        queue = queue_at(server, **values)

        found = sent(queue)

    assert found.state == State.QUEUED
    assert found.error.startswith(reason)
    queue.refresh_from_db()
    assert queue.smtp_error == found.error
