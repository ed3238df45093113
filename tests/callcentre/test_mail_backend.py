"""The back end of a service without a mail server: it writes mails to files and does not report them as sent."""

from email import message_from_bytes, policy
from pathlib import Path

import pytest
from django.core.mail import EmailMessage, get_connection, send_mail

from callcentre.launch.supervisor import describe_mail_delivery
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory
from tickets.mail.dispatcher import dispatch
from tickets.verbs.messages import reply_to


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.EMAIL_BACKEND = "callcentre.core.mail_backend.EmailBackend"
    settings.EMAIL_FILE_PATH = tmp_path / "mail"
    return tmp_path / "mail"


def test_each_mail_is_a_file_that_mail_programs_open(folder):
    mails = [EmailMessage(f"Zażółć {n}", "gęślą", "a@us.example", ["b@client.example"]) for n in range(2)]

    assert get_connection().send_messages(mails) == 2
    send_mail("Webhook 1 was disabled", "text", None, ["boss@us.example"])

    files = sorted(folder.iterdir())
    assert {file.suffix for file in files} == {".eml"}
    read = [message_from_bytes(file.read_bytes(), policy=policy.default) for file in files]
    assert {mail["Subject"] for mail in read} == {"Zażółć 0", "Zażółć 1", "Webhook 1 was disabled"}


@pytest.mark.django_db
def test_a_reply_is_written_and_not_reported_as_sent(folder):
    message = reply_to(TicketFactory(), ACTOR, agent_login=AgentFactory().login, body="<p>Hello</p>")

    dispatch(message.dispatch.pk)

    message.dispatch.refresh_from_db()
    assert (message.dispatch.state, message.dispatch.condition) == ("written", "written to a file, not sent")
    (file,) = folder.iterdir()
    assert message.dispatch.header_id in file.read_text()


def test_the_terminal_says_where_mail_goes(monkeypatch):
    monkeypatch.delenv("EMAIL_HOST", raising=False)
    assert describe_mail_delivery(Path("/var/x")) == "is not sent (no EMAIL_HOST): each is a file in /var/x/mail"

    monkeypatch.setenv("EMAIL_HOST", "mail.example")
    assert describe_mail_delivery(Path("/var/x")) == "is sent, by mail.example"
