"""The status of a campaign's dialling, and the switches."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns.dialling.dialler import Dialler
from campaigns.dialling.ownership import Ownership
from campaigns.models import Attempt, Campaign, DiallerState, DiallingDay, DiallingSwitch
from telephony.models import Connection, Leg
from telephony.verbs import presence
from tests.campaigns.dialling.calls import add_agent, answered_call, dialling_campaign, hang_up, open_call, tick
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.conftest import ACTOR, ApiClient
from tests.processes import wait_for
from tests.telephony.factories import PauseFactory

pytestmark = pytest.mark.usefixtures("switch")


@pytest.fixture
def client(api_client):
    return api_client("campaigns:read", "campaigns:write", "system:read", "system:write", "agents:write")


def status(client: ApiClient, campaign: Campaign) -> Any:
    return client.get(f"/api/outbounds/{campaign.code}/dialer").json()


def code(client: ApiClient, campaign: Campaign) -> tuple[str, str]:
    shown = status(client, campaign)
    assert bool(shown["code"]) == bool(shown["reason"])
    return shown["state"], shown["code"]


def test_a_campaign_that_dials_shows_agents_calls_and_records(client):
    campaign = dialling_campaign(agents=3, records=2)
    later = timezone.now() + timedelta(hours=3)
    RecordFactory(campaign=campaign, system_status="CALL_NO_SOONER_THAN", next_call_at=later)
    RecordFactory(campaign=campaign, system_status="CALL_PROGRESSIVE", next_call_at=later)
    RecordFactory(campaign=campaign, system_status="NO_CALL")
    RecordFactory(campaign=campaign, held_until=later)
    presence.pause(campaign.agents.get(login="agent3"), ACTOR, PauseFactory().pk)
    add_agent(campaign, "inbound", "300")
    campaign.agents.filter(login="inbound").update(outbound_mode=False)
    DiallingDay.objects.create(campaign=campaign, day=timezone.localdate(), attempts=90, live_answers=40, drops=1)
    for days, drops in ((29, 2), (30, 500)):
        day = timezone.localdate() - timedelta(days=days)
        DiallingDay.objects.create(campaign=campaign, day=day, live_answers=60, drops=drops)

    tick(campaign)
    first = Connection.objects.open().order_by("id")[0]
    answered_call(first)

    shown = status(client, campaign)
    assert (shown["state"], shown["code"], shown["reason"]) == ("dialling", "", "")
    assert shown["agents"] == {
        **dict.fromkeys(("free", "preview", "wrap_up", "logged_out"), 0),
        **dict.fromkeys(("ringing", "talking", "paused"), 1),
    }
    assert (shown["ringing"], shown["waiting"]) == (1, 0)
    # The call that goes on counts, too.
    assert shown["today"] == {"live_answers": 41, "drops": 1, "drop_rate": 2.44}
    assert shown["days_30"] == {"live_answers": 101, "drops": 3, "drop_rate": 2.97}
    assert shown["records"] == {"to_call": 3, "due": 0, "in_progress": 2, "done": 1, "not_callable_now": 3}
    assert shown["pace"]["lines_per_agent"] == 1
    assert shown["pace"]["calls_per_minute"] == 2
    assert shown["pace"]["done_at"] > shown["at"][:16]


def test_the_reason_says_why_nothing_is_dialled(client):
    campaign = dialling_campaign(agents=0, records=1)
    found = [code(client, campaign)]
    tick(campaign)
    found.append(code(client, campaign))
    agent = add_agent(campaign, "agent1", "101")
    presence.pause(agent, ACTOR, PauseFactory().pk)
    tick(campaign)
    found.append(code(client, campaign))
    presence.free(agent, ACTOR)
    campaign.records.update(system_status="NO_CALL")
    tick(campaign)
    found.append(code(client, campaign))
    DiallerState.objects.update(at=timezone.now() - timedelta(seconds=16))  # nobody renews it

    reasons = ("no_dialler", "no_agent", "agents_busy", "no_record", "no_dialler")
    assert [*found, code(client, campaign)] == [("waiting", reason) for reason in reasons]


@pytest.mark.parametrize("dialer", ["progressive", "predictive"])
def test_the_reason_says_that_all_lines_of_the_trunk_are_taken(client, settings, dialer):
    campaign = dialling_campaign(agents=2, records=2, dialer=dialer)
    settings.TRUNK_LIMIT = 1
    tick(campaign)
    tick(campaign)

    assert (Connection.objects.count(), code(client, campaign)) == (1, ("waiting", "no_line"))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"is_active": False}, ("stopped", "campaign_inactive")),
        ({"start_date": timezone.localdate() + timedelta(days=1)}, ("stopped", "outside_dates")),
        ({"is_dialling": False}, ("paused", "dialling_paused")),
    ],
)
def test_a_campaign_that_is_not_to_be_dialled_is_stopped_or_paused(client, values, expected):
    campaign = CampaignFactory(is_dialling=True)
    Campaign.objects.update(**values)

    assert code(client, campaign) == expected


def test_the_end_is_estimated_while_all_agents_are_busy(client):
    campaign = dialling_campaign(records=2)
    tick(campaign)
    tick(campaign)

    shown = status(client, campaign)

    assert (shown["code"], shown["pace"]["calls_per_minute"]) == ("agents_busy", 1)
    assert shown["pace"]["done_at"] > shown["at"][:16]


def test_a_dialler_that_has_not_reached_the_campaign_yet_is_not_missing(client):
    campaign = dialling_campaign()
    ownership = Ownership()
    running = code(client, campaign)
    ownership.close()

    assert running == ("waiting", "dialler_begins")
    wait_for(lambda: code(client, campaign) == ("waiting", "no_dialler"), "the lock of the dialler is gone")


def test_the_status_costs_the_same_for_any_number_of_records_and_agents(client):
    small, large = dialling_campaign(), dialling_campaign(agents=0, records=30)
    for number in range(10):
        add_agent(large, f"more{number}", str(400 + number))
    counts = []
    status(client, large)
    for campaign in (small, large):
        with CaptureQueriesContext(connection) as queries:
            status(client, campaign)
        counts.append(len(queries))

    assert counts[0] == counts[1]


# Switches


def test_new_campaigns_of_the_api_run_and_others_are_paused(client):
    client.post("/api/outbounds", {"id": "FIRST", "name": "New", "dialer": "progressive", "crm": False})
    client.post("/api/outbounds/FIRST/clone", {"new_id": "CLONE", "name": "Copy"})
    call_command("generate_data", records=5)

    shown = {row["id"]: row["dialing"] for row in client.get("/api/outbounds").json()}
    assert shown == {"FIRST": "running", "CLONE": "paused", "LOAD1": "paused"}
    assert client.get("/api/outbounds/CLONE").json()["dialing"] == "paused"


def test_start_pause_and_stop_say_who_did_it_and_are_of_one_campaign(client):
    campaign = CampaignFactory(is_dialling=False)

    for action in ("start", "pause", "stop"):
        assert client.post(f"/api/outbounds/{campaign.code}/dialer/{action}").status_code == 204

    switches = DiallingSwitch.objects.filter(campaign=campaign, actor_kind="api_user").order_by("id")
    expected = [("start", True), ("pause", False), ("stop", False)]
    assert list(switches.values_list("action", "is_running")) == expected
    assert client.get("/api/system/dialing").json()["running"] is True


def test_all_dialling_is_switched_off_and_on_with_a_reason(client):
    campaign = dialling_campaign()
    before = client.get("/api/system/dialing").json()

    off = client.post("/api/system/dialing", {"running": False, "reason": "Fire drill"})
    shown = client.get("/api/system/dialing").json()
    stopped = code(client, campaign)
    client.post("/api/system/dialing", {"running": True})

    assert before == {"running": True, "reason": "", "since": "", "by": ""}
    assert off.status_code == 204
    assert (shown["running"], shown["reason"]) == (False, "Fire drill")
    assert "" not in (shown["since"], shown["by"])
    assert stopped == ("stopped", "all_dialling_stopped")
    assert client.get("/api/system/dialing").json()["running"] is True
    assert DiallingSwitch.objects.of_all().count() == 2


def test_nothing_is_dialled_while_all_dialling_is_off(client):
    dialling_campaign()
    client.post("/api/system/dialing", {"running": False})
    dialler = Dialler()
    dialler.tick()
    before = Attempt.objects.count()
    client.post("/api/system/dialing", {"running": True})
    dialler.tick()
    dialler.disown()

    assert (before, Attempt.objects.count()) == (0, 1)


def test_a_switch_without_a_value_is_refused(client):
    refused = client.post("/api/system/dialing", {"reason": "x"})

    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "running")
    assert not DiallingSwitch.objects.exists()


def test_an_agent_out_of_outbound_mode_gets_no_call_of_a_campaign(client):
    campaign = dialling_campaign()

    refused = client.put("/api/agents/agent1", {"outbound_mode": "maybe"})
    answer = client.put("/api/agents/agent1", {"outbound_mode": False})
    tick(campaign)
    without = Attempt.objects.count()
    client.put("/api/agents/agent1", {"outbound_mode": True})
    tick(campaign)

    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "outbound_mode")
    assert (answer.status_code, without, Attempt.objects.count()) == (204, 0, 1)
    hang_up(open_call(), Leg.Role.AGENT, 19)
