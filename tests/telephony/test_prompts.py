"""Prompts of queues, messages of callers and menus, driven by events of the switch."""

from datetime import time, timedelta
from typing import Any

import pytest
from django.utils import timezone

from telephony.calls import caller_steps, reconciliation, switch_events
from telephony.calls.prompts import language_of
from telephony.models import CallerMessage, CallerStep, Connection, Menu, Queue, Recording
from telephony.switch.base import Ended, KeyPressed, Played, RecordingFinished
from tests.telephony.callers import HOTLINE, call_in, distribute, fresh, give_up, member, talk_in, wait_too_long
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import MenuFactory, OpeningHoursFactory, PromptFactory, QueueFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue")]


def say(owner: Queue | Menu, *kinds: str, language: str = "pl", number: int = 0) -> None:
    """Give the owner a prompt of each kind. Its file is named by its kind, language and number."""
    name = {"queue": owner} if isinstance(owner, Queue) else {"menu": owner}
    for kind in kinds:
        file = f"{kind}-{language}-{number}"
        PromptFactory(**name, kind=kind, language=language, number=number, file=file)


def heard(switch: RecordingSwitch) -> list[tuple[Any, ...]]:
    """What the caller has heard: prompts, music, and where they were stopped."""
    of_caller = ("play", "play_music", "stop_play", "record", "answer", "join", "hang_up")
    return [(command, *args[1:]) for command, *args in switch.told if command in of_caller]


def end_sound(call: Connection) -> None:
    step = CallerStep.objects.get(connection=call)
    sound = f"callcentre-{call.pk}-play-{step.play_count}"
    switch_events.handle(Played("caller-1", timezone.now(), sound_id=sound))


def press(key: str) -> None:
    switch_events.handle(KeyPressed("caller-1", timezone.now(), key))


def later(call: Connection, seconds: int) -> None:
    """Let the listener do what is due so many seconds later."""
    now = timezone.now() + timedelta(seconds=seconds)
    for pk in caller_steps.due(now):
        caller_steps.go_on(pk, now)


# Prompts of a queue


def test_a_caller_hears_greeting_and_place_then_music_then_the_place_again(queue, switch):
    say(queue, "greeting", "place")
    call = call_in()
    end_sound(call)
    later(call, 44)
    later(call, 46)

    assert heard(switch) == [
        ("answer",),
        ("play", "greeting-pl-0", "place-pl-0"),
        ("play_music", "default"),
        ("play", "place-pl-0"),
    ]


def test_the_place_is_that_among_the_callers_who_wait_longer(queue, switch):
    for number in (1, 2, 5):
        say(queue, "place", number=number)
    for channel in ("one", "two", "three"):
        call_in(channel)

    assert [args[0] for command, *args in heard(switch) if command == "play"] == [
        "place-pl-1",
        "place-pl-2",
        "place-pl-2",
    ]


def test_the_wait_is_said_in_minutes_and_not_without_agents(queue, switch):
    for minutes in (0, 3, 6):
        say(queue, "wait", number=minutes)
    call_in("one")
    member(queue, "anna", "101")
    distribute()
    call_in("two")

    assert [args for command, *args in heard(switch) if command.startswith("play")] == [["default"], ["wait-pl-6"]]


@pytest.mark.parametrize(
    ("caller", "file"),
    [
        ("+48225550107", "greeting-pl-0"),
        ("+4930123456", "greeting-de-0"),
        ("+41442668100", "greeting-de-0"),
        ("", "greeting-de-0"),
    ],
)
def test_the_language_is_that_of_the_callers_country_else_of_the_queue(caller, file, queue, switch):
    Queue.objects.filter(pk=queue.pk).update(prompt_language="de")
    say(queue, "greeting")
    say(queue, "greeting", language="de")
    call_in(caller=caller)

    assert heard(switch)[1] == ("play", file)


def test_a_number_without_a_country_has_no_language():
    assert [language_of(number) for number in ("101", "+", "+48225550107")] == ["", "", "pl"]


def test_an_agents_answer_ends_the_prompt_before_the_join(queue, anna, switch):
    say(queue, "greeting")
    call = talk_in()

    assert [command for command, *_ in heard(switch)] == ["answer", "play", "stop_play", "join"]
    later(call, 100)
    end_sound(call)
    assert heard(switch)[-1][0] == "join"


def test_nothing_new_is_played_while_a_phone_rings(queue, anna, switch):
    say(queue, "place")
    call = call_in()
    end_sound(call)
    distribute()
    later(call, 60)

    assert heard(switch)[-1] == ("play_music", "default")
    assert CallerStep.objects.get().due_at is not None


def test_a_sound_whose_end_is_not_reported_is_over_in_time(queue, switch):
    say(queue, "greeting")
    call = call_in()
    later(call, 3)
    assert heard(switch)[-1][0] == "play"

    later(call, 6)

    assert [command for command, *_ in heard(switch)[-2:]] == ["stop_play", "play_music"]


def test_an_earlier_sound_that_ends_changes_nothing(queue, switch):
    say(queue, "greeting")
    call = call_in()
    switch_events.handle(Played("caller-1", timezone.now(), sound_id=f"callcentre-{call.pk}-play-0"))

    assert heard(switch)[-1][0] == "play"


def test_after_a_restart_of_the_listener_the_prompt_is_played_again(queue, switch):
    say(queue, "greeting")
    call = call_in()
    reconciliation.restore(call.pk)

    assert heard(switch)[-2:] == [("stop_play",), ("play", "greeting-pl-0")]


def test_a_queue_without_prompts_has_music_only(switch):
    call_in()

    assert heard(switch) == [("answer",), ("play_music", "default")]
    assert not CallerStep.objects.exists()


# Closed, full, and messages


def close(queue: Queue) -> None:
    yesterday = (timezone.localtime() - timedelta(days=1)).weekday()
    OpeningHoursFactory(queue=queue, weekday=yesterday, opens_at=time(9), closes_at=time(10))


def voicemail(queue: Queue, **values: object) -> None:
    Queue.objects.filter(pk=queue.pk).update(has_voicemail=True, **values)
    queue.refresh_from_db()


def test_a_closed_queue_says_so_and_ends_the_call(queue, switch):
    close(queue)
    say(queue, "closed")
    call = call_in()
    assert (heard(switch), fresh(call).state) == ([("answer",), ("play", "closed-pl-0")], "playing")

    end_sound(call)

    call = fresh(call)
    assert (call.disposition, call.cause_text, call.hung_up_by) == ("NO ANSWER", "The queue is closed", "system")
    assert heard(switch)[-1] == ("hang_up",)


def test_a_full_queue_takes_no_more_callers(queue, switch):
    Queue.objects.filter(pk=queue.pk).update(most_waiting=1)
    first, second = call_in("one"), call_in("two")

    assert (fresh(first).state, fresh(second).cause_text) == ("waiting", "The queue is full")


@pytest.mark.parametrize("why", ["closed", "full", "waited"])
def test_a_caller_whom_nobody_takes_leaves_a_message(why, queue, switch):
    voicemail(queue, voicemail_seconds=30)
    say(queue, "voicemail")
    if why == "closed":
        close(queue)
    elif why == "full":
        Queue.objects.filter(pk=queue.pk).update(most_waiting=1)
        call_in("other")
    call = call_in()
    if why == "waited":
        wait_too_long(call)
    end_sound(call)
    call = fresh(call)

    assert heard(switch)[-2:] == [("play", "voicemail-pl-0"), ("record", call.uid, 30)]
    assert call.state == "playing"

    # In the order of Asterisk.
    switch_events.handle(RecordingFinished(call.uid, timezone.now(), 9))
    give_up(call)

    call = fresh(call)
    reasons = {"closed": "The queue is closed", "full": "The queue is full", "waited": "The caller waited too long"}
    assert (call.disposition, call.hung_up_by, call.cause_text) == ("NO ANSWER", "customer", reasons[why])
    assert CallerMessage.objects.get().recording.state == "fetching"
    missed = {"closed": "closed", "full": "full", "waited": "no_agent"}
    assert call.missed.reason == missed[why]


def test_a_key_for_a_call_back_is_none_in_a_menu(menu, queue, switch):
    Queue.objects.filter(pk=queue.pk).update(callback_key="1")
    call = call_in()
    press("1")
    assert fresh(call).state == "waiting"

    press("1")

    assert (fresh(call).state, fresh(call).cause_text) == ("ended", "The caller is called back")


def test_the_end_of_a_message_ends_the_call(queue, switch):
    voicemail(queue)
    close(queue)
    call = call_in()
    switch_events.handle(RecordingFinished(fresh(call).uid, timezone.now(), 9))
    later(call, 2)

    assert (fresh(call).state, fresh(call).hung_up_by, heard(switch)[-1]) == ("ended", "system", ("hang_up",))


def test_a_message_whose_end_is_not_reported_ends_in_time(queue, switch):
    voicemail(queue, voicemail_seconds=30)
    close(queue)
    call = call_in()
    reconciliation.restore(call.pk)
    assert heard(switch)[-1] == ("record", fresh(call).uid, 30)
    later(call, 39)
    assert fresh(call).state == "playing"

    later(call, 41)

    assert fresh(call).state == "ended"
    assert Recording.objects.count() == 1


def test_a_closed_queue_that_overflows_asks_for_no_message(queue, switch):
    voicemail(queue, overflow_queue=QueueFactory(name="Other"))
    close(queue)

    assert fresh(call_in()).state == "waiting"


# Menus


@pytest.fixture
def menu(queue):
    menu: Menu = MenuFactory(number=HOTLINE, most_tries=2, key_seconds=5)
    say(menu, "choices", "wrong")
    menu.entries.create(key="1", queue=queue)
    return menu


def test_a_key_of_the_menu_leads_to_the_queue(menu, queue, switch):
    call = call_in()
    assert (heard(switch), fresh(call).queue, fresh(call).state) == (
        [("answer",), ("play", "choices-pl-0")],
        None,
        "playing",
    )

    press("1")

    call = fresh(call)
    assert (call.state, call.queue) == ("waiting", queue)
    assert heard(switch)[2:] == [("stop_play",), ("answer",), ("play_music", "default")]


def test_wrong_keys_and_waits_for_a_key_have_an_end(menu, switch):
    call = call_in()
    press("9")
    assert heard(switch)[-1] == ("play", "wrong-pl-0", "choices-pl-0")
    end_sound(call)
    later(call, 4)
    assert fresh(call).state == "playing"

    later(call, 6)

    call = fresh(call)
    assert (call.disposition, call.hung_up_by, call.missed.reason) == ("NO ANSWER", "system", "gave_up")
    assert call.cause_text == "The caller made no choice in the menu"


def test_the_end_of_a_menu_may_be_a_queue(menu, queue, switch):
    Menu.objects.filter(pk=menu.pk).update(end_queue=queue, most_tries=1)
    call = call_in()
    press("9")

    assert fresh(call).queue == queue


def test_menus_that_lead_in_a_circle_end(menu, switch, monkeypatch):
    monkeypatch.setattr("telephony.calls.prompts.MOST_STEPS", 3)
    menu.entries.create(key="2", to_menu=menu)
    call = call_in()
    for _ in range(3):
        press("2")

    assert fresh(call).state == "ended"


def test_an_information_is_heard_before_the_menu(menu, switch):
    menu.entries.create(key="3", information=7)
    say(menu, "information", number=7)
    call_in()
    press("3")

    assert heard(switch)[-1] == ("play", "information-pl-7", "choices-pl-0")


def test_the_first_entry_counts_whose_queue_is_open(menu, queue, switch):
    closed = QueueFactory(name="Closed")
    close(closed)
    menu.entries.create(key="4", while_open=closed, number="+48225550999")
    menu.entries.create(key="4", queue=queue)
    call = call_in()
    press("4")

    assert fresh(call).queue == queue


def test_a_key_may_lead_to_a_number(menu, switch):
    menu.entries.create(key="5", number="+48225550999")
    call = call_in()
    press("5")

    assert switch.told[-1] == ("call_number", f"callcentre-{call.pk}-2", "+48225550999", "")
    switch_events.handle(Ended(f"callcentre-{call.pk}-2", timezone.now(), 17))
    assert fresh(call).disposition == "NO ANSWER"


def test_after_a_restart_of_the_listener_the_menu_is_heard_again(menu, queue, switch):
    call = call_in()
    reconciliation.restore(call.pk)
    assert heard(switch)[-1] == ("play", "choices-pl-0")

    end_sound(call)
    press("1")

    assert fresh(call).queue == queue


def test_a_caller_who_gives_up_in_a_menu_was_not_answered(menu, switch):
    call = call_in()
    give_up(call)
    later(call, 100)

    call = fresh(call)
    assert (call.disposition, call.hung_up_by, call.wait_seconds) == ("NO ANSWER", "customer", 0)
