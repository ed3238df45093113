"""One reading of the figures for all viewers, its number of queries, and the notes of what does not work."""

import time

import orjson
import pytest
import redis
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from callcentre.core.redis_client import client
from callcentre.overview import figures, snapshot
from telephony.verbs import presence
from tests.backoffice import page_of, staff, superuser
from tests.callcentre.factories import HeartbeatFactory
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.conftest import ACTOR
from tests.overview.factories import AlarmFactory
from tests.overview.reading import answer_of, notes_of, parts_of
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory, ConnectionFactory, QueueFactory, QueueMemberFactory
from tests.tickets.factories import ReceivedMailFactory, TicketFactory, TicketQueueFactory
from tests.webhooks.factories import WebhookFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

LIVE = reverse("overview")


@pytest.mark.slow("writes many rows")
def test_the_queries_of_a_reading_do_not_grow():
    for _ in range(20):
        campaign = CampaignFactory(is_dialling=True)
        RecordFactory(campaign=campaign)
        queue = QueueFactory()
        ConnectionFactory(inbound=True, queue=queue, created_at=timezone.now())
        agent = AgentFactory()
        QueueMemberFactory(queue=queue, agent=agent)
        presence.log_in(agent, ACTOR)
        AlarmFactory(raised=True, queue=queue)
        WebhookFactory(failing=True)
        TicketQueueFactory(imap_host="mail.us.example", failing_since=timezone.now())
        TicketFactory()
    client = superuser()
    cache.clear()

    with few_statements(22):
        client.get(LIVE)


@pytest.fixture
def kept(monkeypatch):
    """Keep readings for an hour; return the list to which each reading adds an entry."""
    readings: list[int] = []
    read = figures.read

    def count(*scope):
        readings.append(1)
        return read(*scope)

    monkeypatch.setattr(figures, "read", count)
    monkeypatch.setattr(snapshot, "FRESH_SECONDS", 3600)
    return readings


def test_a_reading_serves_all_viewers(kept):
    QueueFactory(name="Hotline")
    CampaignFactory()
    first, second = superuser(), staff("view_queue")
    assert "campaigns" in parts_of(first)

    # Session, user, and the permissions of the user and the user's groups.
    with few_statements(4):
        shown = parts_of(second)

    assert "queues" in shown
    assert "campaigns" not in shown
    assert len(kept) == 1


def test_viewers_get_the_last_reading_while_another_process_reads(kept, monkeypatch):
    before = snapshot.current()
    monkeypatch.setattr(snapshot, "FRESH_SECONDS", 0)
    client().set(snapshot.lock_name(), b"1")

    assert snapshot.current() == before
    assert len(kept) == 1

    client().delete(snapshot.lock_name())
    assert snapshot.current()["at"] > before["at"]


def test_without_redis_each_process_reads_for_itself(kept, monkeypatch):
    def fail():
        raise redis.ConnectionError

    monkeypatch.setattr(snapshot, "client", fail)
    monkeypatch.setattr(figures, "client", fail)
    monkeypatch.setattr(snapshot, "_own", {})

    assert snapshot.current() is snapshot.current()
    assert len(kept) == 1
    assert "broker" in notes_of(superuser())


# The wallboard: chosen queues and campaigns, and the session of a screen


def test_the_wallboard_shows_what_was_chosen_or_everything_that_the_user_may_see():
    queues, campaigns = QueueFactory.create_batch(2), CampaignFactory.create_batch(2)
    query = f"?wall=1&queue={queues[0].pk}&outbound={campaigns[1].pk}&queue=nonsense"
    of_queues = [f"queue-{queue.pk}" for queue in queues]
    of_campaigns = [f"campaign-{campaign.pk}" for campaign in campaigns]

    chosen, everything = (
        [key for key in parts_of(superuser(), asked) if key != "notes"] for asked in (query, "?wall=1")
    )

    assert chosen == [of_queues[0], of_campaigns[1]]
    assert everything == [*of_queues, *of_campaigns]
    assert set(parts_of(staff("view_queue"), "?wall=1")) == {"notes", *of_queues}
    assert set(parts_of(staff("view_article"), "?wall=1")) == {"empty"}


def test_the_wallboard_shows_the_chosen_figures_and_offers_what_it_can_show():
    queue, _campaign = QueueFactory(name="Hotline"), CampaignFactory(name="Spring")

    chosen = parts_of(superuser(), "?wall=1&figure=longest&figure=free&figure=nonsense")
    parts = parts_of(superuser(), "?wall=1&figure=nonsense")

    assert [tile["key"] for tile in chosen[f"queue-{queue.pk}"]["tiles"]] == ["longest", "free"]
    assert {key for key in chosen if key != "notes"} == {f"queue-{queue.pk}"}
    offered = {
        name: values for _title, name, values in superuser().values(reverse("wallboard"), figure="free")["choices"]
    }
    assert offered["queue"] == [(str(queue.pk), "Hotline", False)]
    assert [value for value, _label, is_chosen in offered["figure"] if is_chosen] == ["free"]
    assert {value for value, _label, _chosen in offered["figure"]} >= {
        tile["key"] for part in parts.values() for tile in part.get("tiles", ())
    }
    assert "outbound" not in {
        name for _title, name, _values in staff("view_queue").values(reverse("wallboard"))["choices"]
    }


def test_the_wallboard_has_no_menu_and_keeps_the_session_of_a_viewer_only():
    QueueFactory(name="Hotline")
    address = reverse("wallboard")

    page = staff("view_queue").page(address, mode="dark")

    assert "Hotline" in page
    assert 'class="wb dark"' in page
    assert "data-keeps" in page
    assert "admin:logout" not in page
    assert reverse("admin:telephony_queue_changelist") not in page
    assert "data-keeps" not in staff("view_queue", "change_queue").page(address)
    assert "data-keeps" not in superuser().page(address)


def test_what_does_not_work_is_said_first():
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


def test_a_process_without_a_heartbeat_is_said():
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


def test_tasks_that_no_worker_takes_are_said():
    def message(age):
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
