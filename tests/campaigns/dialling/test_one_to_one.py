"""Calls of a campaign whose agents have no standing line: the agent's phone rings first."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.dialling import outcomes
from campaigns.models import Attempt, DiallingDay, Record
from telephony.models import AgentState, Connection, Leg
from tests.campaigns.dialling.calls import (
    counts_of_day,
    dialling_campaign,
    hang_up,
    only_attempt,
    only_record,
    open_call,
    pick_up,
    ring,
    talking,
    tick,
    unanswered_call,
)
from tests.campaigns.factories import RecordFactory
from webhooks.models import Event


def test_one_call_is_placed_for_each_free_agent(switch):
    campaign = dialling_campaign(agents=2, records=3)

    tick(campaign)
    tick(campaign)

    assert [command[0] for command in switch.told] == ["call_agent", "call_agent"]
    assert Record.objects.filter(system_status="IN_PROGRESS").count() == 2
    assert set(AgentState.objects.filter(ended_at=None).values_list("kind", flat=True)) == {"ringing"}


def test_a_dial_writes_call_attempt_history_and_event(switch):
    campaign = dialling_campaign(caller_id="+48225550100")
    record = only_record()

    tick(campaign)

    call, attempt = open_call(), only_attempt()
    record.refresh_from_db()
    assert (call.campaign_id, call.campaign_code, call.record_id) == (campaign.pk, campaign.code, record.pk)
    assert call.caller_id == "+48225550100"
    assert (attempt.record_id, attempt.connection_uid, attempt.outcome) == (record.pk, call.uid, "")
    assert (record.leased_by, record.leased_until, record.is_leased) == (f"call:{call.pk}", None, True)
    assert record.called_at == attempt.dialled_at
    change = record.history.get()
    assert (change.action, change.actor_kind, change.to_system_status) == ("dial", "dialler", "IN_PROGRESS")
    types = list(Event.objects.order_by("id").values_list("action", flat=True))
    assert types[-3:] == ["CONNECTION_STARTED", "AGENT_RINGING", "OUTBOUND_RECORD_STATUS_CHANGED"]


def states() -> list[tuple[str, int | None]]:
    return list(AgentState.objects.order_by("id").values_list("kind", "connection_id"))


def test_an_agent_is_ringing_from_the_dial_until_the_answer(switch):
    tick(dialling_campaign())
    call = open_call()
    pick_up(call, Leg.Role.AGENT)
    ring(call, Leg.Role.CUSTOMER)
    assert states() == [("free", None), ("ringing", call.pk)]

    pick_up(call, Leg.Role.CUSTOMER)
    assert states()[2:] == [("talking", call.pk)]

    hang_up(call, Leg.Role.CUSTOMER)
    assert states()[3:] == [("wrap_up", call.pk)]


def test_a_record_is_held_until_its_call_is_settled(switch):
    hang_up(talking(dialling_campaign(wrap_up_seconds=30)), Leg.Role.CUSTOMER)
    now = timezone.now()

    assert outcomes.settle_due(now + timedelta(seconds=28)) == 0
    assert only_record().is_leased
    assert outcomes.settle_due(now + timedelta(seconds=31)) == 1

    record = only_record()
    assert (record.system_status, record.status and record.status.name) == ("NO_CALL", "Contacted")
    assert not record.is_leased
    assert record.history.latest("id").action == "no_result"
    assert only_attempt().outcome == Attempt.Outcome.ANSWERED
    assert AgentState.objects.get(ended_at=None).kind == "wrap_up"


@pytest.mark.parametrize(
    ("cause", "outcome"), [(17, "busy"), (19, "no_answer"), (18, "no_answer"), (1, "failed"), (38, "failed")]
)
def test_a_number_without_an_answer_is_called_again(switch, cause, outcome):
    tick(dialling_campaign())

    unanswered_call(open_call(), cause)

    record = only_record()
    assert only_attempt().outcome == outcome
    # The agent was never talking.
    assert [kind for kind, _ in states()] == ["free", "ringing", "free"]
    assert (record.system_status, record.is_leased) == ("CALL_NO_SOONER_THAN", False)
    assert record.next_call_at is not None
    assert record.next_call_at > timezone.now()
    assert record.history.latest("id").action == outcome
    assert counts_of_day() == (1, 0, 0)


def test_a_record_is_given_up_after_its_attempts(switch, settings):
    settings.DIAL_ATTEMPTS_PER_RECORD = 2
    campaign = dialling_campaign()
    for _ in range(2):
        tick(campaign)
        unanswered_call(open_call(), 17)
        Record.objects.filter(system_status="CALL_NO_SOONER_THAN").update(next_call_at=timezone.now())

    tick(campaign)

    assert only_record().system_status == "ABANDONED_AFTER_N_TRIES"
    assert Attempt.objects.count() == 2


def test_the_attempts_of_a_day_are_limited(switch, settings):
    settings.DIAL_ATTEMPTS_PER_DAY = 1
    tick(dialling_campaign())

    unanswered_call(open_call(), 17)

    next_call = only_record().next_call_at
    assert next_call is not None
    assert timezone.localdate(next_call) > timezone.localdate()


def test_an_agent_who_does_not_pick_up_costs_the_record_no_attempt(switch):
    tick(dialling_campaign())

    hang_up(open_call(), Leg.Role.AGENT, 19)

    record = only_record()
    assert only_attempt().outcome == Attempt.Outcome.NOT_DIALLED
    assert (record.system_status, record.is_leased, record.called_at) == ("TO_CALL", False, None)
    assert not DiallingDay.objects.exists()


def test_a_record_that_was_deleted_during_its_call_leaves_the_attempt(switch):
    tick(dialling_campaign())
    call = open_call()
    pick_up(call, Leg.Role.AGENT)
    Record.objects.all().delete()

    hang_up(call, Leg.Role.CUSTOMER, 17)

    assert only_attempt().outcome == Attempt.Outcome.BUSY


@pytest.mark.parametrize("values", [{"is_active": False}, {"outbound_mode": False}, {"number": ""}])
def test_agents_who_take_no_outbound_calls_get_none(switch, values):
    campaign = dialling_campaign()
    campaign.agents.update(**values)

    tick(campaign)

    assert not Connection.objects.exists()


def test_a_record_that_is_edited_after_its_reservation_is_not_called_twice(switch):
    campaign = dialling_campaign(agents=1, records=0)
    RecordFactory(campaign=campaign, in_live_call=True)

    tick(campaign)

    assert not Connection.objects.exists()


def test_a_person_who_picks_up_after_the_agent_has_hung_up_is_dropped_once(switch):
    tick(dialling_campaign())
    call = open_call()
    pick_up(call, Leg.Role.AGENT)
    ring(call, Leg.Role.CUSTOMER)
    hang_up(call, Leg.Role.AGENT)
    # The request to hang up has not reached the phone yet.
    pick_up(call, Leg.Role.CUSTOMER)
    pick_up(call, Leg.Role.CUSTOMER)
    hang_up(call, Leg.Role.CUSTOMER)

    assert counts_of_day() == (1, 1, 1)
    assert (only_attempt().outcome, only_attempt().joined_at) == ("dropped", None)
    assert only_record().system_status != "NO_CALL"
    assert Event.objects.filter(action="RECORD_DROPPED").count() == 1
