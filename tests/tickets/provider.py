"""Stand-ins of Google and Microsoft: their token endpoints on a socket, with answers that a test chooses."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.tickets.imap_server import Mailbox, queue_of
from tests.webhooks.receivers import Peer, receiver
from tickets.mail import oauth
from tickets.models import MailboxGrant, TicketQueue, mail_login


@dataclass
class Provider:
    """The answers of the token endpoint, and the parameters that it was sent."""

    token: str = "token-1"
    more: dict[str, Any] = field(default_factory=dict)
    # The error of RFC 6749 in place of a token.
    error: str = ""
    description: str = ""
    status: int = 200
    asked: list[dict[str, str]] = field(default_factory=list)

    def serve(self, peer: Peer) -> None:
        while request := peer.request():
            self.asked.append({name: values[0] for name, values in parse_qs(request.body.decode()).items()})
            if self.status >= 500:
                peer.answer(self.status, b"<html>away</html>", Content_Type="text/html")
            elif self.error:
                said = {"error": self.error, "error_description": self.description}
                peer.answer(400, json.dumps(said).encode(), Content_Type="application/json")
            else:
                token = {"access_token": self.token, "token_type": "Bearer", "expires_in": 3600, **self.more}
                peer.answer(200, json.dumps(token).encode(), Content_Type="application/json")


KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
KEY_PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()


@pytest.fixture(name="provider")
def a_provider(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Provider]:
    """Both providers are this one. The servers that get tokens are on this machine."""
    settings.GOOGLE_CLIENT_ID, settings.GOOGLE_CLIENT_SECRET = "our-id", "our-secret"
    settings.MICROSOFT_TENANT = "tenant-1"
    settings.MICROSOFT_CLIENT_ID, settings.MICROSOFT_CLIENT_SECRET = "our-id", "our-secret"
    settings.GOOGLE_SERVICE_ACCOUNT = json.dumps({"client_email": "robot@us.example", "private_key": KEY_PEM})
    provider = Provider()
    with receiver(provider.serve) as endpoint:
        for name, known in oauth.PROVIDERS.items():
            url = f"http://127.0.0.1:{endpoint.port}/{{tenant}}/token"
            monkeypatch.setitem(oauth.PROVIDERS, name, replace(known, token_url=url))
            servers = mail_login.MailServers("127.0.0.1", "127.0.0.1")
            monkeypatch.setitem(mail_login.SERVERS, name, servers)
        yield provider


def queue_with_tokens(box: Mailbox, login: str = "google", **values: Any) -> TicketQueue:
    return queue_of(box, imap_login=login, imap_password="", **values)


def granted(queue: TicketQueue, **values: Any) -> MailboxGrant:
    """Return the access that a person has granted. Its token has expired."""
    grant: MailboxGrant = MailboxGrant.objects.create(queue=queue, **{"refresh_token": "refresh-1", **values})
    return grant
