"""Recording: in the caller's transaction, frozen, numbered, for those who want it."""

import threading
import time
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any
from uuid import RFC_4122

import pytest
from django.db import connection, transaction

from campaigns.models import Campaign, Record
from campaigns.models.rules import CampaignFacts
from campaigns.verbs.record_edits import Edit, edit_records
from telephony.models import Agent
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.conftest import ACTOR
from tests.serving import at_once
from tests.telephony.factories import AgentFactory
from tests.webhooks.factories import WebhookFactory
from webhooks import outbox
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event
from webhooks.verbs.webhooks import disable_webhook, remove_webhook

pytestmark = pytest.mark.django_db
FREE = EventType.AGENT_FREE


def record(subject: str = "agent:1", **payload: Any) -> None:
    outbox.record(FREE, subject, payload)


def record_and_roll_back(subject: str) -> None:
    with transaction.atomic():
        record(subject)
        transaction.set_rollback(True)


def subjects() -> list[str]:
    return list(Event.objects.order_by("id").values_list("subject", flat=True))


def test_events_of_a_rolled_back_transaction_do_not_exist(enqueued):
    WebhookFactory(actions=[FREE])

    record_and_roll_back("agent:1")

    assert (Event.objects.count(), Delivery.objects.count()) == (0, 0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "call",
    [
        record,
        lambda: outbox.record_many(FREE, []),
        lambda: outbox.record_from_query(FREE, "SELECT 'agent:1', '{}'::jsonb"),
    ],
    ids=["one", "none", "query"],
)
def test_recording_outside_a_transaction_is_refused(call):
    with pytest.raises(RuntimeError, match="AGENT_FREE is recorded outside"):
        call()

    assert Event.objects.count() == 0


def test_a_transaction_holds_one_lock_however_much_it_records_also_after_a_savepoint_that_rolled_back():
    record_and_roll_back("agent:0")

    for number in (1, 2, 3):
        record(f"agent:{number}")

    assert subjects() == ["agent:1", "agent:2", "agent:3"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
        assert cursor.fetchone() == (1,)


def test_only_subscribed_webhooks_get_deliveries(enqueued):
    wanting = WebhookFactory(actions=[EventType.TICKET_CREATED, FREE])
    WebhookFactory(actions=[EventType.AGENT_PAUSED])
    disable_webhook(WebhookFactory(actions=[FREE]), ACTOR)
    remove_webhook(WebhookFactory(actions=[FREE]), ACTOR)
    enqueued.clear()

    record()

    assert list(Delivery.objects.values_list("webhook", "state", "attempt_count")) == [(wanting.pk, "waiting", 0)]
    assert enqueued == [("webhooks.deliver", wanting.pk)]


def test_many_events_are_one_statement_and_one_message_for_each_webhook(enqueued, django_assert_num_queries):
    first, second = WebhookFactory.create_batch(2, actions=[FREE])

    with django_assert_num_queries(1):
        outbox.record_many(FREE, [(f"agent:{number}", {"agent_login": f"a{number}"}) for number in range(50)])

    assert subjects() == [f"agent:{number}" for number in range(50)]
    assert Delivery.objects.count() == 100
    assert sorted(enqueued) == [("webhooks.deliver", first.pk), ("webhooks.deliver", second.pk)]


def test_an_event_without_webhooks_is_recorded_for_the_feed(enqueued):
    record(agent_login="agent1")

    assert (Event.objects.count(), Delivery.objects.count(), enqueued) == (1, 0, [])


def test_a_payload_keeps_the_values_of_its_change(api):
    campaign = CampaignFactory(code="FROZE")
    api.post("/api/outbounds/FROZE/records", {"phone_number": "225550101"})
    Record.objects.update(phone_number="225550102")
    Campaign.objects.filter(pk=campaign.pk).update(code="OTHER")

    created = Event.objects.get(action=EventType.OUTBOUND_RECORD_CREATED)

    assert created.message["phone_number"] == "225550101"


def test_a_message_is_flat_and_its_date_is_of_our_zone(settings):
    settings.TIME_ZONE = "Europe/Warsaw"
    record(agent_login="agent1", pause_id=None)
    event = Event.objects.get()
    Event.objects.update(created_at=datetime.fromisoformat("2026-07-01T22:15:09.7Z"))
    event.refresh_from_db()

    assert list(event.message.items()) == [
        ("action", "AGENT_FREE"),
        ("date", "2026-07-02 00:15:09"),
        ("pause_id", None),
        ("agent_login", "agent1"),
        ("event_id", str(event.event_id)),
        ("sequence", event.pk),
    ]


def test_events_of_campaigns_have_the_fields_and_types_of_their_examples(api):
    AgentFactory(login="agent1")
    api.post("/api/outbounds", {"id": "TYPES", "name": "Types", "dialer": "preview", "crm": False})
    api.post("/api/outbounds/TYPES/records", {"phone_number": "+48 22 555 00 07"})
    my_record = {"system_status": "MY_RECORD", "agent_login": "agent1", "next_call_date": "2030-01-01 10:00"}
    changed = api.put("/api/outbounds/TYPES/records/+48225550007", my_record | {"status_id": _status("MY_RECORD")})
    assert changed.status_code == 204, changed.content

    messages = {event.action: event.message for event in Event.objects.order_by("id")}

    assert set(messages) == {"OUTBOUND_CREATED", "OUTBOUND_RECORD_CREATED", "OUTBOUND_RECORD_STATUS_CHANGED"}
    for action, message in messages.items():
        example = EventType(action).example_message
        assert message.keys() == example.keys()
        for name, value in message.items():
            assert value is None or example[name] is None or type(value) is type(example[name]), (action, name)
    created, moved = messages["OUTBOUND_RECORD_CREATED"], messages["OUTBOUND_RECORD_STATUS_CHANGED"]
    columns = itemgetter("phone_number", "system_status", "next_call_date", "agent_login")
    assert columns(created) == ("+48 22 555 00 07", "TO_CALL", None, None)
    assert columns(moved) == ("+48 22 555 00 07", "MY_RECORD", "2030-01-01 10:00", "agent1")


def _status(system_status: str) -> int:
    return Record.objects.get().campaign.statuses.filter(system_status=system_status).get().pk


@pytest.mark.usefixtures("committed_db")
def test_the_sequence_of_a_subject_grows_in_the_order_of_its_changes_also_when_many_change_it():
    record_ = RecordFactory()
    statuses = record_.campaign.statuses.filter(system_status__in=["TO_CALL", "NO_CALL"])
    ids = list(statuses.values_list("pk", flat=True))
    facts = CampaignFacts.read(record_.campaign.code)
    assert facts is not None

    def change():
        for number in range(12):
            edit_records(facts, ACTOR, [Edit(record_.phone_number, {"status_id": ids[number % 2]})])

    at_once([change] * 4)

    told = Event.objects.filter(subject=f"record:{record_.pk}").order_by("id")
    changes = record_.history.order_by("id").exclude(from_status="").values_list("to_system_status", flat=True)
    assert len(told) > 2
    assert [event.payload["system_status"] for event in told] == list(changes)
    record_.refresh_from_db()
    assert told.last().payload["system_status"] == record_.system_status  # type: ignore[union-attr]


def settled() -> list[str]:
    return [event.subject for event in Event.objects.settled().order_by("id")]


@pytest.mark.usefixtures("committed_db")
def test_a_gap_after_a_rollback_does_not_block_the_feed():
    record_and_roll_back("never")
    with transaction.atomic():
        record("after")

    assert settled() == ["after"]


@pytest.mark.usefixtures("committed_db")
def test_a_reader_that_follows_the_feed_misses_nothing_while_many_write():
    writers, events_each = 6, 40
    is_over = threading.Event()
    read: list[str] = []

    def write(writer):
        for number in range(events_each):
            with transaction.atomic():
                record(f"w{writer}:{number}")
                # The transactions get their ids in one order and commit in another.
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_sleep(random() * 0.01)")
                record(f"w{writer}:{number}:b")
        connection.close()

    def follow():
        last = 0
        while True:
            was_over = is_over.is_set()
            page = list(Event.objects.settled().filter(pk__gt=last).order_by("id")[:100])
            read.extend(event.subject for event in page)
            last = page[-1].pk if page else last
            if was_over and not page:
                break
        connection.close()

    reader = threading.Thread(target=follow)
    reader.start()
    at_once([lambda writer=writer: write(writer) for writer in range(writers)])  # type: ignore[misc]
    is_over.set()
    reader.join(60)

    assert len(read) == len(set(read)) == 2 * writers * events_each
    assert set(read) == set(Event.objects.values_list("subject", flat=True))


def test_events_of_a_query_come_in_its_order_each_with_an_id_of_its_own(enqueued, django_assert_num_queries):
    webhook = WebhookFactory(actions=[FREE])

    with django_assert_num_queries(1):
        outbox.record_from_query(
            FREE,
            "SELECT 'agent:' || n, jsonb_build_object('agent_login', %(letter)s || n) FROM generate_series(1, 500) n"
            " ORDER BY n",
            {"letter": "a"},
        )

    assert subjects() == [f"agent:{n}" for n in range(1, 501)]
    assert Event.objects.values("event_id").distinct().count() == 500
    assert Event.objects.order_by("id").values_list("payload", flat=True)[0] == {"agent_login": "a1"}
    assert webhook.deliveries.waiting().count() == 500
    assert enqueued == [("webhooks.deliver", webhook.pk)]


def test_changes_and_the_events_of_their_rows_are_one_statement(django_assert_num_queries):
    agents = AgentFactory.create_batch(3, email="")

    with django_assert_num_queries(1):
        outbox.record_from_query(
            FREE,
            "SELECT 'agent:' || id, jsonb_build_object('agent_login', login) FROM changed ORDER BY id",
            {"email": "a@example.com"},
            changes="changed AS (UPDATE telephony_agent SET email = %(email)s RETURNING id, login)",
        )

    assert subjects() == [f"agent:{agent.pk}" for agent in agents]
    assert [event.payload for event in Event.objects.order_by("id")] == [{"agent_login": a.login} for a in agents]
    assert set(Agent.objects.values_list("email", flat=True)) == {"a@example.com"}


def test_event_ids_are_uuids_of_version_7_in_the_order_of_time():
    outbox.record(FREE, "agent:1", {})
    time.sleep(0.002)
    outbox.record(FREE, "agent:2", {})

    first, second = Event.objects.order_by("id").values_list("event_id", flat=True)
    assert (first.version, first.variant, second.version) == (7, RFC_4122, 7)
    assert first < second
    assert abs(datetime.now(UTC).timestamp() - (second.int >> 80) / 1000) < 3600
