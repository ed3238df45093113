"""Mails to valid addresses that Python's libraries do not expect."""

from typing import Any

import pytest

from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory
from tests.tickets.mail_servers import MailServer, mail_server
from tickets.mail.dispatcher import dispatch
from tickets.models import Dispatch
from tickets.verbs.messages import reply_to

pytestmark = pytest.mark.django_db


def sent_to(address: str, **values: Any) -> Dispatch:
    ticket = TicketFactory(sender=address)
    message = reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="Żółw", **values)
    dispatch(message.dispatch.pk)
    return Dispatch.objects.get(message=message)


def content_of(server: MailServer) -> bytes:
    content = server.received[0].content
    assert isinstance(content, bytes)
    return content


@pytest.mark.parametrize("address", ["a..b@mobile.example", ".a.@mobile.example", "jan@xn--w-uga1v8h.example"])
def test_a_server_is_given_unusual_addresses_as_they_are(address: str, settings: Any) -> None:
    with mail_server(settings) as server:
        row = sent_to(address)

    assert (row.state, row.error) == ("sent", "")
    assert server.received[0].rcpt_tos == [address]
    assert f"To: {address}\r\n".encode() in content_of(server)


def test_non_ascii_local_parts_need_smtputf8(settings: Any) -> None:
    with mail_server(settings, enable_SMTPUTF8=True) as server:
        row = sent_to("jóźef@żółw.example", copies=["jan@client.example", "zoë@client.example"])

    assert (row.state, row.error) == ("sent", "")
    to, cc = "jóźef@xn--w-uga1v8h.example", "jan@client.example, zoë@client.example"
    assert server.received[0].rcpt_tos == [to, *cc.split(", ")]
    assert "SMTPUTF8" in server.received[0].mail_options
    assert f"To: {to}\r\n".encode() in content_of(server)
    assert f"Cc: {cc}\r\n".encode() in content_of(server)


def test_a_server_without_smtputf8_fails_the_mail_with_the_reason(settings: Any) -> None:
    with mail_server(settings) as server:
        row = sent_to("jóźef@klient.example")

    assert (row.state, server.received) == ("failed", [])
    assert row.error == "SMTPUTF8 not supported by server: its address has letters that this mail server cannot send to"


def test_a_refused_address_of_another_script_is_named_as_it_was_given(settings: Any) -> None:
    with mail_server(settings, enable_SMTPUTF8=True) as server:
        server.rcpt_answers["jóźef@xn--w-uga1v8h.example"] = "550 unknown"
        row = sent_to("jóźef@żółw.example", copies=["jan@client.example"])

    assert (row.state, row.refused) == ("sent", {"jóźef@żółw.example": "550 unknown"})


def test_without_a_server_the_file_names_the_address(settings: Any, tmp_path: Any) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_FILE_PATH = "django.core.mail.backends.filebased.EmailBackend", tmp_path

    sent_to("jóźef@klient.example")

    assert "To: jóźef@klient.example\n".encode() in next(tmp_path.iterdir()).read_bytes()
