"""Diallers and listeners that are killed, with a stand-in of Asterisk: each number is called once for each attempt."""

import signal

import pytest
from django.db import connection

from campaigns.dialling.ownership import HOLDERS
from campaigns.models import Attempt, Campaign, Record
from telephony.models import Connection
from tests.campaigns.dialling.calls import add_agent
from tests.campaigns.dialling.processes import Dialling, assert_settled, kill, unsettled
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.processes import wait_for, wait_until
from tests.telephony.processes import in_state
from tests.telephony.switch.ari_server import ari_server

RECORDS = 6


@pytest.fixture
def service(stores, pristine_stores, tmp_path):
    (tmp_path / "run").mkdir()
    pristine_stores.restore()
    with ari_server(pick_up=0.3) as ari:
        yield Dialling(stores, tmp_path, ari)


@pytest.fixture
def campaign(service):
    campaign: Campaign = CampaignFactory(is_dialling=True, wrap_up_seconds=0)
    for number in range(3):
        add_agent(campaign, f"agent{number}", str(200 + number))
    for number in range(RECORDS):
        RecordFactory(campaign=campaign, phone_number=f"+48600100{201 + number}")
    return campaign


@pytest.fixture
def predictive(campaign):
    """The campaign calls ahead, for agents who get standing lines."""
    campaign.dialer = Campaign.Dialer.PREDICTIVE
    campaign.save(update_fields=["dialer"])
    campaign.agents.update(has_line=True)
    return campaign


def assert_called_once_for_each_attempt(service: Dialling, campaign: Campaign) -> None:
    """Each record had one call, which was answered."""
    assert_settled(campaign, service.asked)
    assert set(campaign.records.values_list("system_status", flat=True)) == {"NO_CALL"}
    attempts = list(Attempt.objects.exclude(outcome="not_dialled"))
    assert sorted(attempt.record_id for attempt in attempts) == sorted(campaign.records.values_list("pk", flat=True))
    assert {attempt.outcome for attempt in attempts} == {"answered"}


@pytest.mark.trial
@pytest.mark.parametrize(
    ("step", "not_dialled"),
    # After the reservation, before the commit of the dial, before the switch is asked, and after it.
    [("reserved", 0), ("written", 0), ("committed", 1), ("asked", 0)],
)
def test_a_dialler_that_is_killed_at_a_step_calls_no_number_twice(service, campaign, step, not_dialled):
    with service.listener(), service.dialler("victim", DIES=step) as victim:
        assert victim.wait(60) == -signal.SIGKILL
        with service.dialler():
            service.talk_to_the_end(campaign)

            assert_called_once_for_each_attempt(service, campaign)
    assert Attempt.objects.filter(outcome="not_dialled").count() == not_dialled


@pytest.mark.trial
@pytest.mark.parametrize(
    ("step", "failed"), [("reserved ahead", 0), ("written", 0), ("committed ahead", 1), ("asked ahead", 0)]
)
def test_a_dialler_that_is_killed_while_it_calls_ahead_calls_no_number_twice(service, predictive, step, failed):
    with service.listener(), service.dialler("victim", DIES=step) as victim:
        assert victim.wait(60) == -signal.SIGKILL
        with service.dialler():
            service.talk_to_the_end(predictive)

            assert_settled(predictive, service.asked)
    # The number that the switch was not asked for counts as called, as nobody knows this.
    assert Attempt.objects.filter(outcome="failed").count() == failed
    assert Attempt.objects.count() == RECORDS


@pytest.mark.trial
@pytest.mark.parametrize("step", ["ringing", "answered", "matched", "joined", "ending", "ended"])
def test_a_listener_that_is_killed_at_a_step_leaves_nothing_open(service, predictive, step):
    with service.dying_listener(step) as victim, service.dialler():
        service.talk_until(lambda: victim.poll() is not None, "the listener dies")
        with service.listener():
            service.talk_to_the_end(predictive)

            assert_settled(predictive, service.asked)
    assert victim.returncode == -signal.SIGKILL
    # A phone that is picked up while no listener is connected is hung up by Asterisk.
    assert set(Attempt.objects.values_list("outcome", flat=True)) <= {"answered", "failed", "no_answer", "dropped"}


@pytest.mark.trial
def test_a_switch_that_is_killed_ends_its_calls_and_the_dialling_goes_on(service, predictive):
    with service.listener(), service.dialler():
        wait_for(lambda: Connection.objects.filter(state="talking").count() > 1, "some talk")
        service.kill_switch()
        service.ari.start()
        service.talk_to_the_end(predictive)

        assert_settled(predictive, service.asked)


@pytest.mark.trial
def test_a_simulated_switch_that_is_killed_with_its_listener_leaves_nothing_open(service, predictive):
    for position, record in enumerate(predictive.records.order_by("id")):
        record.phone_number = record.number = f"+4860010{position:02}200"
        record.save(update_fields=["phone_number", "number"])
    backend = {"SWITCH_BACKEND": "simulated"}
    with service.listener(**backend) as victim, service.dialler(**backend):
        wait_for(lambda: Connection.objects.filter(state="talking").exists(), "one talks")
        kill(victim)
        with service.listener(**backend):
            wait_for(lambda: not unsettled(predictive), "all records are called")

            assert_settled(predictive)


@pytest.mark.trial
def test_a_listener_that_is_killed_during_calls_continues_them(service, campaign):
    def talking():
        return list(Connection.objects.filter(state="talking").values_list("pk", flat=True))

    with service.listener() as victim, service.dialler():
        wait_for(lambda: len(talking()) == 3, "all agents talk")
        kill(victim)
        # Nothing hears that these two have hung up.
        service.hang_up(2, talking()[:2])
        with service.listener():
            service.talk_to_the_end(campaign)

            assert_called_once_for_each_attempt(service, campaign)


@pytest.mark.trial
def test_a_second_dialler_takes_over_from_one_that_is_killed(service, campaign):
    def holders():
        with connection.cursor() as cursor:
            cursor.execute(HOLDERS)
            return sum(key == campaign.pk for key, _seconds in cursor.fetchall())

    def owner():
        return Campaign.objects.values_list("dialler_state__owner", flat=True).get()

    with service.listener(), service.dialler("first") as first:
        wait_for(lambda: in_state("talking", list(Connection.objects.values_list("pk", flat=True))), "the first dials")
        with service.dialler("second"):
            before = owner()
            kill(first)
            wait_for(lambda: owner() != before, "the second has the campaign")
            assert wait_until(lambda: holders() == 1)
            service.talk_to_the_end(campaign)

            assert_called_once_for_each_attempt(service, campaign)
    assert Record.objects.count() == RECORDS
