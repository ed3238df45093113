"""Records that are called again in a new campaign, over HTTP."""

from typing import Any

import pytest

from callcentre.core.errors import ErrorCode as E
from campaigns import tasks
from campaigns.models import Campaign, Record, RecordImport, RecordStatus
from campaigns.verbs.recycling import copy_records
from tests.campaigns.api_calls import CAMPAIGN, faults
from tests.campaigns.factories import (
    AdditionalNumberFactory,
    AttemptFactory,
    CampaignFactory,
    PastAttemptFactory,
    RecordFactory,
)
from tests.campaigns.waiting import while_it_waits
from tests.conftest import ApiClient

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign():
    return CampaignFactory(code="DEMO1", fields=["city"], is_dialling=True)


def recycle(api: ApiClient, **body: Any) -> Any:
    """Recycle, and copy as the worker does."""
    response = api.post(f"{CAMPAIGN}/recycle", body)
    assert response.status_code == 200, response.content
    for queued in RecordImport.objects.filter(state="queued"):
        assert copy_records(queued) == response.json()["records_count"]
    return response.json()


def status_of(campaign: Campaign, key: str) -> RecordStatus:
    return campaign.statuses.get(dictionary_status__key=key)


def ended(campaign: Campaign, key: str, *outcomes: str, **values: Any) -> Record:
    """Add a record with this status and calls with these outcomes."""
    status = status_of(campaign, key)
    values = {"status": status, "system_status": status.system_status, **values}
    if status.system_status == "CALL_NO_SOONER_THAN":
        values["next_call_at"] = "2031-01-01T10:00Z"
    record: Record = RecordFactory(campaign=campaign, **values)
    for outcome in outcomes:
        PastAttemptFactory(campaign=campaign, record_id=record.pk, outcome=outcome)
    return record


def test_records_are_copied_into_a_paused_clone_to_be_called(api, campaign):
    city = campaign.fields.get()
    old = ended(campaign, "contacted", "answered", fields={str(city.pk): "Gdynia"}, identifier="A-1", order=3)
    AdditionalNumberFactory(record=old, phone_number="+48 22 100 00 09", number="+48221000009", is_wrong=True)
    ended(campaign, "call_later", "answered")

    answer = recycle(api, name="Again", statuses=[status_of(campaign, "contacted").pk])

    clone = Campaign.objects.get(code=answer["outbound_id"])
    assert answer["records_count"] == 1
    assert (clone.name, clone.is_dialling, clone.dialer) == ("Again", False, campaign.dialer)
    new = clone.records.get()
    assert (new.phone_number, new.number, new.identifier, new.order) == (old.phone_number, old.number, "A-1", 3)
    assert (new.system_status, new.next_call_at, new.is_primary) == ("TO_CALL", None, True)
    assert new.status
    assert (new.status.campaign, new.status.system_status) == (clone, "TO_CALL")
    assert new.fields == {str(clone.fields.get().pk): "Gdynia"}
    numbers = new.additional_numbers.values_list("campaign", "number", "is_wrong")
    assert list(numbers) == [(clone.pk, "+48221000009", True)]
    assert new.history.get().action == "recycle"
    old.refresh_from_db()
    assert (old.campaign, old.status) == (campaign, status_of(campaign, "contacted"))


def test_a_dry_run_counts_and_writes_nothing(api, campaign):
    contacted, later = status_of(campaign, "contacted"), status_of(campaign, "call_later")
    ended(campaign, "contacted", "no_answer", "answered")
    ended(campaign, "contacted")
    ended(campaign, "call_later", "answered")

    answer = recycle(api, statuses=[contacted.pk, later.pk], dry_run=True)

    assert answer == {
        "outbound_id": None,
        "records_count": 3,
        "by_status": {str(contacted.pk): 2, str(later.pk): 1},
        "by_outcome": {"answered": 2, "none": 1},
    }
    assert Campaign.objects.count() == 1


def test_the_outcome_of_the_last_call_decides(api, campaign):
    ended(campaign, "contacted", "busy", "answered")
    ended(campaign, "contacted", "answered", "busy", "not_dialled")
    ended(campaign, "call_later", "busy")

    assert recycle(api, outcomes=["busy"], dry_run=True)["records_count"] == 2
    contacted = status_of(campaign, "contacted").pk
    assert recycle(api, outcomes=["busy"], statuses=[contacted], dry_run=True)["records_count"] == 1
    assert recycle(api, outcomes=["busy", "answered"], dry_run=True)["by_outcome"] == {"answered": 1, "busy": 2}


def test_a_record_in_a_call_is_left_out(api, campaign):
    record = ended(campaign, "contacted")
    AttemptFactory(record=record)

    statuses = [status_of(campaign, "contacted").pk]
    assert recycle(api, statuses=statuses, dry_run=True)["records_count"] == 0
    wrong = faults(api.post(f"{CAMPAIGN}/recycle", {"name": "Again", "statuses": statuses}))
    assert wrong == {("statuses", E.NOTHING_TO_RECYCLE)}
    assert Campaign.objects.count() == 1


def test_the_first_of_several_records_of_a_number_is_the_primary_one(api, campaign):
    status = status_of(campaign, "contacted")
    values = {"campaign": campaign, "phone_number": "+48 22 100 00 01", "status": status, "system_status": "NO_CALL"}
    RecordFactory(campaign=campaign, phone_number="+48 22 100 00 01")
    RecordFactory.create_batch(2, is_primary=False, **values)

    answer = recycle(api, name="Again", statuses=[status.pk])

    records = Record.objects.filter(campaign__code=answer["outbound_id"]).order_by("id")
    assert [record.is_primary for record in records] == [True, False]


@pytest.mark.usefixtures("committed_db")
def test_a_worker_copies_after_the_answer(api, campaign, sent):
    """The feed of events would stop at the clone's event for as long as the copies take."""
    status = status_of(campaign, "contacted")
    ended(campaign, "contacted", "answered")

    answer = api.post("/api/outbounds/DEMO1/recycle", {"name": "Again", "statuses": [status.pk]}).json()

    clone = Campaign.objects.get(code=answer["outbound_id"])
    assert (answer["records_count"], clone.records.count()) == (1, 0)
    [(task, pk)] = sent
    assert (task, RecordImport.objects.get().can_start_again) == ("campaigns.import_records", True)
    for _ in range(2):
        tasks.import_records(pk)
    given = RecordImport.objects.get()
    assert (given.state, given.added_count, clone.records.count()) == ("finished", 1, 1)
    assert clone.records.get().history.get().actor_name == "all"


@pytest.mark.usefixtures("committed_db")
def test_records_that_the_clone_got_before_the_copies_stay(api, campaign, sent):
    status = status_of(campaign, "contacted")
    for number in (1, 2, 3):
        values = {"phone_number": f"+48 22 100 00 0{number}", "identifier": f"A{number}", "system_status": "NO_CALL"}
        RecordFactory(campaign=campaign, status=status, **values)
    code = api.post(f"/api/outbounds/{campaign.code}/recycle", {"name": "Again", "statuses": [status.pk]}).json()
    clone = Campaign.objects.get(code=code["outbound_id"])
    RecordFactory(campaign=clone, phone_number="+48 22 100 00 01", identifier="A2")

    tasks.import_records(RecordImport.objects.get().pk)

    found = clone.records.order_by("id").values_list("number", "identifier", "is_primary")
    copied = [("+48221000001", "A2", True), ("+48221000001", "A1", False), ("+48221000003", "A3", True)]
    assert list(found) == copied


@pytest.mark.usefixtures("committed_db")
def test_a_record_that_the_clone_gets_during_the_copying_stays(api, campaign, sent):
    status = status_of(campaign, "contacted")
    RecordFactory(campaign=campaign, status=status, phone_number="+48221000001", system_status="NO_CALL")
    api.post(f"/api/outbounds/{campaign.code}/recycle", {"name": "Again", "statuses": [status.pk]})
    given = RecordImport.objects.get()
    number = {"campaign": given.campaign, "phone_number": "+48221000001"}

    while_it_waits(lambda: tasks.import_records(given.pk), first=lambda: RecordFactory(**number, identifier="ADDED"))

    records = Record.objects.filter(campaign=given.campaign)
    assert [record.number for record in records] == ["+48221000001"] * 2
    assert records.get(is_primary=True).identifier == "ADDED"


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({"name": "Again"}, ("statuses", E.EMPTY)),
        ({"outcomes": ["busy"]}, ("name", E.EMPTY)),
        ({"name": "Again", "statuses": [1_000_000]}, ("statuses.0", E.STATUS_NOT_FOUND)),
        ({"name": "Again", "outcomes": ["lost"]}, ("outcomes.0", E.NOT_CHOICE)),
    ],
)
def test_a_wrong_request_is_refused_and_writes_nothing(api, campaign, body, wrong):
    assert faults(api.post(f"{CAMPAIGN}/recycle", body)) == {wrong}
    assert Campaign.objects.count() == 1
