"""A trunk that carries no calls: it is told from bad numbers, uses no attempts, and is tried by one call at a time."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from campaigns.dialling import outcomes, trunk
from campaigns.models import Attempt, Campaign, DiallerState, DiallingDay, Record, TrunkFailure
from telephony.calls import switch_events
from telephony.models import Connection, Leg
from telephony.switch.base import SwitchError
from tests.campaigns.dialling.calls import add_agent, dialling_campaign, hang_up, pick_up, predictive, ring, tick

CONGESTION, REJECTED = 34, 21


@pytest.fixture(autouse=True)
def real_switch(settings):
    """The simulated switch has no trunk."""
    settings.SWITCH_BACKEND = "asterisk"


def calling_campaign(**values: Any) -> Campaign:
    """Return a campaign whose calls begin with the number, one at a time."""
    return predictive(records=10, **values)


def other_campaign() -> Campaign:
    campaign = dialling_campaign(agents=0, records=3)
    add_agent(campaign, "other", "201")
    return campaign


def call(
    campaign: Campaign, cause: int | None = CONGESTION, tech_cause: str = "", *, rings: bool = False
) -> Connection | None:
    """Let the dialler place a call and the number end it. Return the call, if there was one."""
    tick(campaign)
    connection = Connection.objects.open().filter(campaign_code=campaign.code).first()
    if connection is None:
        return None
    if rings:
        ring(connection, Leg.Role.CUSTOMER)
    if cause is not None:
        hang_up(connection, Leg.Role.CUSTOMER, cause, tech_cause)
    return connection


def pass_time(seconds: float) -> None:
    TrunkFailure.objects.update(try_at=F("try_at") - timedelta(seconds=seconds))


def settled() -> tuple[set[str], set[tuple[Any, ...]], int]:
    """Return the outcomes, the states of the records, and the attempts of the day, once all is settled."""
    outcomes.settle_due(timezone.now())
    states = Record.objects.values_list("system_status", "next_call_at", "called_at")
    days = sum(DiallingDay.objects.values_list("attempts", flat=True))
    return set(Attempt.objects.values_list("outcome", flat=True)), set(states), days


def code(campaign: Campaign) -> str:
    tick(campaign)
    return DiallerState.objects.get(campaign=campaign).code


@pytest.mark.parametrize("causes", [(34, 38, 27), (3, 19, 18), (102, 34, 34), ("403", "401", "403")])
def test_three_failures_in_a_row_are_the_trunks(switch, causes):
    campaign, other = calling_campaign(), other_campaign()

    for cause in causes:
        values: list[Any] = [cause] if isinstance(cause, int) else [REJECTED, cause]
        call(campaign, *values)

    assert settled() == ({"not_dialled"}, {("TO_CALL", None, None)}, 0)
    assert (code(campaign), code(other)) == ("trunk_failed", "trunk_failed")
    assert Connection.objects.count() == 3


@pytest.mark.parametrize("between", [{"rings": True}, {"cause": 17}, {"cause": REJECTED, "tech_cause": "603"}])
def test_failures_that_are_not_in_a_row_are_the_numbers(switch, between):
    campaign = calling_campaign()

    for _ in range(2):
        call(campaign)
    call(campaign, **between)
    for _ in range(2):
        call(campaign)

    assert not TrunkFailure.objects.exists()
    assert Attempt.objects.filter(outcome="failed").count() >= 4
    assert Record.objects.filter(system_status="CALL_NO_SOONER_THAN").count() == 5


def test_a_number_that_fails_again_and_again_is_one_number(switch):
    campaign = calling_campaign()
    Record.objects.exclude(pk=Record.objects.earliest("id").pk).delete()
    for _ in range(4):
        call(campaign)
        Record.objects.update(system_status="CALL", next_call_at=None)

    assert not TrunkFailure.objects.exists()


def test_refused_calls_count_in_the_row(switch):
    campaign = calling_campaign()
    switch.refusals["call_number"] = SwitchError("Asterisk answered 500: Allocation failed.")
    for _ in range(3):
        tick(campaign)
        for _, channel_id in switch_events.refused_legs():
            switch_events.end_refused(channel_id)
        Attempt.objects.update(ended_at=F("ended_at") - timedelta(seconds=11))

    assert TrunkFailure.objects.exists()


@pytest.mark.slow("runs a long scene")
def test_dead_numbers_fail_the_trunk_once(switch):
    campaign = calling_campaign()
    for _ in range(3):
        call(campaign)
    dead = set(Attempt.objects.values_list("record_id", flat=True))
    settled()
    held = set(Record.objects.filter(held_until__gt=timezone.now()).values_list("pk", flat=True))
    pass_time(11)
    call(campaign, 19, rings=True)
    trunk.recover(timezone.now())
    Record.objects.update(held_until=None)

    for _ in range(3):
        call(campaign)

    again = Attempt.objects.order_by("id")[4:]
    assert held == dead == {attempt.record_id for attempt in again}
    assert {attempt.outcome for attempt in again} == {"failed"}
    assert not TrunkFailure.objects.filter(ended_at=None).exists()


def test_a_record_that_was_changed_meanwhile_stays_as_it_is(switch):
    campaign = calling_campaign()
    call(campaign)
    changed = Record.objects.get(pk=Attempt.objects.get().record_id)
    changed.history.create(action="edit", actor_kind="user", from_system_status="CALL", to_system_status="CALL")

    for _ in range(2):
        call(campaign)
    settled()

    changed.refresh_from_db()
    assert changed.system_status == "CALL_NO_SOONER_THAN"
    assert Record.objects.filter(system_status="TO_CALL").count() == 9


@pytest.mark.slow("runs a long scene")
def test_one_call_at_a_time_tries_the_trunk_after_pauses_that_grow(switch):
    campaigns = [calling_campaign(), other_campaign()]
    for _ in range(3):
        call(campaigns[0])
    pauses = []
    for cause in (CONGESTION, 102, 127, 29, 41, REJECTED, 3):
        pauses.append(round((TrunkFailure.objects.get().try_at - timezone.now()).total_seconds()))
        assert call(campaigns[0]) is None
        pass_time(pauses[-1] + 1)
        trial = call(campaigns[0], None)
        assert trial is not None
        assert [call(one, None) for one in reversed(campaigns)] == [None, trial]
        hang_up(trial, Leg.Role.CUSTOMER, cause)

    assert pauses == [10, 20, 40, 80, 160, 300, 300]
    # Each trial has taken another record.
    assert len(set(Attempt.objects.values_list("number", flat=True))) >= 7
    assert settled()[0] == {"not_dialled"}


def all_but_one_fail(campaign: Campaign) -> Connection:
    """Let four calls be placed, and all but the first fail. Return the first."""
    late = call(campaign, None)
    assert late is not None
    for number in Connection.objects.open().exclude(pk=late.pk):
        hang_up(number, Leg.Role.CUSTOMER, CONGESTION)
    return late


def test_a_call_that_was_placed_in_the_moment_of_the_failure_lengthens_no_pause(switch):
    late = all_but_one_fail(calling_campaign(agents=4))
    # Its dialler did not see the failure, which was not committed yet.
    Attempt.objects.filter(connection_id=late.pk).update(dialled_at=timezone.now())
    hang_up(late, Leg.Role.CUSTOMER, CONGESTION)

    failure = TrunkFailure.objects.get()
    assert (failure.trials, failure.try_at - failure.began_at) == (0, trunk.FIRST_PAUSE)
    assert settled()[0] == {"not_dialled"}


def test_a_phone_that_rings_ends_the_failure(switch):
    campaign = calling_campaign(agents=4)
    late = all_but_one_fail(campaign)
    pass_time(11)
    tick(campaign)
    trial = Connection.objects.open().exclude(pk=late.pk).get()
    ring(trial, Leg.Role.CUSTOMER)

    recovered = trunk.recover(timezone.now())
    hang_up(late, Leg.Role.CUSTOMER, 18)
    hang_up(trial, Leg.Role.CUSTOMER, 19)

    # The call that began before the recovery has not used an attempt either.
    assert (recovered, Attempt.objects.get(connection_id=late.pk).outcome) == (1, "not_dialled")
    assert Attempt.objects.get(connection_id=trial.pk).outcome == "no_answer"
    assert code(campaign) != "trunk_failed"


def test_digits_of_the_simulated_switch_keep_their_outcomes(switch, settings):
    settings.SWITCH_BACKEND = "simulated"
    campaign = calling_campaign()

    for _ in range(4):
        call(campaign, 38)

    assert not TrunkFailure.objects.exists()
    assert set(Attempt.objects.values_list("outcome", flat=True)) == {"failed"}


def test_an_agent_whose_phone_rings_first_tries_the_trunk_alone(switch):
    campaign = dialling_campaign(agents=3, records=10)
    tick(campaign)
    for connection in Connection.objects.open():
        pick_up(connection, Leg.Role.AGENT)
        hang_up(connection, Leg.Role.CUSTOMER, CONGESTION)
    pass_time(11)

    for _ in range(3):
        tick(campaign)

    assert Connection.objects.open().count() == 1
