"""Events of imported records: one for each on request, in the transaction that adds the records."""

import pytest

from campaigns.importing import merge
from campaigns.models import Record
from tests.campaigns.api_calls import RECORDS
from tests.campaigns.import_files import import_by_command as run
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory
from tests.webhooks.factories import WebhookFactory
from webhooks import outbox
from webhooks.event_types import EventType
from webhooks.models import Event

CREATED = EventType.OUTBOUND_RECORD_CREATED


@pytest.fixture
def webhook(committed_db, campaign):
    """A webhook for new records."""
    return WebhookFactory(actions=[CREATED])


def recorded() -> list[Event]:
    return list(Event.objects.filter(action=CREATED).order_by("id"))


@pytest.mark.parametrize(("arguments", "added"), [((), 1), (("--events", "--dry-run"), 0)])
def test_an_import_without_the_option_or_a_dry_run_records_no_event(webhook, tmp_path, arguments, added):
    run(tmp_path, "phone\n225550101\n", *arguments)

    assert (Record.objects.count(), recorded(), webhook.deliveries.count()) == (added, [], 0)


def test_each_added_record_has_one_event_in_the_order_of_the_file(webhook, tmp_path):
    printed = run(tmp_path, "phone\n225550103\nnonsense\n225550101\n225550103\n225550102\n", "--events")

    assert [event.payload["phone_number"] for event in recorded()] == ["225550103", "225550101", "225550102"]
    records = {record.phone_number: record.pk for record in Record.objects.all()}
    assert [event.subject for event in recorded()] == [
        f"record:{records[number]}" for number in ("225550103", "225550101", "225550102")
    ]
    assert webhook.deliveries.waiting().count() == 3
    assert "An event was recorded for each record." in printed


def test_the_event_of_an_imported_record_equals_that_of_the_api(webhook, tmp_path, credential):
    AgentFactory(login="agent1")
    login, _, secret = credential.partition(":")
    added = {"phone_number": "22 555 01 01", "system_status": "MY_RECORD", "agent_login": "agent1"}
    added["next_call_date"] = "2030-07-01 10:05"
    response = ApiClient(login, secret).post(RECORDS, added)
    assert response.status_code == 201, response.content
    rows = "22 555 01 02,MY_RECORD,agent1,2030-07-01 10:05\n22 555 01 03,,,\n"
    run(tmp_path, f"phone,system_status,agent_login,next_call_date\n{rows}", "--events")

    by_api, imported, plain = (event.payload for event in recorded())
    assert imported | {"record_id": 0, "phone_number": ""} == by_api | {"record_id": 0, "phone_number": ""}
    assert [*map(type, imported.values())] == [type(by_api[name]) for name in imported]
    assert imported["next_call_date"] == "2030-07-01 10:05"
    assert (plain["next_call_date"], plain["agent_login"]) == (None, None)
    assert plain["phone_number"] == "22 555 01 03"


def test_an_import_that_fails_at_its_end_records_no_event(webhook, tmp_path, monkeypatch):
    def fail(*args):
        raise RuntimeError("at the last moment")

    monkeypatch.setattr("campaigns.importing.import_run.finish_import", fail)

    with pytest.raises(Exception, match="The service failed"):
        run(tmp_path, "phone\n225550101\n", "--events")

    assert (Record.objects.count(), recorded(), webhook.deliveries.count()) == (0, [], 0)


def test_events_take_one_statement_for_each_slice(webhook, tmp_path, monkeypatch):
    """There is no loop over the records: a million of them take fifty statements."""
    monkeypatch.setattr(merge, "_SLICE_ROWS", 1_000)
    statements = []
    record_from_query = outbox.record_from_query

    def count(*args, **more):
        statements.append(args)
        record_from_query(*args, **more)

    monkeypatch.setattr(outbox, "record_from_query", count)
    run(tmp_path, "phone\n" + "".join(f"22{number:07}\n" for number in range(3_000)), "--events")

    assert len(recorded()) == webhook.deliveries.count() == 3_000
    assert 1 < len(statements) <= 4
    assert [event.payload["phone_number"] for event in recorded()] == [f"22{number:07}" for number in range(3_000)]


def test_allowed_duplicates_have_events(webhook, tmp_path):
    run(tmp_path, "phone\n225550101\n225550101\n", "--events", "--allow-duplicates")

    ids = Record.objects.values_list("pk", flat=True)
    assert sorted(event.subject for event in recorded()) == sorted(f"record:{pk}" for pk in ids)
    assert len(recorded()) == 2
