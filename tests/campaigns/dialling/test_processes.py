"""Predictive dialling by processes: listener and dialler, on the stand-in of Asterisk, with all its traps."""

import subprocess
from contextlib import ExitStack
from datetime import timedelta

import pytest
import redis
from django.db import connection
from django.utils import timezone

from campaigns.dialling.ownership import HOLDERS
from campaigns.models import Attempt, Campaign, DiallingDay, DiallingSwitch, Record
from campaigns.verbs.dialling import switch_dialling
from telephony.leader_election import is_connected
from telephony.models import AgentLine, AgentState, Connection
from tests.campaigns.dialling.calls import dialling_campaign
from tests.conftest import ACTOR
from tests.processes import environment, running, wait_for
from tests.telephony.processes import Service
from tests.telephony.switch import ari_media
from tests.telephony.switch.ari_server import PASSWORD, USER, ari_server


@pytest.fixture
def service(stores, pristine_stores, tmp_path):
    (tmp_path / "run").mkdir()
    pristine_stores.restore()
    with redis.Redis.from_url(stores.environment["REDIS_URL"]) as broker:
        broker.flushdb()
    with ari_server(pick_up=0.3, talk=0.5, copies=2) as ari:
        yield Service(stores, tmp_path, ari)


def predictive(agents: int, records: int) -> Campaign:
    """Return a campaign with agents who should have lines, on a day on which the law allows over-dialling."""
    campaign = dialling_campaign(agents=agents, records=records, dialer="predictive", wrap_up_seconds=1)
    for position, agent in enumerate(campaign.agents.order_by("id")):
        agent.number, agent.has_line = str(200 + position), True
        agent.save(update_fields=["number", "has_line"])
    for position, record in enumerate(Record.objects.order_by("id")):
        record.phone_number = record.number = f"+486001{position:02}200"
        record.save(update_fields=["phone_number", "number"])
    DiallingDay.objects.create(campaign=campaign, day=timezone.localdate(), live_answers=400, drops=0)
    return campaign


def start(service: Service, context: ExitStack) -> "subprocess.Popen[bytes]":
    """Start a listener and a dialler. Return the listener."""
    listener: subprocess.Popen[bytes] = context.enter_context(service.listener())
    wait_for(is_connected, "the switch is heard")
    ari = {"ARI_URL": service.ari.url, "ARI_USER": USER, "ARI_PASSWORD": PASSWORD, "SWITCH_BACKEND": "asterisk"}
    variables = environment(service.folder, REDIS_URL=service.stores.environment["REDIS_URL"], **ari)
    context.enter_context(running(["manage", "run_dialer"], variables, service.folder / "dialler.log"))
    return listener


@pytest.mark.trial
def test_all_records_are_called_once_and_joined_with_lines(service):
    predictive(agents=6, records=20)
    with ExitStack() as context:
        start(service, context)
        wait_for(lambda: Attempt.objects.filter(ended_at__isnull=False).count() == 20, "all were called")
        wait_for(lambda: not Record.objects.filter(system_status="IN_PROGRESS").exists(), "all are settled")
        wait_for(lambda: not Connection.objects.open().exists(), "no call goes on")
        wait_for(lambda: not service.ari.pbx.bridges, "no bridge is left")

        assert set(service.asked.values()) == {1}
        assert ari_media.unheard(service.ari.pbx) == []
        wait_for(lambda: not ari_media.without_packets(service.ari.pbx), "all lines hear silence")
        assert AgentLine.objects.filter(state="up", ended_at=None).count() == 6
        assert Attempt.objects.filter(outcome__in=("answered", "dropped")).count() == 20
        answered = Attempt.objects.filter(outcome="answered", mode="predictive")
        assert answered.count() > 10
        assert not answered.filter(joined_at=None).exists()
        wait_for(lambda: set(_states()) <= {"free"}, "all agents are ready")


def _states() -> list[str]:
    return list(AgentState.objects.filter(ended_at=None).values_list("kind", flat=True))


@pytest.mark.trial
def test_a_listener_that_is_killed_leaves_lines_that_the_next_one_uses(service):
    predictive(agents=5, records=30)
    with ExitStack() as context:
        victim = start(service, context)
        wait_for(lambda: Attempt.objects.filter(joined_at__isnull=False).count() > 5, "some were joined")
        victim.kill()
        victim.wait()
        context.enter_context(service.listener())
        wait_for(lambda: Attempt.objects.filter(ended_at__isnull=False).count() == 30, "all were called")

        wait_for(lambda: not Connection.objects.open().exists(), "no call goes on")
        assert AgentLine.objects.filter(state="up", ended_at=None).count() == AgentLine.objects.count() == 5
        assert set(service.asked.values()) == {1}
        assert ari_media.unheard(service.ari.pbx) == []
        wait_for(lambda: not ari_media.without_packets(service.ari.pbx), "all lines hear silence")
        wait_for(lambda: not Record.objects.filter(system_status="IN_PROGRESS").exists(), "all are settled")


@pytest.mark.trial
def test_a_running_dialler_obeys_the_switch_of_all_dialling(service):
    campaign = predictive(agents=5, records=90)
    with ExitStack() as context:
        start(service, context)
        wait_for(lambda: Attempt.objects.count() > 5, "calls are placed")
        switch_dialling(ACTOR, is_running=False, reason="Fire drill")
        off = DiallingSwitch.objects.of_all()[0]
        # A dialler that has read the switch gives its campaigns back.
        wait_for(lambda: campaign.pk not in _owned(), "no dialler has the campaign")
        placed = Attempt.objects.count()
        wait_for(lambda: not Connection.objects.open().exists(), "all calls have ended")
        placed_afterwards = Attempt.objects.count() - placed
        late = Attempt.objects.filter(dialled_at__gt=off.at + timedelta(seconds=1)).count()
        switch_dialling(ACTOR, is_running=True)
        wait_for(lambda: Attempt.objects.count() > placed, "calls are placed again")

    assert (placed_afterwards, late) == (0, 0)
    assert (off.reason, off.actor_name) == ("Fire drill", ACTOR.name)
    assert placed < 90


def _owned() -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(HOLDERS)
        return {key for key, _seconds in cursor.fetchall()}
