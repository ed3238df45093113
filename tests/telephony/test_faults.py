"""Faults that really happen: a listener, a worker, the switch, the broker, the database that are killed.

Whatever happens, no call goes on for ever, no agent stays in one, nothing is called or counted twice.
"""

import signal
import subprocess
from contextlib import ExitStack
from datetime import timedelta

import pytest
import redis
from django.db import connection as database
from django.utils import timezone

from telephony.causes import NO_CONNECTION
from telephony.leader_election import is_connected
from telephony.models import Agent, AgentLine, AgentState, Connection, Leg, Queue, SwitchContact
from tests.processes import enqueue_into, wait_for
from tests.telephony.callers import CALLER, HOTLINE
from tests.telephony.factories import QueueFactory
from tests.telephony.processes import (
    PLACE_LIMIT_SECONDS,
    Service,
    assert_over_and_counted_once,
    calls,
    in_state,
    some_agents,
)
from tests.telephony.switch.ari_server import ari_server

CALLS = 30


@pytest.fixture
def service(stores, pristine_stores, tmp_path, monkeypatch, settings):
    """An Asterisk whose phones are picked up after a moment, with every event twice, and no listener yet."""
    # On a busy machine, a process may need longer than a minute to start.
    settings.PLACE_LIMIT_SECONDS = PLACE_LIMIT_SECONDS
    monkeypatch.setattr("telephony.verbs.connections.enqueue", enqueue_into(stores))
    (tmp_path / "run").mkdir()
    pristine_stores.restore()
    # Tasks of killed workers must not reach the workers of another test.
    with redis.Redis.from_url(stores.environment["REDIS_URL"]) as broker:
        broker.flushdb()
    with ari_server(pick_up=0.3, copies=2) as ari:
        yield Service(stores, tmp_path, ari)


@pytest.fixture
def agents(service):
    return some_agents(CALLS)


def kill(victim: subprocess.Popen[bytes]) -> None:
    victim.send_signal(signal.SIGKILL)
    victim.wait()


@pytest.mark.trial
def test_a_listener_killed_during_thirty_calls_continues_them(service, agents):
    with ExitStack() as context:
        context.enter_context(service.worker())
        victim = context.enter_context(service.listener())
        pks = calls(agents)
        wait_for(lambda: in_state("talking", pks) > 3, "some talk")
        kill(victim)
        # The switch hangs up phones that are picked up now. Some parties hang up without an event.
        wait_for(lambda: all(line.state == "Up" for line in list(service.ari.pbx.lines.values())), "no more ringing")
        talking = list(Connection.objects.filter(state="talking").order_by("pk").values_list("pk", flat=True))
        service.hang_up(2, talking[:2])
        service.hang_up(1, talking[2:4])

        context.enter_context(service.listener())
        wait_for(lambda: in_state("talking", pks) + in_state("ended", pks) == CALLS, "none is left half-way")
        wait_for(lambda: in_state("ended", talking) == 4, "those who hung up are let go")
        wait_for(lambda: len(service.bridged()) == in_state("talking", pks), "the others hear each other")
        assert in_state("talking", talking[4:]) == len(talking) - 4
        service.hang_up(2, list(Connection.objects.filter(state="talking").values_list("pk", flat=True)))

        assert_over_and_counted_once(service, pks)
        assert set(Connection.objects.filter(pk__in=talking).values_list("disposition", flat=True)) == {"ANSWERED"}
        by = dict(Connection.objects.values_list("pk", "hung_up_by"))
        assert [by[pk] for pk in talking[:4]] == ["customer", "customer", "agent", "agent"]


@pytest.mark.trial
def test_events_that_a_broken_stream_has_lost_are_made_up_for(service, agents):
    with service.worker(), service.listener():
        pks = calls(agents)
        wait_for(lambda: in_state("talking", pks) == CALLS, "all talk")
        service.ari.cut()
        wait_for(lambda: service.count_in_log("disconnected from the switch"), "noticed")
        service.hang_up(2, pks[:10])
        service.hang_up(1, pks[5:15])
        # Requested without a connected listener: no phone rings before there is one.
        wait_for(lambda: not is_connected(), "told")
        others = calls(agents[:3])
        wait_for(service.has_worked, "the worker has looked")
        kept = in_state("queued", others)
        service.ari.mend()

        wait_for(lambda: in_state("ended", pks) == 15 and in_state("talking", others) == 3, "made up for")
        assert in_state("talking", pks[15:]) == 15
        service.hang_up(1, [*pks[15:], *others])

        assert_over_and_counted_once(service, [*pks, *others])
        assert set(Connection.objects.filter(pk__in=pks).values_list("disposition", flat=True)) == {"ANSWERED"}
        assert kept == 3
        assert set(Connection.objects.filter(pk__in=others).values_list("disposition", flat=True)) == {"ANSWERED"}
        by = dict(Connection.objects.values_list("pk", "hung_up_by"))
        assert [by[pk] for pk in pks[:15]] == ["customer"] * 5 + ["system"] * 5 + ["agent"] * 5


@pytest.mark.trial
def test_a_switch_that_is_killed_takes_its_calls_with_it(service, agents):
    with service.worker(), service.listener():
        pks = calls(agents)
        # A call for which a phone is asked for after the restart would go on.
        first_legs = {f"callcentre-{pk}-1" for pk in pks}
        wait_for(lambda: first_legs <= service.asked.keys(), "the switch has been asked for all phones")
        wait_for(lambda: in_state("talking", pks) > 10, "some talk")
        service.kill_switch()
        service.ari.start()
        wait_for(lambda: in_state("ended", pks) == CALLS, "all ended")

        again = calls(agents)
        wait_for(lambda: in_state("talking", again) == CALLS, "all talk again")
        service.hang_up(2, again)

        assert_over_and_counted_once(service, [*pks, *again])
        assert set(Connection.objects.filter(pk__in=pks).values_list("hung_up_by", flat=True)) <= {"system", "agent"}


@pytest.mark.trial
def test_the_second_of_two_listeners_replaces_the_leader(service, agents):
    with service.worker(), service.listener() as first:
        wait_for(lambda: service.count_in_log('"leading"') == 1, "one leads")
        with service.listener():
            pks = calls(agents)
            wait_for(lambda: in_state("talking", pks) == CALLS, "all talk")
            led = service.count_in_log('"leading"')
            kill(first)
            wait_for(lambda: service.count_in_log("connected to the switch") == 2, "the second takes over")
            service.hang_up(2, pks)

            assert_over_and_counted_once(service, pks)
            assert led == 1


@pytest.mark.trial
def test_callers_during_a_kill_of_the_listener_are_stored_by_the_standby(service, agents):
    queue = QueueFactory(number=HOTLINE)
    with service.listener() as first:
        wait_for(lambda: service.count_in_log("connected to the switch") == 1, "the first hears")
        with service.listener():
            pbx = service.ari.pbx
            # This caller is not answered: the first listener is killed before.
            first.send_signal(signal.SIGSTOP)
            unheard = pbx.call_in_loop(CALLER, HOTLINE)
            kill(first)
            wait_for(lambda: not pbx.is_connected("callcentre"), "nobody listens")
            with pbx.lock:
                pbx.far_end_hangs_up(unheard.id)
                impatient = pbx.call_in_loop("+48225550108", HOTLINE)
                patient = pbx.call_in_loop("+48225550109", HOTLINE, wait=0.05)
                pbx.far_end_hangs_up(impatient.id)
            rows = Connection.objects.filter(queue=queue)
            wait_for(lambda: rows.count() == 3, "all three have rows")
            wait_for(lambda: pbx.lines[patient.id].music, "the patient one hears music")

            missed = rows.filter(cause_text=NO_CONNECTION)
            assert set(missed.values_list("legs__channel_id", flat=True)) == {unheard.id, impatient.id}
            assert set(missed.values_list("disposition", "hung_up_by")) == {("NO ANSWER", "customer")}
            assert rows.get(legs__channel_id=patient.id).state == "waiting"
            wait_for(lambda: not pbx.database, "the switch has forgotten them")
            assert service.count_in_log("a caller was missed") == 2


@pytest.mark.trial
def test_a_worker_killed_between_commit_and_originate_has_placed_no_call(service, agents):
    with service.listener(OVERDUE_SECONDS="600"), service.worker(DIES="before") as victim:
        service.wait_until_heard()
        pks = calls(agents[:1])
        wait_for(lambda: victim.poll() is not None, "the worker is killed")
        state = Connection.objects.get().state

        with service.worker():
            assert_over_and_counted_once(service, pks)

    over = Connection.objects.get()
    assert (state, over.disposition, over.hung_up_by) == ("originating", "FAILED", "system")
    assert service.asked == {}


@pytest.mark.trial
def test_a_worker_killed_between_originate_and_reply_has_called_once(service, agents):
    with service.listener(OVERDUE_SECONDS="600"), service.worker(DIES="after") as victim:
        service.wait_until_heard()
        pks = calls(agents[:1])
        wait_for(lambda: victim.poll() is not None, "the worker is killed")

        with service.worker():
            wait_for(lambda: in_state("talking", pks) == 1, "they talk")
            service.hang_up(2, pks)

            assert_over_and_counted_once(service, pks)

    assert Connection.objects.get().disposition == "ANSWERED"
    assert len(service.asked) == 2


@pytest.mark.trial
def test_calls_that_are_asked_for_while_the_broker_is_down_are_placed(service, agents):
    broker = service.stores._servers["REDIS_URL"].process
    assert broker is not None
    with service.worker(), service.listener():
        broker.kill()
        broker.wait()
        try:
            pks = calls(agents)
            wait_for(lambda: in_state("talking", pks) == CALLS, "all talk")
        finally:
            assert service.stores.revive() == ["Valkey"]
        service.hang_up(2, pks)

        assert_over_and_counted_once(service, pks)


@pytest.mark.trial
@pytest.mark.parametrize("backend", ["asterisk", "simulated"])
def test_calls_stay_queued_until_there_is_a_connection(backend, service, agents):
    variables = {"SWITCH_BACKEND": backend, "SIMULATED_SPEED": "10", "OVERDUE_SECONDS": "600"}
    with service.worker(**variables):
        pks = calls(agents[:5])
        wait_for(service.has_worked, "the worker has looked")
        assert in_state("queued", pks) == 5
        with service.listener(**variables):
            wait_for(lambda: in_state("ended", pks) + in_state("talking", pks) == 5, "all are placed")
            service.hang_up(2, [pk for pk in pks if f"callcentre-{pk}-2" in service.ari.pbx.lines])
            assert_over_and_counted_once(service, pks)

    assert set(Connection.objects.values_list("disposition", flat=True)) == {"ANSWERED"}


@pytest.mark.trial
def test_a_call_not_placed_in_time_has_failed_and_is_not_placed_later(service, agents):
    pks = calls(agents[:2])
    Connection.objects.filter(pk=pks[0]).update(place_until=timezone.now() - timedelta(seconds=1))

    with service.listener():
        wait_for(lambda: in_state("talking", pks[1:]) == 1, "the other one talks")
        service.hang_up(2, pks[1:])

        assert_over_and_counted_once(service, pks)
    assert Connection.objects.get(pk=pks[0]).disposition == "FAILED"
    assert not Leg.objects.filter(connection=pks[0]).exists()


@pytest.mark.trial
def test_a_database_that_is_restarted_under_load_loses_no_call(service, agents):
    postgres = service.stores._servers["DATABASE_URL"].process
    assert postgres is not None
    with service.worker(), service.listener():
        pks = calls(agents)
        wait_for(lambda: in_state("talking", pks) > 3, "some talk")
        # At once, as in a crash: the next start recovers.
        postgres.send_signal(signal.SIGQUIT)
        postgres.wait(100)
        assert service.stores.revive() == ["PostgreSQL"]
        database.close()
        wait_for(lambda: in_state("talking", pks) + in_state("ended", pks) == CALLS, "none is left half-way")
        wait_for(lambda: len(service.bridged()) == in_state("talking", pks), "they hear each other")
        service.hang_up(2, [pk for pk in pks if f"callcentre-{pk}-2" in service.ari.pbx.lines])

        assert_over_and_counted_once(service, pks)
        assert not AgentState.objects.filter(ended_at=None, kind__in=["ringing", "talking"]).exists()


@pytest.mark.trial
@pytest.mark.parametrize("victims", ["the switch", "the switch, the listener and the database"])
def test_an_outage_is_no_talk_time(victims, service, agents):
    """The calls ended at the last contact, which is stored even if all processes were killed.

    That holds for calls by standing lines, and for a caller whose longest wait would have passed meanwhile.
    """
    queue = QueueFactory(number=HOTLINE, overflow_number="+48600100300")
    Agent.objects.filter(pk__in=[agent.pk for agent in agents[:2]]).update(has_line=True)
    postgres = service.stores._servers["DATABASE_URL"].process
    assert postgres is not None
    with ExitStack() as context:
        context.enter_context(service.worker())
        victim = context.enter_context(service.listener())
        pks = calls(agents[:5])
        wait_for(lambda: in_state("talking", pks) == 5, "all talk")
        service.ari.pbx.call_in(CALLER, HOTLINE)
        wait_for(lambda: Connection.objects.filter(queue=queue, state="waiting").exists(), "a caller waits")
        pks.append(Connection.objects.get(queue=queue).pk)
        answered_at = timezone.now()
        wait_for(lambda: SwitchContact.objects.filter(heard_at__gt=answered_at).exists(), "the contact is stored")
        service.kill_switch()
        if "listener" in victims:
            kill(victim)
        else:
            wait_for(lambda: service.count_in_log("disconnected from the switch") == 1, "the listener hears it no more")
        killed_at = timezone.now()
        Queue.objects.update(longest_wait_seconds=1)
        if "listener" in victims:
            postgres.kill()
            postgres.wait(100)
            assert service.stores.revive() == ["PostgreSQL"]
            database.close()
        wait_for(lambda: timezone.now() > killed_at + timedelta(seconds=3), "an outage")
        service.ari.start()
        if "listener" in victims:
            context.enter_context(service.listener())
        assert_over_and_counted_once(service, pks)

    ended_later = {"ended_at__gt": killed_at}
    assert not Connection.objects.filter(**ended_later).exists()
    assert not Leg.objects.filter(**ended_later).exists()
    assert not AgentLine.objects.filter(**ended_later).exists()
    assert not AgentState.objects.filter(kind="talking", **ended_later).exists()
    assert not Connection.objects.exclude(hung_up_by="system", transfers=None).exists()
    found_later = Connection.objects.filter(end_found_at__gt=killed_at + timedelta(seconds=3))
    assert [call.billsec >= 0 for call in found_later] == [True] * 5
