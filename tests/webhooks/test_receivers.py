"""The receivers that docs/webhooks.md shows: each believes what we sign, and nothing else."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
import requests

from tests.processes import wait_for
from webhooks.event_types import EventType
from webhooks.signing import new_secret, sign
from webhooks.transport.sender import encode

DOCS = Path(__file__).resolve().parents[2] / "docs"
OLD, NEW = new_secret(), new_secret()
LANGUAGES = {
    "python": (sys.executable, ["receiver.py"]),
    "javascript": ("node", ["receiver.mjs"]),
    "php": ("php", ["-S", "127.0.0.1:{port}", "receiver.php"]),
}


@dataclass
class Running:
    """A receiver in a process of its own."""

    port: int
    output: Path

    def send(
        self,
        secrets: list[str],
        *,
        message_id: str = "",
        body_format: str = "json",
        age: int = 0,
        tampered: bool = False,
    ) -> int:
        message_id = message_id or str(uuid4())
        message = {**EventType.TICKET_CREATED.example_message, "event_id": message_id}
        content_type, body = encode(message, body_format)
        timestamp = int(time.time()) - age
        headers = {
            "Content-Type": content_type,
            "webhook-id": message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(secrets, message_id, timestamp, body),
        }
        if tampered:
            body = body.replace(b"5012", b"5013")
        return requests.post(f"http://127.0.0.1:{self.port}/", body, headers=headers, timeout=60).status_code

    def is_up(self) -> bool:
        with socket.socket() as sock:
            return not sock.connect_ex(("127.0.0.1", self.port))

    @property
    def handled(self) -> list[str]:
        """Ids of the events that it did something with."""
        return [line.split()[-1] for line in self.output.read_text().splitlines() if "TICKET_CREATED" in line]


@pytest.fixture(params=LANGUAGES)
def start(request, tmp_path):
    program, arguments = LANGUAGES[request.param]
    if not shutil.which(program):
        pytest.skip(f"there is no {request.param} on this machine")
    variables = {"PATH": os.environ["PATH"], "WEBHOOK_SEEN": str(tmp_path / "seen")}
    with ExitStack() as stack:

        def run(secrets):
            with socket.create_server(("127.0.0.1", 0)) as free:
                receiver = Running(free.getsockname()[1], tmp_path / "output")
            process = subprocess.Popen(
                [program, *(argument.format(port=receiver.port) for argument in arguments)],
                cwd=DOCS / "receivers",
                env=variables | {"PORT": str(receiver.port), "WEBHOOK_SECRETS": secrets},
                stdout=stack.enter_context(receiver.output.open("wb")),
                stderr=subprocess.DEVNULL,
            )
            stack.enter_context(process)
            stack.callback(process.terminate)
            wait_for(receiver.is_up)
            return receiver

        yield run


@pytest.mark.parametrize("body_format", ["json", "form"])
def test_a_right_delivery_is_handled_once_however_often_it_comes(start, body_format):
    receiver = start(NEW)
    message_id = str(uuid4())

    statuses = [receiver.send([NEW], message_id=message_id, body_format=body_format) for _ in range(2)]

    assert statuses == [204, 204]
    assert receiver.handled == [message_id]


def test_foreign_changed_and_old_messages_are_refused(start):
    receiver = start(NEW)

    statuses = [
        receiver.send([OLD]),
        receiver.send([NEW], tampered=True),
        receiver.send([NEW], age=600),
        receiver.send([NEW], age=-600),
    ]

    assert statuses == [401, 401, 401, 401]
    assert receiver.handled == []


def test_during_a_rotation_a_delivery_signed_with_both_secrets_is_believed_by_either(start):
    receiver = start(OLD)

    assert receiver.send([NEW, OLD]) == 204


def test_a_receiver_may_hold_both_secrets(start):
    receiver = start(f"{OLD} {NEW}")

    assert [receiver.send([OLD]), receiver.send([NEW])] == [204, 204]


@pytest.mark.parametrize("name", ["receiver.py", "receiver.mjs", "receiver.php"])
def test_the_guide_quotes_the_receivers_as_they_are(name):
    source = (DOCS / "receivers" / name).read_text()

    assert source.strip() in (DOCS / "webhooks.md").read_text()


def test_the_guide_names_what_is_added_to_the_fields_of_an_action():
    added = {name for event_type in EventType for name in event_type.example_message.keys() - event_type.example.keys()}

    assert added == {"action", "date", "event_id", "sequence"}
    assert "`event_id` and `sequence` are additions" in (DOCS / "webhooks.md").read_text()


def test_the_example_of_the_guide_is_signed_rightly():
    guide = (DOCS / "webhooks.md").read_text()
    message = EventType.TICKET_CREATED.example_message
    (timestamp,) = re.findall(r"^webhook-timestamp: (\d+)$", guide, re.MULTILINE)
    (secret,) = re.findall(r"`(whsec_\w+)`", guide)
    body, form = (encode(message, body_format)[1] for body_format in ("json", "form"))

    signature = sign([secret], message["event_id"], int(timestamp), body)

    assert all(text in guide for text in (body.decode(), form.decode(), f"webhook-signature: {signature}"))
