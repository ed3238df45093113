"""Sending to the receivers of the tests, in one line."""

from collections.abc import Callable

from tests.webhooks.receivers import Script, receiver
from webhooks.transport.sender import Outcome, Sender

BODY = '{"client_name":"Łucja"}'.encode()
HEADERS = {"Content-Type": "application/json", "webhook-id": "7b1c8c3e", "webhook-signature": "v1,c2ln"}

Resolve = Callable[[str, list[str]], list[str]]


def post(sender: Sender, url: str, body: bytes = BODY) -> Outcome:
    return sender.send(url, HEADERS, body, None)


def outcome_of(sender: Sender, script: Script) -> Outcome:
    """What comes of one request to a receiver with this script."""
    with receiver(script) as running:
        return post(sender, running.url)
