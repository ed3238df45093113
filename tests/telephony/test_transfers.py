"""A call that came in is handed on: to a queue, to a number, to an agent."""

import pytest
from django.utils import timezone

from telephony.calls import switch_events
from telephony.switch.base import Ended, Ringing, Up
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.telephony.callers import (
    actions,
    ask,
    call_in,
    distribute,
    free_agent,
    give_up,
    member,
    offers,
    pick_up,
    state,
    talk_in,
)
from tests.telephony.factories import QueueFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("anna", "switch")]


def test_a_call_transferred_to_a_queue_waits_and_is_answered_by_another_agent(anna):
    support = QueueFactory()
    zoe = member(support, "zoe", "109")
    call = talk_in()
    ask(call, "transfer", queue_id=support.pk)
    call.refresh_from_db()
    assert (call.state, call.queue, state(anna)) == ("waiting", support, "wrap_up")

    distribute()
    pick_up(call)
    give_up(call)
    call.refresh_from_db()

    assert offers(call) == [("anna", "answered"), ("zoe", "answered")]
    assert [bool(offer.transferred_at) for offer in call.offers.all()] == [True, False]
    assert (call.agent, call.disposition) == (zoe, "ANSWERED")
    assert actions().count("CONNECTION_ANSWERED") == actions().count("CONNECTION_ENDED") == 1


def test_a_transferred_caller_who_gives_up_was_answered():
    call = talk_in()
    ask(call, "transfer", queue_id=QueueFactory().pk)
    give_up(call)
    call.refresh_from_db()

    assert (call.state, call.disposition, call.hung_up_by) == ("ended", "ANSWERED", "customer")


def test_a_call_transferred_to_an_agents_phone_is_offered_to_the_agent(queue):
    free_agent("zoe", "109")
    call = talk_in()
    ask(call, "transfer", number="109")
    distribute()
    ringing = offers(call)
    switch_events.handle(Up(call.legs.get(role="target").channel_id, timezone.now()))
    give_up(call)

    assert ringing == [("anna", "answered"), ("zoe", "ringing")]
    assert offers(call) == [("anna", "answered"), ("zoe", "answered")]
    assert [offer.queue for offer in call.offers.all()] == [queue, None]
    assert not call.offers.filter(ended_at=None).exists()


def test_outcome_of_a_transferred_call_that_the_agent_does_not_answer():
    zoe = free_agent("zoe", "109")
    call = talk_in()
    ask(call, "transfer", number="109")
    target = call.legs.get(role="target").channel_id
    switch_events.handle(Ringing(target, timezone.now()))
    switch_events.handle(Ended(target, timezone.now(), 19))

    assert offers(call)[:2] == [("anna", "answered"), ("zoe", "not_answered")]
    assert state(zoe) == "free"


def test_a_call_returned_to_its_queue_rings_the_other_agents_first(queue, anna, bert):
    call = talk_in()
    ask(call, "transfer", queue_id=queue.pk)
    presence.free(anna, ACTOR)
    distribute()

    assert offers(call) == [("anna", "answered"), ("bert", "ringing")]


def test_a_waiting_call_that_is_hung_up_stops_the_phone_that_rings(anna):
    call = call_in()
    distribute()
    ask(call, "hang_up")
    call.refresh_from_db()

    assert (call.state, offers(call), state(anna)) == ("ended", [("anna", "abandoned")], "free")
