"""Results of campaigns' calls: kept during the call, written at its end, replaced by later ones."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.dialling import outcomes
from campaigns.models import AdditionalNumber, Attempt, Campaign, Record, RecordStatus
from telephony.models import Connection, Leg
from tests.campaigns.dialling.calls import (
    dialling_campaign,
    hang_up,
    only_attempt,
    only_record,
    open_call,
    pick_up,
    talking,
    tick,
    unanswered_call,
)
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFieldFactory
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory, ConnectionFactory
from webhooks.models import Event

pytestmark = pytest.mark.usefixtures("switch")

CALL, LATER = "/api/agents/agent1/call", "2031-05-06 10:30"


def status(campaign: Campaign, name: str) -> RecordStatus:
    return campaign.statuses.get(name=name)


@pytest.fixture
def client(api_client):
    return api_client("campaigns:read", "campaigns:write", "agents:read")


def give(client: ApiClient, call: Connection, name: str = "", **values: Any) -> Any:
    """Give a result with this status of the call's campaign."""
    if name:
        values["status_id"] = status(only_record().campaign, name).pk
    return client.post(f"/api/connections/{call.uid}/result", values)


def codes(response: Any) -> list[tuple[int, str | None]]:
    return [(error["code"], error.get("field")) for error in response.json()["errors"]]


def test_a_result_of_the_talk_is_written_at_its_end(client):
    campaign = dialling_campaign(fields=["city"])
    call = talking(campaign)

    answer = give(client, call, "Contacted", note="Happy.", record_fields={"city": "Gdynia"})
    during = only_record()
    hang_up(call, Leg.Role.CUSTOMER)

    record, attempt = only_record(), only_attempt()
    assert answer.status_code == 204
    assert (during.system_status, during.last_note, during.is_leased) == ("IN_PROGRESS", "", True)
    assert (record.system_status, record.last_note, record.is_leased) == ("NO_CALL", "Happy.", False)
    assert list(record.fields.values()) == ["Gdynia"]
    assert (attempt.settled_at, attempt.settle_at) == (attempt.ended_at, None)
    change = record.history.latest("id")
    assert (change.action, change.actor_kind, change.to_status) == ("result", "api_user", "Contacted")
    event = Event.objects.filter(action="OUTBOUND_RECORD_STATUS_CHANGED").latest("id")
    assert event.payload["system_status"] == "NO_CALL"


def test_the_last_of_several_results_of_the_talk_is_written(client):
    call = talking(dialling_campaign())
    give(client, call, "Contacted", note="First.")

    give(client, call, "Call later", next_call_date=LATER)
    hang_up(call, Leg.Role.CUSTOMER)

    record = only_record()
    assert (record.system_status, record.last_note) == ("CALL_NO_SOONER_THAN", "")
    assert record.next_call_at is not None
    assert f"{timezone.localtime(record.next_call_at):%Y-%m-%d %H:%M}" == "2031-05-06 10:30"


def test_a_result_during_the_wrap_up_is_written_at_once(client):
    campaign = dialling_campaign()
    call = talking(campaign)
    hang_up(call, Leg.Role.CUSTOMER)

    give(client, call, dictionary_status_id=status(campaign, "Contacted").dictionary_status_id)

    record = only_record()
    assert (record.status and record.status.name, record.is_leased) == ("Contacted", False)
    assert outcomes.settle_due(timezone.now() + timedelta(hours=1)) == 0
    assert only_record().history.latest("id").action == "result"


def test_a_later_result_replaces_an_earlier_one_for_five_minutes(client):
    call = talking(dialling_campaign())
    give(client, call, "Contacted")
    hang_up(call, Leg.Role.CUSTOMER)

    in_time = give(client, call, "Call later", next_call_date=LATER)
    Attempt.objects.update(ended_at=timezone.now() - timedelta(minutes=5, seconds=1))
    late = give(client, call, "Contacted")

    assert (in_time.status_code, late.status_code) == (204, 409)
    assert codes(late) == [(124002, None)]
    assert only_record().system_status == "CALL_NO_SOONER_THAN"


def test_a_result_is_refused_once_the_record_is_reserved_again(client):
    call = talking(dialling_campaign())
    hang_up(call, Leg.Role.CUSTOMER)
    give(client, call, "Contacted")
    Record.objects.update(leased_by="dialler:x", leased_until=timezone.now() + timedelta(seconds=30))

    refused = give(client, call, "Contacted", note="Too late.")

    assert (refused.status_code, codes(refused)) == (409, [(124003, None)])
    assert only_record().last_note == ""


def test_a_result_of_an_unanswered_call_replaces_the_retry(client):
    campaign = dialling_campaign()
    tick(campaign)
    call = open_call()
    unanswered_call(call, 1)

    give(client, call, "Wrong number")

    record = only_record()
    assert (record.system_status, record.is_number_wrong, record.next_call_at) == ("NO_CALL", True, None)


@pytest.mark.parametrize("name", ["To be called", "Contacted"])
def test_a_result_may_say_itself_that_the_called_number_is_wrong(client, name):
    campaign = dialling_campaign()
    other = AdditionalNumberFactory(record=only_record())
    call = talking(campaign)

    give(client, call, status_id=status(campaign, name).pk, is_wrong_number=True)
    hang_up(call, Leg.Role.CUSTOMER)

    assert only_record().is_number_wrong
    assert not AdditionalNumber.objects.get().is_wrong
    assert other.number != only_attempt().number


def test_a_result_takes_the_mark_of_a_wrong_number_back(client):
    call = talking(dialling_campaign())
    hang_up(call, Leg.Role.CUSTOMER)
    give(client, call, "Wrong number")
    marked = only_record().is_number_wrong

    give(client, call, "Contacted")

    assert (marked, only_record().is_number_wrong) == (True, False)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, [(100001, "status_id")]),
        ({"note": "No status."}, [(100001, "status_id")]),
        ({"status_id": 1}, [(121009, "status_id")]),
        ({"status": "Call later"}, [(121013, "next_call_date")]),
        ({"status": "Own record", "next_call_date": "2031-05-06 10:30"}, [(121012, "assign_to_login")]),
        ({"status": "Contacted", "assign_to_login": "nobody"}, [(110001, "assign_to_login")]),
        ({"status": "Contacted", "record_fields": {"colour": "red"}}, [(121014, "record_fields.colour")]),
        ({"status": "In progress"}, [(124004, "status_id")]),
        ({"status": "Contacted", "is_wrong_number": "maybe"}, [(100007, "is_wrong_number")]),
        # A value that cannot be read has one fault: it is not missing, too.
        ({"status_id": [1]}, ["status_id"]),
        ({"dictionary_status_id": [1]}, ["dictionary_status_id"]),
        ({"status": "Call later", "next_call_date": "soon"}, ["next_call_date"]),
        (
            {"status": "Own record", "next_call_date": "soon", "assign_to_login": [1]},
            ["assign_to_login", "next_call_date"],
        ),
    ],
)
def test_a_wrong_result_is_refused_and_changes_nothing(client, values, expected):
    call = talking(dialling_campaign())

    answer = give(client, call, values.pop("status", ""), **values)

    fields = sorted(str(field) for _, field in codes(answer))
    assert (answer.status_code, fields if isinstance(expected[0], str) else codes(answer)) == (400, expected)
    if expected == [(121012, "assign_to_login")]:
        # The message has the name of the field in the request.
        message = answer.json()["errors"][0]["message"]
        assert message == 'A record with the status "MY_RECORD" needs assign_to_login.'
    assert only_attempt().result is None
    assert only_record().is_leased


def test_a_call_of_no_campaign_has_no_result(client):
    answer = give(client, ConnectionFactory(talking=True), status_id=1)

    assert (answer.status_code, codes(answer)) == (409, [(124001, None)])


def status_is_deleted(campaign: Campaign) -> None:
    campaign.statuses.get(name="Sold").delete()


def field_is_deleted(campaign: Campaign) -> None:
    campaign.fields.get(name="Colour").delete()


@pytest.mark.parametrize("system_status", ["NO_CALL", "CALL_NO_SOONER_THAN", "MY_RECORD"])
@pytest.mark.parametrize("change", [status_is_deleted, field_is_deleted])
def test_a_kept_result_that_no_longer_fits_is_written_as_far_as_it_fits(client, system_status, change):
    campaign = dialling_campaign()
    sold = RecordStatus.objects.create(campaign=campaign, name="Sold", system_status=system_status)
    AgentFactory(login="friend")
    size = CampaignFieldFactory(campaign=campaign, name="Size")
    CampaignFieldFactory(campaign=campaign, name="Colour")
    call = talking(campaign)
    plan: dict[str, Any] = {"next_call_date": "2036-05-01 12:00", "assign_to_login": "friend"}
    given: dict[str, Any] = {
        "note": "Wants two",
        "record_fields": {"Size": "L", "Colour": "red"},
        "is_wrong_number": True,
    }
    give(client, call, status_id=sold.pk, **given, **plan)
    change(campaign)

    hang_up(call, Leg.Role.CUSTOMER)

    record = only_record()
    assert (record.last_note, record.fields.get(str(size.pk)), record.is_number_wrong) == ("Wants two", "L", True)
    # A status that plans a call is replaced by another one that does. Completed records have several meanings.
    has_plan = change is field_is_deleted or system_status != "NO_CALL"
    expected = sold if change is field_is_deleted else campaign.statuses.filter(system_status=system_status).first()
    assert record.status == (expected if has_plan else status(campaign, "Contacted"))
    assert (record.next_call_at is not None, record.agent is not None) == (has_plan, has_plan)
    assert not record.is_leased
    assert record.history.get(action="result_refused").changes["refused"][1]


@pytest.mark.parametrize("holder", ["the dialler", "a preview", "a call"])
def test_a_record_that_is_reserved_or_called_cannot_be_edited(client, api, holder):
    campaign = dialling_campaign(dialer="preview" if holder == "a preview" else "progressive")
    if holder == "a call":
        talking(campaign)
    elif holder == "a preview":
        tick(campaign)
    else:
        Record.objects.update(leased_by="dialler:x", leased_until=timezone.now() + timedelta(seconds=30))
    record = only_record()

    edited = api.put(f"/api/outbounds/{campaign.code}/records/{record.phone_number}", {"note": "x"})
    items = {"records": [{"phone_number": record.phone_number, "note": "x"}]}
    batch = api.put(f"/api/batch/outbounds/{campaign.code}/records", items).json()

    assert edited.status_code == 409
    assert batch[record.phone_number]["http_status"] == 400
    assert only_record().last_note == ""


def test_a_result_may_give_the_record_to_an_agent_for_the_next_call(client):
    campaign = dialling_campaign()
    call, agent = talking(campaign), campaign.agents.get()

    give(client, call, "Own record", next_call_date=LATER, assign_to_login=agent.login, is_wrong_number=False)
    hang_up(call, Leg.Role.CUSTOMER)

    record = only_record()
    assert (record.system_status, record.agent, record.is_number_wrong) == ("MY_RECORD", agent, False)


def test_a_record_that_was_set_in_progress_by_hand_is_left_alone(client, api):
    campaign = dialling_campaign()
    record = only_record()
    edit = {"status_id": status(campaign, "In progress").pk}
    assert api.put(f"/api/outbounds/{campaign.code}/records/{record.phone_number}", edit).status_code == 204

    tick(campaign)
    outcomes.settle_due(timezone.now() + timedelta(days=1))

    assert only_record().system_status == "IN_PROGRESS"
    assert not Connection.objects.exists()


def test_the_call_of_an_agent_has_its_record(client):
    campaign = dialling_campaign(fields=["city"])
    before = client.get(CALL)
    tick(campaign)
    call = open_call()

    ringing = client.get(CALL).json()
    states = [ringing["state"]]
    for act, role in ((pick_up, Leg.Role.AGENT), (pick_up, Leg.Role.CUSTOMER), (hang_up, Leg.Role.CUSTOMER)):
        act(call, role)
        states.append(client.get(CALL).json()["state"])

    assert (before.status_code, before.content) == (204, b"")
    assert client.get(CALL.replace("agent1", "nobody")).status_code == 404
    assert states == ["ringing", "ringing", "talking", "wrap_up"]
    assert (ringing["connection_id"], ringing["outbound_id"]) == (call.uid, campaign.code)
    assert ringing["record"]["record_id"] == only_record().pk
    assert ringing["record"]["record_fields"] == {"city": ""}


def test_the_call_of_an_agent_who_paused_during_it_is_shown(client, switch):
    campaign = dialling_campaign()
    call = talking(campaign)
    campaign.agents.get().states.filter(ended_at=None).update(ended_at=timezone.now())

    shown = client.get(CALL).json()

    assert (shown["connection_id"], shown["state"]) == (call.uid, "talking")


def test_the_call_of_an_agent_without_a_campaign_has_no_record(client):
    campaign = dialling_campaign()
    talking(campaign)
    Connection.objects.update(campaign_code="", record_id=None)

    shown = client.get(CALL).json()

    assert (shown["outbound_id"], shown["record"]) == (None, None)
