"""Records that are offered to agents before the call, and statuses that the dialler gives to records."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from campaigns import tasks
from campaigns.dialling import outcomes, previews
from campaigns.models import Attempt, Campaign, Record, RecordOffer, RecordStatus
from campaigns.verbs.dialling import pause_dialling, switch_dialling
from campaigns.verbs.results import give_result
from telephony.models import AgentState, Connection, Leg
from telephony.verbs import ledger, presence
from telephony.verbs.ledger import State
from tests.campaigns.dialling.calls import (
    add_agent,
    answered_call,
    dialling_campaign,
    hang_up,
    only_attempt,
    only_record,
    open_call,
    talking,
    tick,
    unanswered_call,
)
from tests.campaigns.factories import RecordFactory, RecordOfferFactory
from tests.conftest import ACTOR
from tests.telephony.factories import PauseFactory
from webhooks.models import Event

pytestmark = pytest.mark.usefixtures("switch")

PREVIEW = "/api/agents/agent1/preview"


@pytest.fixture
def client(api_client):
    return api_client("agents:read", "agents:write", "campaigns:read")


def campaign_with_offer(**values: Any) -> Campaign:
    """Return a preview campaign that has offered its record to the agent "agent1"."""
    campaign = dialling_campaign(dialer="preview", **values)
    tick(campaign)
    return campaign


def state(login: str = "agent1") -> str:
    return AgentState.objects.get(agent__login=login, ended_at=None).kind


def ends() -> list[str]:
    return list(RecordOffer.objects.order_by("id").values_list("end", flat=True))


def codes(response: Any) -> list[int]:
    return [error["code"] for error in response.json()["errors"]]


def test_a_record_is_offered_to_each_free_agent(client):
    tick(campaign_with_offer(agents=2, records=3, preview_timeout=45, fields=["city"]))

    offers = list(RecordOffer.objects.order_by("record_id"))
    assert len({(offer.agent_id, offer.record_id) for offer in offers}) == 2
    assert {offer.expires_at - offer.offered_at for offer in offers} == {timedelta(seconds=45)}
    assert (state("agent1"), state("agent2")) == ("preview", "preview")
    assert {status["status"] for status in client.get("/api/agents_statuses").json()} == {"preview"}
    assert Record.objects.exclude(leased_by="").count() == 2
    assert not Connection.objects.exists()


def test_an_agent_reads_the_offered_record_of_which_an_event_tells(client):
    before = client.get(PREVIEW)
    campaign = campaign_with_offer(fields=["city"])
    record, offer = only_record(), RecordOffer.objects.get()

    shown = client.get(PREVIEW).json()

    assert before.status_code == 404
    assert shown["outbound_id"] == campaign.code
    assert (shown["record"]["record_id"], shown["record"]["record_fields"]) == (record.pk, {"city": ""})
    assert shown["offered_at"] == f"{timezone.localtime(offer.offered_at):%Y-%m-%d %H:%M:%S}"
    expires_at = f"{timezone.localtime(offer.expires_at):%Y-%m-%d %H:%M:%S}"
    assert shown["expires_at"] == expires_at
    assert (offer.expires_at - offer.offered_at).total_seconds() == 60
    payload = {"outbound_id": campaign.code, "record_id": record.pk, "agent_login": "agent1", "expires_at": expires_at}
    assert Event.objects.get(action="RECORD_OFFERED").payload == payload


def test_an_accepted_record_is_called(client, switch):
    campaign = campaign_with_offer(wrap_up_seconds=30)

    answer = client.post(f"{PREVIEW}/accept")

    call = open_call()
    assert (answer.status_code, answer.json()) == (201, {"connection_id": call.uid})
    assert [command[0] for command in switch.told] == ["call_agent"]
    assert (only_attempt().mode, only_attempt().record_id) == ("preview", only_record().pk)
    assert (only_record().system_status, only_record().leased_by) == ("IN_PROGRESS", f"call:{call.pk}")
    assert (ends(), state()) == (["accepted"], "ringing")
    answered_call(call)
    hang_up(call, Leg.Role.CUSTOMER)
    open_state = AgentState.objects.get(ended_at=None)
    assert (open_state.kind, open_state.resumes_as) == ("wrap_up", "free")
    assert client.get(PREVIEW).status_code == 204
    assert campaign.is_active


def test_an_agent_is_free_again_after_an_accepted_call_without_an_answer(client):
    campaign_with_offer()
    client.post(f"{PREVIEW}/accept")

    unanswered_call(open_call(), 17)

    assert (state(), only_attempt().outcome) == ("free", "busy")


def test_a_skipped_record_is_not_offered_to_the_agent_for_an_hour(client):
    campaign = campaign_with_offer(records=2)
    first = RecordOffer.objects.get().record_id

    answer = client.post(f"{PREVIEW}/skip", {"reason": "Called yesterday."})
    tick(campaign)
    second = RecordOffer.objects.get(ended_at=None).record_id
    client.post(f"{PREVIEW}/skip", {})
    tick(campaign)

    assert answer.status_code == 204
    assert first != second
    assert state() == "free"
    assert RecordOffer.objects.order_by("id").values_list("end", "reason")[0] == ("skipped", "Called yesterday.")
    assert not Record.objects.exclude(leased_by="").exists()
    add_agent(campaign, "agent2", "102")
    tick(campaign)
    assert RecordOffer.objects.get(ended_at=None).agent.login == "agent2"
    RecordOffer.objects.filter(agent__login="agent1").update(ended_at=timezone.now() - timedelta(minutes=61))
    tick(campaign)
    assert RecordOffer.objects.filter(ended_at=None).count() == 2


@pytest.mark.parametrize("way", ["free", "pause", "logout"])
def test_to_be_ready_to_pause_and_to_log_out_mean_to_skip(client, way):
    campaign_with_offer()
    body = {"pause_id": PauseFactory().pk} if way == "pause" else {}

    answer = client.post(f"/api/agents/agent1/{way}", body)

    assert answer.status_code == 204
    assert ends() == ["skipped"]
    assert not only_record().is_leased
    assert AgentState.objects.filter(ended_at=None, kind="preview").count() == 0


def test_a_call_to_an_agent_during_a_preview_ends_it(client):
    campaign = campaign_with_offer()
    agent = campaign.agents.get()

    with transaction.atomic():
        now = ledger.lock(agent.pk)
        assert now.state is not None
        ringing = State("ringing", connection_id=1).followed_by(now.state.resumption)
        ledger.change_state(now, now.instant(None), ringing)

    assert ends() == ["skipped"]
    assert AgentState.objects.get(ended_at=None).resumes_as == "free"


def test_an_offer_that_has_expired_is_neither_shown_nor_accepted_and_is_returned_by_the_timetable(client):
    campaign_with_offer()
    RecordOffer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert client.get(PREVIEW).status_code == 204
    refused = client.post(f"{PREVIEW}/accept")
    assert (refused.status_code, codes(refused)) == (409, [124005])
    tasks.sweep_calls()
    assert (ends(), state()) == (["expired"], "free")
    assert (only_record().system_status, only_record().leased_by) == ("TO_CALL", "")
    assert not Connection.objects.exists()


def test_an_offer_that_expires_is_called_if_the_campaign_says_so(client):
    campaign_with_offer(preview_end="dial")
    RecordOffer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert previews.sweep(timezone.now()) == 1

    assert (ends(), state()) == (["accepted"], "ringing")
    assert open_call().record_id == only_record().pk


def test_an_offer_that_cannot_be_ended_does_not_stop_the_others(client, monkeypatch, caplog):
    campaign_with_offer()
    RecordOffer.objects.update(expires_at=timezone.now())
    broken = RecordOfferFactory(expires_at=timezone.now() - timedelta(minutes=1), ended_at=None)
    end_over = previews._end_over

    def fail(agent_id, offer_id, now):
        if offer_id == broken.pk:
            raise ValueError("broken")
        return end_over(agent_id, offer_id, now)

    monkeypatch.setattr(previews, "_end_over", fail)

    assert previews.sweep(timezone.now()) == 1
    assert "an offer could not be ended" in caplog.text
    assert RecordOffer.objects.filter(ended_at=None).get() == broken


def test_without_an_offer_nothing_is_accepted_or_skipped(client):
    dialling_campaign(dialer="preview")

    accepted, skipped = client.post(f"{PREVIEW}/accept"), client.post(f"{PREVIEW}/skip", {})

    assert [(answer.status_code, codes(answer)) for answer in (accepted, skipped)] == [(409, [124005])] * 2


@pytest.mark.parametrize("is_of_all", [False, True])
def test_offers_are_withdrawn_once_the_dialling_is_paused(client, is_of_all):
    campaign = campaign_with_offer()

    if is_of_all:
        switch_dialling(ACTOR, is_running=False, reason="Storm")
        assert previews.sweep(timezone.now()) == 1
    else:
        pause_dialling(campaign, ACTOR)
        refused = client.post(f"{PREVIEW}/accept")
        assert (refused.status_code, codes(refused)) == (409, [124006])

    assert (ends(), state(), only_record().is_leased) == (["withdrawn"], "free", False)
    assert not Attempt.objects.exists()


def test_an_agents_own_record_is_offered_to_this_agent_only(client):
    campaign = dialling_campaign(agents=2, records=0, dialer="preview")
    agent = campaign.agents.get(login="agent2")
    past = timezone.now() - timedelta(minutes=1)
    RecordFactory(campaign=campaign, system_status="MY_RECORD", agent=agent, next_call_at=past)

    tick(campaign)

    assert RecordOffer.objects.get().agent == agent


def test_time_of_a_preview_is_neither_free_nor_talk_in_the_ledger(client):
    campaign = campaign_with_offer()
    agent = campaign.agents.get()
    presence.log_out(agent, ACTOR)

    kinds = list(AgentState.objects.order_by("started_at", "id").values_list("kind", flat=True))

    assert kinds == ["free", "preview"]
    assert not AgentState.objects.filter(ended_at=None).exists()


def settled_without_result(campaign: Campaign) -> None:
    """Let a person be called and answer, and the wrap-up end without a result."""
    hang_up(talking(campaign), Leg.Role.CUSTOMER)
    outcomes.settle_due(timezone.now() + timedelta(hours=1))


def of_completed(campaign: Campaign) -> RecordStatus:
    return campaign.statuses.create(name="Over", system_status="NO_CALL", order=1)


@pytest.mark.parametrize("system_status", ["CALL_NO_SOONER_THAN", "TO_CALL", "MY_RECORD", "IN_PROGRESS"])
def test_a_status_contacted_that_calls_again_is_not_given_without_a_result(system_status):
    campaign = dialling_campaign()
    over = of_completed(campaign)
    campaign.statuses.filter(name="Contacted").update(system_status=system_status)

    settled_without_result(campaign)

    record = only_record()
    assert (record.status, record.system_status, record.is_leased) == (over, "NO_CALL", False)
    assert only_attempt().settled_at


def test_contacted_is_given_before_other_statuses():
    campaign = dialling_campaign()
    of_completed(campaign)

    settled_without_result(campaign)

    assert only_record().status == campaign.statuses.get(name="Contacted")


def test_the_end_without_a_result_says_neither_success_nor_wrong_number():
    campaign = dialling_campaign()
    campaign.statuses.filter(name="Contacted").delete()
    campaign.statuses.filter(name="Do not call").update(is_success=True)
    over = campaign.statuses.create(name="Over", system_status="NO_CALL", order=1000)

    settled_without_result(campaign)

    assert only_record().status == over


def test_a_campaign_without_a_status_of_completed_records_gives_none():
    campaign = dialling_campaign()
    campaign.statuses.filter(system_status="NO_CALL").delete()

    settled_without_result(campaign)

    record = only_record()
    assert (record.status, record.system_status, record.is_leased) == (None, "NO_CALL", False)


def test_a_record_returns_to_its_system_status_though_its_status_has_another_now():
    campaign = dialling_campaign()
    earlier = campaign.statuses.create(name="New", system_status="TO_CALL")
    record = only_record()
    record.status = earlier
    record.save(update_fields=["status"])
    tick(campaign)
    # No record uses the status during the call, so that the admin may change it.
    RecordStatus.objects.filter(pk=earlier.pk).update(system_status="CALL_NO_SOONER_THAN")

    hang_up(open_call(), Leg.Role.AGENT, 19)

    record = only_record()
    assert only_attempt().outcome == "not_dialled"
    assert (record.system_status, record.is_leased) == ("TO_CALL", False)
    assert record.status
    assert record.status.system_status == "TO_CALL"


def test_a_kept_result_does_not_leave_the_record_in_progress():
    campaign = dialling_campaign()
    sold = campaign.statuses.create(name="Sold", system_status="NO_CALL")
    call = talking(campaign)
    give_result(call, ACTOR, status_id=sold.pk)
    RecordStatus.objects.filter(pk=sold.pk).update(system_status="IN_PROGRESS")

    hang_up(call, Leg.Role.CUSTOMER)

    assert only_record().system_status == "NO_CALL"


def test_a_result_that_was_given_before_a_call_that_did_not_happen_is_written():
    campaign = dialling_campaign()
    tick(campaign)
    call = open_call()
    status = campaign.statuses.get(name="Do not call")
    give_result(call, ACTOR, status_id=status.pk, last_note="A competitor.")

    hang_up(call, Leg.Role.AGENT, 19)

    record = only_record()
    assert (only_attempt().outcome, record.status, record.last_note) == ("not_dialled", status, "A competitor.")
