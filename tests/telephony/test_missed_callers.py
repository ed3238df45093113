"""Callers whom no agent answered: the reason, and the call that answered them later."""

from datetime import time, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from telephony.calls import commands, inbound, switch_events
from telephony.models import CallBack, Connection, MissedCaller
from telephony.switch.base import Arrived, Ended, Missed
from tests.backoffice import messages_of, page_of, superuser
from tests.conftest import ACTOR
from tests.telephony.callers import (
    CALLER,
    call_in,
    carry_out_all,
    channel,
    fresh,
    give_up,
    talk_in,
    talk_out,
    wait_too_long,
)
from tests.telephony.factories import (
    AgentFactory,
    CallBackFactory,
    ConnectionFactory,
    MissedCallerFactory,
    OpeningHoursFactory,
    QueueFactory,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue", "switch")]
LIST = reverse("admin:telephony_missedcaller_changelist")


def reason_of(call: Connection) -> str:
    return MissedCaller.objects.get(connection=call).reason


def lost() -> Connection:
    call = call_in()
    give_up(call)
    return call


@pytest.mark.parametrize("is_manned", [True, False])
def test_a_caller_gives_up_with_agents_or_without(is_manned, request):
    if is_manned:
        request.getfixturevalue("anna")

    assert reason_of(lost()) == ("gave_up" if is_manned else "no_agent")


def test_the_queue_is_closed(queue):
    yesterday = (timezone.localtime() - timedelta(days=1)).isoweekday()
    OpeningHoursFactory(queue=queue, weekday=yesterday, opens_at=time(0), closes_at=time(0))

    assert reason_of(call_in()) == "closed"


def test_a_caller_overflows_in_vain(anna, bert):
    talk_in("other-1")
    talk_in("other-2")

    assert reason_of(wait_too_long(call_in("late"))) == "overflowed"


def test_a_command_hangs_up(anna):
    call = call_in()
    commands.ask(ACTOR, call, "hang_up")
    carry_out_all()

    assert reason_of(call) == "hung_up"


def test_no_queue_has_the_number_or_there_is_no_connection():
    switch_events.handle(Arrived("one", timezone.now(), CALLER, "+48225550999"))
    inbound.missed(Missed("key", "two", timezone.now(), timezone.now(), CALLER, "+48225550100"))

    assert sorted(MissedCaller.objects.values_list("reason", flat=True)) == ["no_connection", "no_queue"]


@pytest.mark.parametrize("way", ["in", "out"])
def test_a_later_talk_with_the_number_answers_its_calls_of_a_week(way, anna):
    missed, other = lost(), MissedCallerFactory(connection__src="+48600700800")
    old = MissedCallerFactory(connection__src=CALLER, missed_at=timezone.now() - timedelta(days=8))

    answer = talk_in("later") if way == "in" else talk_out(CALLER)
    switch_events.handle(Ended("later" if way == "in" else channel(answer, 2), timezone.now(), 16))

    answers = dict(MissedCaller.objects.values_list("connection", "answered_by"))
    assert answers == {missed.pk: answer.pk, other.connection_id: None, old.connection_id: None}


def test_a_call_out_that_is_not_answered_is_no_answer(anna):
    lost()
    call = talk_out("+48225550107")
    Connection.objects.filter(pk=call.pk).update(answered_at=None)
    switch_events.handle(Ended(channel(call, 2), timezone.now(), 19))

    assert fresh(call).disposition != "ANSWERED"
    assert MissedCaller.objects.get().answered_by is None


def test_callers_without_a_number_are_not_taken_for_one_person(anna):
    give_up(call_in("one", caller="anonymous"))
    answer = talk_in("two")
    Connection.objects.filter(pk=answer.pk).update(src_number="anonymous")
    give_up(answer)

    assert MissedCaller.objects.get().answered_by is None


# The list


@pytest.mark.usefixtures("plain_static")
def test_the_list_shows_those_without_an_answer_and_who_tried():
    tried = MissedCallerFactory(connection__src="+48225550201", connection__wait_seconds=34)
    waits = MissedCallerFactory(connection__src="+48225550202", reason="closed")
    answered = MissedCallerFactory(connection__src="+48225550203", answered_by=ConnectionFactory())
    ConnectionFactory(dst="+48225550201", agent=AgentFactory(login="zoe"), created_at=tried.missed_at, unanswered=True)
    CallBackFactory(number=waits.connection.src_number)

    open_ones, all_of_them = superuser().page(LIST), superuser().page(f"{LIST}?answer=all")

    assert all(text in open_ones for text in ("+48225550201", "zoe", "no answer", "gave up (0:34)"))
    assert all(text in open_ones for text in ("+48225550202", "a call-back waits", "the queue was closed"))
    assert answered.connection.src not in open_ones
    assert answered.connection.src in all_of_them
    assert all(text in superuser().page(page_of(tried)) for text in ("zoe", "no answer", "gave up (0:34)"))
    assert "&#x27;no answer&#x27;" not in superuser().page(page_of(tried))


@pytest.mark.usefixtures("plain_static")
def test_the_action_calls_each_number_back_once():
    queue = QueueFactory()
    values: dict[str, Any] = {"connection__queue": queue, "connection__src": CALLER}
    rows = [
        MissedCallerFactory(**values),
        MissedCallerFactory(**values),
        MissedCallerFactory(connection__src="anonymous"),
        MissedCallerFactory(connection__queue=None),
    ]

    response = superuser().act(LIST, "call_back", *rows, apply="yes")

    callback = CallBack.objects.get()
    assert (callback.queue, callback.number, callback.origin) == (queue, CALLER, "person")
    said = " ".join(messages_of(response))
    assert all(reason in said for reason in ("The caller showed no number.", "The caller was in no active queue."))


@pytest.mark.usefixtures("plain_static")
def test_call_backs_are_listed_found_by_number_and_cancelled():
    waits, done = CallBackFactory(), CallBackFactory(state="ended", ended_at=timezone.now(), disposition="BUSY")
    path = reverse("admin:telephony_callback_changelist")

    assert all(text in superuser().page(path) for text in (waits.number, "waits for its turn", done.number, "busy"))
    assert waits.number not in superuser().page(path, q=done.number)
    superuser().act(path, "cancel_selected", waits, done, apply="1")

    assert sorted(CallBack.objects.values_list("disposition", flat=True)) == ["BUSY", "CANCELLED"]
