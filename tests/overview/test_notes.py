"""The notes of the overview: what does not work."""

import time

import orjson
import pytest
from django.utils import timezone

from callcentre.core.redis_client import client
from tests.backoffice import page_of, superuser
from tests.callcentre.factories import HeartbeatFactory
from tests.campaigns.factories import CampaignFactory
from tests.overview.factories import AlarmFactory
from tests.overview.reading import answer_of, notes_of
from tests.tickets.factories import ReceivedMailFactory, TicketQueueFactory
from tests.webhooks.factories import WebhookFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def test_what_does_not_work_is_said_first() -> None:
    WebhookFactory(failing=True, subscription_url="https://ill.invalid/")
    TicketQueueFactory(name="Post", imap_host="mail.us.example", failing_since=timezone.now(), poll_error="no route")
    ReceivedMailFactory(quarantined=True)
    CampaignFactory(is_dialling=True)
    alarm = AlarmFactory(raised=True, name="Too many", queue__name="Hotline")

    answer = answer_of(superuser())
    notes = {note["key"].partition("-")[0]: note for note in answer["parts"][0]["notes"]}

    assert list(notes) == ["alarm", "pbx", "dialler", "beat", "workers", "mailbox", "quarantine", "webhook"]
    assert notes["alarm"]["text"] == "Alarm: Too many"
    assert notes["alarm"]["note"] == "Hotline: more than 2 callers wait"
    assert notes["alarm"]["url"] == page_of(alarm.queue)
    assert notes["dialler"]["text"] == "1 campaign is to be dialled, and no dialler has it."
    assert "no route" in notes["mailbox"]["note"]
    assert "https://ill.invalid/" in notes["webhook"]["text"]


def test_a_process_without_a_heartbeat_is_said() -> None:
    client = superuser()
    for queue in ("beat", "calls", "default", "reports", "webhooks"):
        HeartbeatFactory(process=queue)
    silent = HeartbeatFactory(process="mail", silent=True)

    notes = notes_of(client)
    assert "beat" not in notes
    assert notes["workers"]["text"] == "No worker runs for these tasks, which wait: mail."

    silent.beat_at = timezone.now()
    silent.save()
    assert "workers" not in notes_of(client)


def test_tasks_that_no_worker_takes_are_said() -> None:
    def message(age: float) -> bytes:
        return orjson.dumps({"headers": {"published_at": time.time() - age}})

    waiting = {"cc:mail": message(90), "cc:webhooks": message(5), "cc:calls": message(1)}
    try:
        for queue, oldest in waiting.items():
            client().rpush(queue, oldest)
        notes = notes_of(superuser())
    finally:
        client().delete(*waiting)

    assert [key for key in notes if key.startswith("worker-")] == ["worker-mail"]
    assert "“mail” wait for 1.5 min" in notes["worker-mail"]["text"]
