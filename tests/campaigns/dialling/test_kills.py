"""Diallers and listeners that are killed, with a stand-in of Asterisk: each number is called once for each attempt."""

import signal
from collections.abc import Generator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from callcentre.launch.embedded import Stores
from campaigns.dialling.ownership import HOLDERS
from campaigns.models import Attempt, Campaign, Record
from telephony.models import Connection, Leg
from tests.campaigns.dialling.calls import add_agent
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.pristine import Pristine
from tests.processes import wait_for, wait_until
from tests.telephony.processes import Service, in_state
from tests.telephony.switch.ari_channels import Refused
from tests.telephony.switch.ari_server import ari_server

RECORDS = 6


class Dialling(Service):
    """Listeners and diallers that are processes, and an Asterisk whose phones are picked up."""

    def dialler(self, name: str = "dialler", **more: str) -> AbstractContextManager["Popen[bytes]"]:
        process: AbstractContextManager[Popen[bytes]] = self._running(
            name, "tests.campaigns.dialling.dialler_process", **more
        )
        return process

    def talk_to_the_end(self, campaign: Campaign) -> None:
        """Let customers hang up until all records are called."""

        def is_done() -> bool:
            for pk in Connection.objects.filter(state="talking").values_list("pk", flat=True):
                with suppress(Refused):  # gone already, which the listener has not heard yet
                    self.hang_up(2, [pk])
            return not campaign.records.exclude(system_status="NO_CALL").exists()

        wait_for(is_done, "all records are called")


@pytest.fixture
def service(stores: Stores, pristine_stores: Pristine, tmp_path: Path) -> Generator[Dialling]:
    (tmp_path / "run").mkdir()
    pristine_stores.restore()
    with ari_server(pick_up=0.3) as ari:
        yield Dialling(stores, tmp_path, ari)


@pytest.fixture
def campaign(service: Dialling) -> Campaign:
    campaign: Campaign = CampaignFactory(is_dialling=True, wrap_up_seconds=0)
    for number in range(3):
        add_agent(campaign, f"agent{number}", str(200 + number))
    for number in range(RECORDS):
        RecordFactory(campaign=campaign, phone_number=f"+48600100{201 + number}")
    return campaign


def kill(victim: "Popen[bytes]") -> None:
    victim.send_signal(signal.SIGKILL)
    victim.wait()


def assert_called_once_for_each_attempt(service: Dialling, campaign: Campaign) -> None:
    """No record is in progress or held, no number was called twice for an attempt, and the counts are exact."""
    wait_for(lambda: not Leg.objects.filter(ended_at=None).exists(), "all legs ended")
    assert set(campaign.records.values_list("system_status", "leased_by")) == {("NO_CALL", "")}
    attempts = list(Attempt.objects.exclude(outcome="not_dialled"))
    assert sorted(attempt.record_id for attempt in attempts) == sorted(campaign.records.values_list("pk", flat=True))
    assert {attempt.outcome for attempt in attempts} == {"answered"}
    assert not Attempt.objects.filter(ended_at=None).exists()
    assert not Attempt.objects.filter(settled_at=None, outcome="answered").exists()
    assert set(service.asked.values()) == {1}
    customers = Leg.objects.filter(role="customer").values_list("connection_id", flat=True)
    assert sorted(customers) == sorted(attempt.connection_id for attempt in attempts)
    day = campaign.dialling_days.get()
    assert (day.day, day.attempts, day.live_answers) == (timezone.localdate(), RECORDS, RECORDS)


@pytest.mark.parametrize(
    ("step", "not_dialled"),
    [
        pytest.param("reserved", 0, id="after the reservation"),
        pytest.param("written", 0, id="before the commit of the dial"),
        pytest.param("committed", 1, id="after the commit, before the switch is asked"),
        pytest.param("asked", 0, id="after the switch was asked"),
    ],
)
def test_a_dialler_that_is_killed_at_a_step_calls_no_number_twice(
    service: Dialling, campaign: Campaign, step: str, not_dialled: int
) -> None:
    with service.listener(), service.dialler("victim", DIES=step) as victim:
        assert victim.wait(60) == -signal.SIGKILL
        with service.dialler():
            service.talk_to_the_end(campaign)

            assert_called_once_for_each_attempt(service, campaign)
    assert Attempt.objects.filter(outcome="not_dialled").count() == not_dialled


def test_a_listener_that_is_killed_during_calls_continues_them(service: Dialling, campaign: Campaign) -> None:
    def talking() -> list[int]:
        return list(Connection.objects.filter(state="talking").values_list("pk", flat=True))

    with service.listener() as victim, service.dialler():
        wait_for(lambda: len(talking()) == 3, "all agents talk")
        kill(victim)
        # Nothing hears that these two have hung up.
        service.hang_up(2, talking()[:2])
        with service.listener():
            service.talk_to_the_end(campaign)

            assert_called_once_for_each_attempt(service, campaign)


def test_a_second_dialler_takes_over_from_one_that_is_killed(service: Dialling, campaign: Campaign) -> None:
    def holders() -> int:
        with connection.cursor() as cursor:
            cursor.execute(HOLDERS)
            return sum(key == campaign.pk for key, _seconds in cursor.fetchall())

    def owner() -> Any:
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
