"""Call-backs: callers who keep their place without staying on the line, driven by events of the switch."""

from datetime import time, timedelta
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core.errors import Conflict, ErrorCode, Invalid
from telephony.calls import callbacks, reconciliation, switch_events
from telephony.channels import play_id
from telephony.models import CallBack, Connection, MissedCaller, Pause, Queue
from telephony.switch.base import Ended, KeyPressed, Played, Ringing, SwitchError, Up
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.telephony.callers import (
    CALLER,
    call_in,
    channel,
    distribute,
    end_refused_legs,
    fresh,
    give_up,
    offers,
    pick_up,
    repair,
    state,
    talk_in,
    wait_too_long,
)
from tests.telephony.factories import (
    CallBackFactory,
    OpeningHoursFactory,
    PromptFactory,
    QueueFactory,
    QueueMemberFactory,
)
from webhooks.models import Event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue")]


@pytest.fixture(autouse=True)
def _with_key(queue):
    Queue.objects.filter(pk=queue.pk).update(callback_key="1")


def press(call: Connection, key: str = "1") -> Connection:
    switch_events.handle(KeyPressed(call.legs.get(role="customer").channel_id, timezone.now(), key))
    return fresh(call)


def queued(name: str = "caller-1", caller: str = CALLER) -> CallBack:
    """A caller who has pressed the key."""
    press(call_in(name, caller))
    return CallBack.objects.latest("id")


def rung(callback: CallBack) -> Connection:
    """The call of an attempt, for which the agent's phone rings."""
    distribute()
    callback.refresh_from_db()
    assert callback.connection
    return callback.connection


def called(callback: CallBack) -> Connection:
    """The call of an attempt whose agent has picked up, so that the number is called."""
    call = rung(callback)
    pick_up(call)
    return call


def not_answered(call: Connection, cause: int = 19) -> None:
    switch_events.handle(Ringing(channel(call, 2), timezone.now()))
    switch_events.handle(Ended(channel(call, 2), timezone.now(), cause))


def answered(call: Connection) -> None:
    switch_events.handle(Up(channel(call, 2), timezone.now()))


def later(callback: CallBack) -> None:
    """Let the time until the next attempt pass."""
    CallBack.objects.filter(pk=callback.pk).update(next_attempt_at=timezone.now())


def events_of(callback: CallBack) -> list[tuple[str, Any]]:
    found = Event.objects.filter(subject=f"callback:{callback.pk}").order_by("id")
    return [(event.action, event.payload.get("disposition")) for event in found]


# Asking


def test_a_caller_who_presses_the_key_keeps_the_place_and_has_not_given_up(queue, switch):
    call = press(call_in())

    callback = CallBack.objects.get()
    assert (callback.queue, callback.number, callback.origin) == (queue, CALLER, "key")
    assert (callback.caller, callback.state, callback.waiting_since) == (call, "waiting", call.waiting_since)
    assert (call.state, call.disposition, call.hung_up_by) == ("ended", "NO ANSWER", "system")
    assert call.cause_text == "The caller is called back"
    assert switch.told[-1] == ("hang_up", "caller-1")
    assert events_of(callback) == [("CALLBACK_QUEUED", None)]
    assert not MissedCaller.objects.exists()


@pytest.mark.parametrize("how", ["another key", "no number", "no key of the queue", "talking"])
def test_other_keys_and_callers_stay_on_the_line(how, queue, anna, switch):
    if how == "no key of the queue":
        Queue.objects.update(callback_key="")
    call = talk_in() if how == "talking" else call_in(caller="anonymous" if how == "no number" else CALLER)

    press(call, "2" if how == "another key" else "1")

    assert fresh(call).state == ("talking" if how == "talking" else "waiting")
    assert not CallBack.objects.exists()


def test_a_long_wait_becomes_a_call_back(queue, switch):
    Queue.objects.filter(pk=queue.pk).update(callback_after_seconds=60)
    short, anonymous = wait_too_long(call_in("one"), 50), wait_too_long(call_in("two", "anonymous"), 70)
    long = wait_too_long(call_in("three", "+48225550108"), 70)

    assert (short.state, anonymous.state, long.state) == ("waiting", "waiting", "ended")
    assert list(CallBack.objects.values_list("origin", "number")) == [("wait", "+48225550108")]


def test_a_second_call_of_the_number_keeps_the_first_place(switch):
    first, second = queued("one"), queued("two")

    assert first == second
    assert events_of(first) == [("CALLBACK_QUEUED", None)]


@pytest.fixture
def confirmed(queue, anna, switch):
    """A caller who has pressed the key while a phone rang, and hears that we call back."""
    PromptFactory(queue=queue, kind="callback", language="pl", file="confirmed")
    call = call_in()
    distribute()
    return press(call)


def end_prompt(call: Connection) -> None:
    switch_events.handle(Played("caller-1", timezone.now(), sound_id=play_id(call.pk, 1)))


def test_a_prompt_confirms_the_call_back_before_the_call_ends_and_no_agent_is_rung_meanwhile(confirmed, anna, switch):
    assert (confirmed.state, offers(confirmed), state(anna)) == ("playing", [("anna", "abandoned")], "free")
    assert ("hang_up", channel(confirmed, 2)) in switch.told
    assert switch.told[-1] == ("play", "caller-1", "confirmed")
    distribute(seconds_from_now=15)
    assert CallBack.objects.get().state == "waiting"

    end_prompt(confirmed)

    call = fresh(confirmed)
    assert (call.state, call.hung_up_by, call.cause_text) == ("ended", "system", "The caller is called back")
    assert ("hang_up", "caller-1") in switch.told
    assert rung(CallBack.objects.get()).agent == anna


@pytest.mark.parametrize("how", ["hangs up", "is lost with the switch"])
def test_a_caller_who_leaves_during_the_confirmation_is_called_back_all_the_same(how, confirmed, switch):
    give_up(confirmed) if how == "hangs up" else repair()

    call = fresh(confirmed)
    assert (call.disposition, call.hung_up_by, call.cause_text) == ("NO ANSWER", "system", "The caller is called back")
    assert not MissedCaller.objects.exists()
    assert rung(CallBack.objects.get()).dst_number == CALLER


def test_after_a_restart_of_the_listener_the_confirmation_is_heard_again(confirmed, switch):
    reconciliation.restore(confirmed.pk)

    assert [one[0] for one in switch.told[-2:]] == ["stop_play", "play"]
    switch_events.handle(Played("caller-1", timezone.now(), sound_id=play_id(confirmed.pk, 2)))
    assert fresh(confirmed).state == "ended"


def test_clients_ask_for_calls_of_active_queues_once(queue):
    callback = callbacks.ask(ACTOR, queue_id=queue.pk, phone_number="22 555 01 07")
    assert (callback.number, callback.origin, callback.caller) == (CALLER, "api", None)

    with pytest.raises(Conflict) as refused:
        callbacks.ask(ACTOR, queue_id=queue.pk, phone_number=CALLER)
    assert refused.value.code == ErrorCode.CALLBACK_EXISTS
    Queue.objects.update(is_active=False)
    with pytest.raises(Invalid) as invalid:
        callbacks.ask(ACTOR, queue_id=queue.pk, phone_number="x")
    assert [(fault.field, fault.code) for fault in invalid.value.faults] == [
        ("phone_number", ErrorCode.PHONE_LETTERS),
        ("queue_id", ErrorCode.QUEUE_UNKNOWN),
    ]


# The turn


def test_the_agent_is_rung_then_the_number_and_both_talk(anna, switch):
    callback = queued()
    call = rung(callback)

    assert (callback.state, callback.agent, state(anna)) == ("calling", anna, "ringing")
    assert switch.told[-1] == ("call_agent", channel(call, 1), "101", CALLER)
    assert (call.direction, call.queue, call.dst_number) == ("OUTBOUND", callback.queue, CALLER)

    pick_up(call)
    assert switch.told[-1][:3] == ("call_number", channel(call, 2), CALLER)
    answered(call)
    switch_events.handle(Ended(channel(call, 2), timezone.now(), 16))

    callback.refresh_from_db()
    assert (callback.state, callback.disposition, callback.attempts) == ("ended", "ANSWERED", 1)
    assert events_of(callback) == [("CALLBACK_QUEUED", None), ("CALLBACK_ENDED", "ANSWERED")]
    assert not MissedCaller.objects.exists()


def test_call_backs_and_callers_are_served_in_the_order_of_their_waits(anna, switch):
    now = timezone.now()
    calls = [call_in("one", "+48225550101"), call_in("two", "+48225550102"), call_in("three", "+48225550103")]
    for minutes, call in zip((3, 2, 1), calls, strict=True):
        Connection.objects.filter(pk=call.pk).update(waiting_since=now - timedelta(minutes=minutes))
    press(calls[1])

    distribute()
    assert offers(calls[0]) == [("anna", "ringing")]
    give_up(calls[0])
    distribute()

    assert CallBack.objects.get().state == "calling"
    assert offers(calls[2]) == []


@pytest.mark.parametrize("how", ["not picked up", "refused by the switch"])
def test_an_agent_who_does_not_pick_up_costs_no_attempt_and_no_place(how, anna, bert, switch):
    callback = queued()
    if how == "refused by the switch":
        switch.refusals["call_agent"] = SwitchError("Allocation failed")
    first = rung(callback)
    switch.refusals.clear()
    if how == "not picked up":
        switch_events.handle(Ended(channel(first, 1), timezone.now(), 19))
    end_refused_legs()
    second = rung(callback)

    assert (first.agent, second.agent, callback.attempts) == (anna, bert, 0)
    assert (fresh(first).disposition, state(anna), state(bert)) == ("FAILED", "free", "ringing")
    switch_events.handle(Ended(channel(second, 1), timezone.now(), 19))
    distribute()
    assert CallBack.objects.get().state == "waiting"
    distribute(seconds_from_now=15)
    assert CallBack.objects.get().agent == anna


def test_an_agent_who_pauses_while_the_phone_rings_gives_the_place_to_the_next(anna, bert, switch):
    callback = queued()
    first = rung(callback)
    presence.pause(anna, ACTOR, Pause.objects.create(name="Lunch").pk)
    second = rung(callback)

    assert ("hang_up", channel(first, 1)) in switch.told
    assert (second.agent, callback.attempts, state(anna)) == (bert, 0, "paused")


def test_a_number_that_does_not_answer_is_called_again_later_and_at_last_is_missed(queue, anna, switch):
    Queue.objects.filter(pk=queue.pk).update(callback_attempts=2, callback_minutes=10)
    callback = queued()
    not_answered(called(callback))
    callback.refresh_from_db()

    assert (callback.state, callback.attempts, state(anna)) == ("waiting", 1, "free")
    assert 590 < (callback.next_attempt_at - timezone.now()).total_seconds() <= 600
    distribute()
    assert CallBack.objects.get().state == "waiting"

    later(callback)
    not_answered(called(callback), cause=17)
    callback.refresh_from_db()

    assert (callback.state, callback.disposition, callback.attempts) == ("ended", "BUSY", 2)
    assert events_of(callback)[1:] == [("CALLBACK_ENDED", "BUSY")]
    assert list(MissedCaller.objects.values_list("connection", "reason")) == [(callback.caller_id, "not_reached")]


def test_a_closed_queue_calls_nobody_back_until_it_opens(queue, anna, switch):
    callback = queued()
    local = timezone.localtime()
    hours = OpeningHoursFactory(queue=queue, weekday=local.isoweekday() % 7 + 1, opens_at=time(0), closes_at=time(0))
    distribute()
    assert CallBack.objects.get().state == "waiting"

    hours.weekday = local.isoweekday()
    hours.save()
    assert rung(callback).agent == anna


@pytest.mark.parametrize("what", ["agent", "number"])
def test_an_attempt_that_is_lost_with_a_process_is_made_again(what, anna, switch):
    callback = queued()
    call = called(callback) if what == "number" else rung(callback)
    call.legs.update(asked_at=timezone.now() - timedelta(minutes=1))

    repair()

    callback.refresh_from_db()
    assert (fresh(call).state, callback.state) == ("ended", "waiting")
    assert (callback.attempts, state(anna)) == (1 if what == "number" else 0, "free")
    later(callback)
    assert rung(callback).agent == anna


def test_the_limit_of_lines_delays_a_call_back(anna, switch, settings):
    callback = queued()
    settings.TRUNK_LIMIT = 1
    other = QueueFactory(number="+48225550200")
    call_in("other", "+48225550109", other.number)
    distribute()
    assert CallBack.objects.get().state == "waiting"

    settings.TRUNK_LIMIT = 2
    assert rung(callback).agent == anna


# The end


def test_a_caller_who_gets_through_meanwhile_is_not_called_any_more(anna, switch):
    callback = CallBackFactory(queue=Queue.objects.get(number="+48225550100"), number=CALLER)
    later_on = timezone.now() + timedelta(hours=1)
    CallBack.objects.update(next_attempt_at=later_on)
    call = talk_in()
    give_up(call)

    callback.refresh_from_db()
    assert (callback.disposition, callback.connection, callback.attempts) == ("ANSWERED", call, 0)


def test_a_call_back_that_waits_can_be_cancelled_once(anna, switch):
    callback = queued()
    callbacks.cancel(callback, ACTOR)

    callback.refresh_from_db()
    assert (callback.state, callback.disposition) == ("ended", "CANCELLED")
    assert events_of(callback)[1:] == [("CALLBACK_ENDED", "CANCELLED")]
    assert not MissedCaller.objects.exists()
    with pytest.raises(Conflict):
        callbacks.cancel(callback, ACTOR)


def test_an_agent_of_another_queue_is_not_rung(anna, switch):
    callback = CallBackFactory()
    distribute()
    assert CallBack.objects.get().state == "waiting"

    QueueMemberFactory(queue=callback.queue, agent=anna)
    assert rung(callback).agent == anna
