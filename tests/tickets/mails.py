"""Incoming mails for tests."""

from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory
from tickets.mail.intake import take_in
from tickets.models import Dispatch, Ticket, TicketQueue
from tickets.verbs.messages import reply_to


def a_mail(body: str = "Help!", *, subtype: str = "plain", **headers: str) -> bytes:
    mail = EmailMessage()
    for name, value in {"From": "Jan <jan@client.example>", "To": "help@us.example", "Subject": "Broken"}.items():
        mail[name] = value
    for name, value in headers.items():
        del mail[name.replace("_", "-")]
        mail[name.replace("_", "-")] = value
    mail.set_content(body, subtype=subtype)
    return mail.as_bytes()


def taken(raw: bytes, queue: TicketQueue | None = None) -> Any:
    """Take in the mail and return its row."""
    return take_in(BytesIO(raw), queue)


def files_on_disk(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def answered(**ticket: Any) -> tuple[Ticket, Dispatch]:
    """Return a ticket and our reply to it."""
    made = TicketFactory(**ticket)
    message = reply_to(made, ACTOR, agent_login=AgentFactory().login, body="<p>Try again</p>")
    return made, Dispatch.objects.get(message=message)
