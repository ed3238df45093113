"""The actions of the desk on states and calls, each by its verb, for the agent of the user and for no other."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.models import Attempt
from telephony.calls import commands
from telephony.models import Agent, AgentLine, AgentState, CallCommand, Connection
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.desk.agents import Desk, campaign_talk, desk_of, errors_of, talk
from tests.telephony.factories import (
    CallBackFactory,
    ConnectionFactory,
    ConnectionTopicFactory,
    LegFactory,
    MissedCallerFactory,
    OfferFactory,
    PauseFactory,
    QueueFactory,
    TopicFactory,
    TransferShortcutFactory,
)
from tests.tickets.factories import CustomerFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


# State


def test_an_agent_logs_in_pauses_is_ready_and_logs_out():
    desk = desk_of(is_logged_in=False)
    lunch = PauseFactory(name="Lunch")

    states = []
    for action, form in (("log-in", {}), ("pause", {"pause_id": lunch.pk}), ("ready", {})):
        assert desk.act(action, **form).json() == {"errors": []}
        states.append(desk.state)
    desk.act("log-out")

    assert states == ["free", "paused", "free"]
    assert not AgentState.objects.filter(ended_at=None).exists()


@pytest.mark.parametrize(
    ("values", "action", "form", "said"),
    [
        ({}, "pause", {"pause_id": "999"}, "Pause not found."),
        ({"is_logged_in": False}, "ready", {}, "Log in first."),
        ({}, "begin-line", {}, "You have no standing line. A supervisor can give you one."),
        ({}, "call", {"phone_number": ""}, "Enter a number first."),
        ({}, "call", {"phone_number": "callme"}, "A phone number has no letters."),
        (
            {"number": ""},
            "call",
            {"phone_number": "+48225550107"},
            "You have no phone. A supervisor can enter your SIP number.",
        ),
    ],
)
def test_an_action_is_refused_in_words(values, action, form, said, switch_that_answers):
    desk = desk_of(**values)
    before = list(AgentState.objects.values())

    answer = desk.act(action, **form)

    assert (answer.status_code, errors_of(answer)) == (400, [said])
    assert list(AgentState.objects.values()) == before
    assert not Connection.objects.exists()
    assert not AgentLine.objects.exists()


def test_a_form_without_a_script_returns_to_the_desk(desk):
    answer = desk.post("/admin/desk/pause/", {"pause_id": "999"}, follow=True)

    assert answer.redirect_chain == [("/admin/desk/", 302)]
    assert "Pause not found." in answer.content.decode()


def test_the_outbound_mode_is_switched(desk):
    desk.act("mode", on="1")
    switched_on = Agent.objects.get(pk=desk.agent.pk).outbound_mode
    desk.act("mode", on="0")

    assert switched_on
    assert not Agent.objects.get(pk=desk.agent.pk).outbound_mode


def test_only_the_own_state_changes(desk, other):
    lunch = PauseFactory()

    desk.act("pause", pause_id=lunch.pk, agent=other.agent.pk, login="piotr")
    states = desk.state, other.state
    presence.pause(other.agent, ACTOR, lunch.pk)
    desk.act("ready")

    assert states == ("paused", "free")
    assert (desk.state, other.state) == ("free", "paused")


# After the call


def after(desk: Desk) -> tuple[str, str]:
    """Return the open state and the one after the call."""
    state = AgentState.objects.get(agent=desk.agent, ended_at=None)
    return state.kind, str(state.resumes_pause or state.resumes_as)


def test_a_pause_during_a_call_begins_after_it(desk):
    lunch, call = PauseFactory(name="Lunch"), talk(desk)
    assert "After this call:" in desk.part("state")

    desk.act("pause", pause_id=lunch.pk)
    asked = after(desk), "talking, then Lunch" in desk.part("state")
    desk.act("ready")
    changed = after(desk)
    desk.act("pause", pause_id=lunch.pk)
    presence.leave_call(desk.agent, call, timezone.now(), 30)
    wrapping_up = after(desk)
    presence.end_wrap_ups(timezone.now() + timedelta(minutes=1))

    assert asked == (("talking", "Lunch"), True)
    assert (changed, wrapping_up) == (("talking", "free"), ("wrap_up", "Lunch"))
    assert AgentState.objects.get(agent=desk.agent, ended_at=None).pause == lunch


def test_a_wrap_up_counts_down_and_is_extended_once(desk):
    call = campaign_talk(desk)
    now = timezone.now()
    Attempt.objects.update(ended_at=now, settle_at=now + timedelta(seconds=30))
    presence.leave_call(desk.agent, call, now, 30)
    due = AgentState.objects.get(ended_at=None).ends_at
    assert due
    shown = desk.part("state")

    desk.act("extend")
    desk.act("extend")

    assert f'data-until="{due.timestamp():.0f}"' in shown
    assert AgentState.objects.get(ended_at=None).ends_at == due + presence.EXTENSION
    assert Attempt.objects.get().settle_at == now + timedelta(seconds=30) + presence.EXTENSION
    assert ("One minute more" in shown, "One minute more" in desk.part("state")) == (True, False)


@pytest.mark.parametrize(
    ("minutes", "others", "seconds"),
    [
        (2, (), 120),
        (0, (), 10),
        (2, ("no topics",), 10),
        (2, ("not at the desk",), 10),
        (2, ("topic given",), 10),
    ],
)
def test_a_required_topic_holds_the_wrap_up_at_the_desk(desk, minutes, others, seconds):
    queue = QueueFactory(topic_minutes=minutes, wrap_up_seconds=10)
    topic = TopicFactory(group__queue=queue, is_active="no topics" not in others)
    call = talk(desk, inbound=True, queue=queue)
    if "not at the desk" not in others:
        desk.now()
    if "topic given" in others:
        ConnectionTopicFactory(connection=call, topic=topic)
    end = timezone.now().replace(microsecond=0)

    hang_up(call, end)

    state = AgentState.objects.get(ended_at=None)
    assert state.ends_at == end + timedelta(seconds=seconds)
    assert state.awaits_topic == (seconds == 120)


def hang_up(call: Connection, end: datetime) -> None:
    call.state, call.ended_at, call.disposition = "ended", end, "ANSWERED"
    call.save()
    assert call.agent
    presence.leave_call(call.agent, call, end, call.wrap_up_seconds)


def test_the_topic_ends_the_wait_and_ready_does_not(desk):
    lunch, queue = PauseFactory(name="Lunch"), QueueFactory(topic_minutes=2, wrap_up_seconds=0)
    topic = TopicFactory(group__queue=queue)
    call = talk(desk, inbound=True, queue=queue)
    desk.now()
    hang_up(call, timezone.now() - timedelta(seconds=5))

    desk.act("ready")
    desk.act("extend")
    held = after(desk), "Save the topic of the call" in desk.part("state")
    desk.act("pause", pause_id=lunch.pk)
    desk.act("topic", connection=call.uid, topic_id=topic.pk)
    presence.end_wrap_ups(timezone.now() + timedelta(seconds=1))

    assert held == (("wrap_up", "free"), True)
    assert AgentState.objects.get(ended_at=None).pause == lunch


def test_the_standing_line_begins_and_ends(switch_that_answers):
    desk = desk_of(has_line=True)

    desk.act("begin-line")
    begun = AgentLine.objects.get(agent=desk.agent)
    desk.act("end-line")

    assert begun.hangup_asked_at is None
    assert AgentLine.objects.get(agent=desk.agent).hangup_asked_at is not None


# Calls


def test_a_number_is_called_from_the_own_phone(desk):
    assert desk.act("call", phone_number="22 555 01 07").json() == {"errors": []}

    call = Connection.objects.get()
    assert (call.agent, call.src, call.dst_number, call.state) == (
        desk.agent,
        desk.agent.number,
        "+48225550107",
        "queued",
    )


def test_a_missed_caller_is_called_back(desk):
    queue = QueueFactory(members=[desk.agent])
    missed = MissedCallerFactory(connection__queue=queue, connection__src="+48225550107").connection
    shown = desk.part("missed")

    desk.act("call-back", connection=missed.uid)

    assert "+48225550107" in shown
    call = Connection.objects.get(direction="OUTBOUND")
    assert (call.agent, call.dst) == (desk.agent, "+48225550107")
    # While the call goes on, no other agent calls.
    assert desk.part("missed") == ""


@pytest.mark.parametrize(
    ("later", "said"),
    [
        ([{"inbound": True, "waiting": True}], None),
        ([{"talking": True, "state": "dialling", "answered_at": None}], None),
        ([{"unanswered": True}], "tried once"),
        ([{"unanswered": True, "disposition": "BUSY"}, {"unanswered": True}], "tried 2 times"),
        ([{"unanswered": True, "disposition": "FAILED", "rung": False}], ""),
        ([{"inbound": True, "unanswered": True}], ""),
    ],
)
def test_a_missed_caller_is_shown_unless_a_call_goes_on(desk, later, said):
    """`said` is None for a caller who is not shown."""
    queue, number = QueueFactory(members=[desk.agent]), "+48225550107"
    begin = timezone.now().replace(microsecond=0) - timedelta(minutes=9)
    MissedCallerFactory(connection__queue=queue, connection__src=number, connection__created_at=begin)
    for minute, values in enumerate(later, 1):
        is_rung = values.pop("rung", True)
        side = {"queue": queue, "src": number} if values.get("inbound") else {"dst": number}
        call = ConnectionFactory(**{"created_at": begin + timedelta(minutes=minute), **side, **values})
        if is_rung and call.direction == "OUTBOUND":
            LegFactory(connection=call)

    html = desk.part("missed")

    assert (number in html) == (said is not None)
    assert (said or "tried") in html or not said
    assert ("tried" in html) == bool(said)


def test_missed_callers_have_names_and_the_untried_come_first(desk):
    queue = QueueFactory(members=[desk.agent])
    customer = CustomerFactory(name="Jan", surname="Kowal", phone_numbers=["+48225550107"])
    now = timezone.now().replace(microsecond=0)
    for minutes, number in ((3, "+48225550199"), (2, "+48225550107")):
        at = now - timedelta(minutes=minutes)
        MissedCallerFactory(connection__queue=queue, connection__src=number, connection__created_at=at)
    LegFactory(connection=ConnectionFactory(unanswered=True, dst="+48225550107", created_at=now))

    html = desk.part("missed")

    assert f"<strong>{customer}</strong>" in html
    assert html.index("+48225550199") < html.index("+48225550107")


def test_a_caller_who_was_answered_or_is_called_back_in_turn_is_not_shown(desk):
    queue, number = QueueFactory(members=[desk.agent]), "+48225550107"
    MissedCallerFactory(connection__queue=queue, answered_by=ConnectionFactory())
    call = MissedCallerFactory(connection__queue=queue, connection__src=number).connection
    CallBackFactory(queue=queue, number=number, caller=call)

    assert desk.part("missed") == ""


def test_a_caller_of_another_queue_is_not_the_agents(desk, other):
    queue = QueueFactory(members=[other.agent])
    missed = MissedCallerFactory(connection__queue=queue).connection

    assert desk.part("missed") == ""
    assert desk.act("call-back", connection=missed.uid).status_code == 404
    assert Connection.objects.count() == 1


@pytest.mark.parametrize(("action", "kind"), [("hang-up", "hang_up"), ("hold", "hold"), ("resume", "resume")])
def test_the_own_call_is_commanded_or_the_refusal_of_the_switch_is_said(
    desk, switch_that_answers, action, kind, monkeypatch
):
    call = talk(desk, is_on_hold=action == "resume")
    assert ("Resume" in desk.part("call")) == (action == "resume")

    with monkeypatch.context() as patch:
        patch.setattr(commands, "is_connected", lambda: False)
        refused = desk.act(action, connection=call.uid)
    assert desk.act(action, connection=call.uid).json() == {"errors": []}

    command = CallCommand.objects.get()
    assert (command.connection, command.kind) == (call, kind)
    assert errors_of(refused) == ["No connection to the PBX."]


@pytest.mark.parametrize("target", ["queue", "agent", "shortcut", "number"])
def test_the_own_call_is_transferred(desk, other, switch_that_answers, target):
    call, queue = talk(desk), QueueFactory()
    shortcut = TransferShortcutFactory(number="+48225550199")
    forms: dict[str, Any] = {
        "queue": ({"queue_id": queue.pk, "number": ""}, {"queue_id": queue.pk}),
        "agent": ({"agent_number": other.agent.number, "number": "123"}, {"number": other.agent.number}),
        "shortcut": ({"transfer_shortcut_id": shortcut.pk, "number": ""}, {"number": "+48225550199"}),
        "number": ({"number": "22 555 01 98"}, {"number": "+48225550198"}),
    }
    form, arguments = forms[target]

    refused = desk.act("transfer", connection=call.uid, number="")
    assert errors_of(refused) == ["Choose where the call goes."]
    assert desk.act("transfer", connection=call.uid, **form).json() == {"errors": []}

    assert CallCommand.objects.get().arguments == arguments


def test_a_call_of_another_agent_is_not_found(desk, other, switch_that_answers):
    call = talk(other)
    talk(desk)

    for action in ("hang-up", "hold", "resume", "transfer"):
        answer = desk.act(action, connection=call.uid, number="+48225550198")
        assert (answer.status_code, errors_of(answer)) == (404, ["This call is not yours."]), action
    assert not CallCommand.objects.exists()


def test_a_caller_whose_call_rings_at_the_agent_cannot_be_hung_up(desk, switch_that_answers):
    call = OfferFactory(agent=desk.agent).connection
    presence.ring(desk.agent, call, timezone.now())
    assert "Your phone rings" in desk.part("call")

    assert desk.act("hang-up", connection=call.uid).status_code == 404
    assert not CallCommand.objects.exists()


def test_a_call_that_was_handed_on_is_not_commanded(desk, switch_that_answers):
    call = talk(desk)
    presence.leave_call(desk.agent, call, timezone.now(), 30)

    answer = desk.act("hang-up", connection=call.uid)

    assert (answer.status_code, errors_of(answer)) == (404, ["You have handed this call on."])
