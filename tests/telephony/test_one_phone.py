"""Several calls of one agent: one customer at a time is called, in the order in which they were asked for."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from telephony import causes
from telephony.calls import distribution, placement, switch_events
from telephony.leader_election import LOCK_SPACE, Leadership, is_connected
from telephony.models import Connection, Leg
from telephony.switch.base import Ended
from telephony.verbs import connections, presence
from tests.conftest import ACTOR
from tests.processes import wait_for
from tests.serving import at_once
from tests.telephony.callers import call_in, distribute, member, offers
from tests.telephony.factories import AgentFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("switch")]


@pytest.fixture
def asked(agent):
    return [connections.call(ACTOR, sip="101", phone_number=f"+4822555010{number}") for number in range(3)]


def states(calls: list[Connection]) -> list[str]:
    return [Connection.objects.get(pk=call.pk).state for call in calls]


def end(call: Connection) -> None:
    switch_events.handle(Ended(f"callcentre-{call.pk}-1", timezone.now(), 16))


def test_three_calls_placed_at_once_ring_one_after_another(asked, switch):
    at_once(partial(placement.place, call.pk) for call in asked)
    # The oldest call may be tried last.
    placement.place(asked[0].pk)

    assert states(asked) == ["originating", "queued", "queued"]
    assert [told[0] for told in switch.told] == ["call_agent"]


def test_they_ring_one_after_another_in_their_order(asked):
    seen = []
    for call in asked:
        for other in reversed(asked):
            placement.place(other.pk)
        seen.append(states(asked))
        end(call)

    assert seen == [
        ["originating", "queued", "queued"],
        ["ended", "originating", "queued"],
        ["ended", "ended", "originating"],
    ]


def test_a_call_waits_while_the_phone_rings_for_a_caller(queue):
    member(queue, "anna", "101")
    caller = call_in()
    distribute()
    call = connections.call(ACTOR, sip="101", phone_number="+48225550101")

    placement.place(call.pk)
    while_ringing = states([call])
    switch_events.handle(Ended(caller.legs.get(role="agent").channel_id, timezone.now(), 17))
    placement.place(call.pk)

    assert (while_ringing, states([call])) == (["queued"], ["originating"])


def test_a_caller_is_not_offered_to_a_phone_that_rings_for_a_call_out(queue):
    member(queue, "anna", "101")
    call = connections.call(ACTOR, sip="101", phone_number="+48225550101")
    caller = call_in()

    place: Callable[[], Any] = partial(placement.place, call.pk)
    offer: Callable[[], Any] = partial(distribution.distribute, timezone.now())
    at_once([place, offer])

    ringing = Leg.objects.filter(agent__login="anna", ended_at=None).count()
    assert (ringing, states([call]) == ["originating"], bool(offers(caller))) in [(1, True, False), (1, False, True)]


def test_calls_that_wait_for_a_phone_block_no_other(asked, monkeypatch):
    monkeypatch.setattr(placement, "MOST_AT_ONCE", 1)
    presence.log_in(AgentFactory(number="102"), ACTOR)
    other = connections.call(ACTOR, sip="102", phone_number="+48225550101")
    placement.place(asked[0].pk)

    assert placement.overdue(timezone.now() + timedelta(seconds=5)) == [other.pk]


def test_a_call_waits_for_its_phone_for_longer_than_it_may_be_placed(asked, settings):
    first, second = asked[:2]
    placement.place(first.pk)
    now = timezone.now()
    Connection.objects.filter(pk=second.pk).update(place_until=now + timedelta(seconds=5))

    assert second.pk in placement.overdue(now + timedelta(seconds=2))
    placement.place(second.pk)
    until = Connection.objects.get(pk=second.pk).place_until
    end(first)
    placement.place(second.pk)

    assert until
    assert until >= now + timedelta(seconds=settings.PLACE_LIMIT_SECONDS)
    assert states([second]) == ["originating"]


def test_a_call_without_a_listener_is_not_queued_behind_a_phone(asked, monkeypatch):
    placement.place(asked[0].pk)
    Connection.objects.filter(pk=asked[1].pk).update(place_until=timezone.now() - timedelta(seconds=1))
    with Leadership() as other:
        # Other processes of the run hold these locks in their databases.
        other._own.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [LOCK_SPACE],
        )
        wait_for(lambda: not is_connected())
        placement.place(asked[1].pk)

    over = Connection.objects.get(pk=asked[1].pk)
    assert (over.disposition, over.cause_text) == ("FAILED", causes.NO_CONNECTION)


@pytest.mark.slow("reads all metrics of the process")
@pytest.mark.parametrize("is_busy", [True, False])
def test_metrics_ignore_calls_that_wait_for_their_phone(is_busy, asked, client):
    if is_busy:
        placement.place(asked[0].pk)
    Connection.objects.filter(state="queued").update(created_at=timezone.now() - timedelta(minutes=5))

    lines = client.get("/metrics").content.decode().splitlines()
    (oldest,) = [float(line.split()[1]) for line in lines if line.startswith("callcentre_queued_call_oldest_seconds ")]
    assert (oldest >= 300) is not is_busy
