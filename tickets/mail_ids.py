"""Our own Message-IDs. A mail that answers one of ours names its Message-ID, which leads to the ticket."""

import hashlib
import hmac
import re
import secrets
from typing import TYPE_CHECKING

from django.conf import settings

from callcentre.core.mail_outbox import host_of

if TYPE_CHECKING:
    from tickets.models.message import Message

_OURS = re.compile(r"cc\.(\d{1,18})\.([0-9a-f]{8})\.([0-9a-f]{20})@")
_IN_TEXT = re.compile(r"\bcc\.\d{1,18}\.[0-9a-f]{8}\.[0-9a-f]{20}@[\w.-]{1,200}")


def _signature(key: str, ticket_id: str, nonce: str) -> str:
    return hmac.new(f"mail:{key}".encode(), f"{ticket_id}.{nonce}".encode(), hashlib.sha256).hexdigest()[:20]


def new_header_id(message: "Message") -> str:
    """Return `cc.<ticket>.<nonce>.<signature>@<host>`, without brackets. Only we can make a valid signature."""
    ticket_id, nonce = str(message.ticket_id), secrets.token_hex(4)
    host = host_of(message.ticket.queue.address or settings.DEFAULT_FROM_EMAIL)
    return f"cc.{ticket_id}.{nonce}.{_signature(settings.SECRET_KEY, ticket_id, nonce)}@{host}"


def ids_in(text: str) -> list[str]:
    """Return our Message-IDs in a text, each once, without forged ones."""
    found = dict.fromkeys(each[0] for each in _IN_TEXT.finditer(text))
    return [header_id for header_id in found if ticket_of(header_id) is not None]


def ticket_of(header_id: str) -> int | None:
    """Return the id of the ticket of a Message-ID of ours; None for others and forged ones."""
    if (found := _OURS.match(header_id.strip("<> \t"))) is None:
        return None
    ticket_id, nonce, signature = found.groups()
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        if hmac.compare_digest(signature, _signature(key, ticket_id, nonce)):
            return int(ticket_id)
    return None
