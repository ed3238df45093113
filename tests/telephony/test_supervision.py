"""Supervisors in the calls of others: rows, requests to the switch, and what the call and its agent notice."""

from typing import Any

import pytest
from django.utils import timezone

from callcentre.core.audit import AuditEntry
from callcentre.core.errors import Conflict, ErrorCode, Invalid
from telephony.calls import commands, reconciliation, switch_events
from telephony.models import Agent, AgentSession, CallCommand, Connection, Supervision
from telephony.switch.base import Channel, Ended, SwitchError, Up
from tests.conftest import ACTOR
from tests.telephony.callers import (
    CALLER,
    carry_out_all,
    channel,
    distribute,
    free_agent,
    fresh,
    give_up,
    member,
    offers,
    repair,
    state,
    talk_in,
    talk_out,
)
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import AgentFactory, AgentLineFactory, BrowserPhoneFactory

pytestmark = pytest.mark.django_db(transaction=True)
Kind = CallCommand.Kind


@pytest.fixture
def talking(agent, switch):
    return talk_out()


@pytest.fixture
def boss():
    return free_agent("boss", "109")


def ask(call: Connection, kind: str, mode: str = "", sip: str = "109") -> None:
    commands.ask_monitor(ACTOR, fresh(call), kind, sip=sip, mode=mode)
    carry_out_all()


def join(call: Connection, mode: str = "listen") -> str:
    """Let the supervisor's phone be picked up. Return its channel; the requests up to then are forgotten."""
    ask(call, "monitor", mode)
    row = Supervision.objects.latest("id")
    switch_events.handle(Up(row.channel_id, timezone.now()))
    return row.channel_id


def hang_up(channel_id: str) -> None:
    switch_events.handle(Ended(channel_id, timezone.now(), 16))


def told(switch: RecordingSwitch) -> list[tuple[Any, ...]]:
    """The requests since the last look."""
    found, switch.told = switch.told, []
    return found


def test_a_supervisor_listens_whispers_and_barges_without_being_called_again(talking, boss, switch):
    coach = join(talking)
    begun = told(switch)
    for mode in ("whisper", "barge", "barge", "listen"):
        ask(talking, "monitor", mode)

    customer, bridge = channel(talking, 2), f"callcentre-{talking.pk}"
    assert begun == [("call_agent", coach, "109", CALLER), ("listen", coach, customer)]
    assert told(switch) == [("whisper", coach, customer), ("barge", coach, bridge), ("listen", coach, customer)]
    row = Supervision.objects.get()
    assert [mode for mode, _at in row.modes] == ["listen", "whisper", "barge", "listen"]
    assert (row.agent, row.actor_name, row.ended_at) == (boss, ACTOR.name, None)


def test_nothing_changes_for_the_call_and_its_agent(talking, agent, boss):
    coach = join(talking, "barge")
    hang_up(coach)

    call, row = fresh(talking), Supervision.objects.get()
    assert (call.state, call.agent, call.join_count, call.legs.filter(ended_at=None).count()) == (
        "talking",
        agent,
        1,
        2,
    )
    assert (state(agent), state(boss)) == ("talking", "free")
    assert row.ended_at is not None


def test_what_listening_needs_is_removed_when_the_supervisor_leaves(talking, boss, switch):
    coach = join(talking)
    told(switch)

    hang_up(coach)
    hang_up(coach)

    assert told(switch) == [("stop_listening", coach), ("hang_up", coach)]


def test_a_request_ends_it(talking, boss, switch):
    coach = join(talking)
    told(switch)

    ask(talking, "unmonitor")

    assert told(switch) == [("stop_listening", coach), ("hang_up", coach)]
    assert (Supervision.objects.get().ended_at is None, fresh(talking).state) == (False, "talking")


def test_the_end_of_the_call_ends_it(talking, boss, switch):
    coach = join(talking)
    told(switch)

    give_up(talking)

    assert [request for request in told(switch) if coach in request] == [("stop_listening", coach), ("hang_up", coach)]
    assert Supervision.objects.filter(ended_at=None).count() == 0


def test_a_phone_that_is_picked_up_after_the_call_is_hung_up(talking, boss, switch):
    ask(talking, "monitor", "listen")
    give_up(talking)
    told(switch)

    coach = Supervision.objects.get().channel_id
    switch_events.handle(Up(coach, timezone.now()))

    assert told(switch) == [("stop_listening", coach), ("hang_up", coach)]


def test_one_who_barges_leaves_the_talk_on_hold_and_comes_back(talking, boss, switch):
    coach = join(talking, "barge")
    told(switch)

    commands.ask(ACTOR, fresh(talking), Kind.HOLD)
    commands.ask(ACTOR, fresh(talking), Kind.RESUME)
    carry_out_all()

    customer, bridge = channel(talking, 2), f"callcentre-{talking.pk}"
    assert told(switch) == [
        ("destroy_bridge", bridge),
        ("whisper", coach, customer),
        ("play_music", customer, "default"),
        ("stop_music", customer),
        ("join", bridge, channel(talking, 1), customer),
        ("barge", coach, bridge),
    ]


def test_a_transfer_keeps_the_supervisor_with_the_customer(talking, boss, switch):
    next_agent = free_agent("bert", "102")
    coach = join(talking, "barge")
    told(switch)

    commands.ask_transfer(ACTOR, fresh(talking), [], number="102")
    carry_out_all()
    switch_events.handle(Up(channel(talking, 3), timezone.now()))

    mine = [request[0] for request in told(switch) if coach in request]
    assert mine == ["whisper", "barge"]
    assert (fresh(talking).agent, Supervision.objects.get().ended_at) == (next_agent, None)


def test_a_call_that_is_taken_over_is_that_of_the_supervisor(queue, anna, boss, switch):
    call = talk_in()
    coach = join(call)
    told(switch)

    ask(call, "take_over")
    moves = [request for request in told(switch) if request[0] in ("stop_listening", "hang_up", "join")]

    bridge = f"callcentre-{call.pk}"
    assert moves == [("hang_up", f"{bridge}-2"), ("stop_listening", coach), ("join", bridge, "caller-1", coach)]
    assert (fresh(call).agent, state(boss), state(anna)) == (boss, "talking", "wrap_up")
    assert offers(call) == [("anna", "answered"), ("boss", "answered")]
    hang_up(coach)
    over = fresh(call)
    assert (over.state, over.hung_up_by, over.disposition, state(boss)) == ("ended", "agent", "ANSWERED", "wrap_up")


def test_a_call_out_that_is_taken_over_has_a_talk_of_each(talking, agent, boss):
    join(talking, "barge")
    ask(talking, "take_over")
    give_up(talking)

    assert list(fresh(talking).talks.values_list("agent__login", flat=True)) == [agent.login, "boss"]
    assert Supervision.objects.get().mode == "take_over"


def refusal(call: Connection, kind: str, mode: str = "listen", sip: str = "109") -> ErrorCode | None:
    try:
        ask(call, kind, mode if kind == "monitor" else "", sip)
    except Conflict as error:
        return error.code
    except Invalid as error:
        return error.faults[0].code
    return None


def test_a_phone_that_cannot_listen_is_refused(talking, boss):
    AgentLineFactory(agent=AgentFactory(login="lined", number="201", has_line=True), state="up")
    BrowserPhoneFactory(agent__login="browser", agent__number="202")

    found = {sip: refusal(talking, "monitor", sip=sip) for sip in ("101", "201", "202", "999")}
    found["nobody takes over"] = refusal(talking, "take_over")
    found["nobody leaves"] = refusal(talking, "unmonitor")

    assert found == {
        "101": ErrorCode.PHONE_OCCUPIED,
        "201": ErrorCode.PHONE_OCCUPIED,
        "202": ErrorCode.PHONE_NOT_CONNECTED,
        "999": ErrorCode.SIP_UNKNOWN,
        "nobody takes over": ErrorCode.NOT_MONITORED,
        "nobody leaves": ErrorCode.NOT_MONITORED,
    }
    assert Supervision.objects.count() == 0


def test_a_caller_who_waits_is_not_listened_to(queue, boss, switch):
    from tests.telephony.callers import call_in

    assert refusal(call_in(), "monitor") == ErrorCode.CALL_NOT_TALKING


def test_the_phone_of_a_supervisor_gets_no_call(queue, talking, switch):
    member(queue, "boss", "109")
    join(talking)
    from tests.telephony.callers import call_in

    call = call_in()
    distribute()
    before = offers(call)
    ask(talking, "unmonitor")
    distribute()

    assert (before, offers(call)) == ([], [("boss", "ringing")])


def test_a_phone_that_the_switch_refuses_or_that_is_not_picked_up_frees_the_supervisor(talking, boss, switch):
    switch.refusals["call_agent"] = SwitchError("No such phone.")
    ask(talking, "monitor", "listen")
    del switch.refusals["call_agent"]
    ask(talking, "monitor", "listen")
    switch_events.handle(Ended(Supervision.objects.latest("id").channel_id, timezone.now(), 19, "480"))

    reasons = Supervision.objects.exclude(ended_at=None).values_list("cause_text", flat=True)
    assert list(reasons) == ["No such phone.", "User alerting, no answer"]


def test_a_listener_that_was_killed_has_left_nothing(talking, boss, switch):
    coach = join(talking)
    Supervision.objects.update(ended_at=timezone.now())
    legs = [Channel(channel(talking, number), is_up=True) for number in (1, 2)]
    switch.listed = [*legs, Channel(coach, is_up=True), Channel(f"{coach}-snoop", is_up=True)]
    switch.listed_bridges = [f"callcentre-{talking.pk}", coach]
    told(switch)

    repair(looks=1)

    assert told(switch) == [("stop_listening", coach), ("hang_up", coach)]


def test_a_supervisor_whose_phone_was_picked_up_unheard_hears_the_call(talking, boss, switch):
    ask(talking, "monitor", "whisper")
    coach = Supervision.objects.get().channel_id
    legs = [Channel(channel(talking, number), is_up=True) for number in (1, 2)]
    switch.listed = [*legs, Channel(coach, is_up=True)]
    told(switch)

    repair(looks=1)
    reconciliation.restore(talking.pk)

    assert [request for request in told(switch) if coach in request] == 2 * [("whisper", coach, channel(talking, 2))]


def test_a_switch_that_was_restarted_has_no_supervisors(talking, boss, switch):
    join(talking)

    repair()

    assert (fresh(talking).state, Supervision.objects.filter(ended_at=None).count()) == ("ended", 0)


def test_the_audit_log_says_who_listened_to_what(talking, boss):
    coach = join(talking)
    ask(talking, "monitor", "whisper")
    hang_up(coach)

    entries = AuditEntry.objects.filter(model="telephony.connection", object_id=str(talking.pk)).order_by("id")
    assert list(entries.values_list("action", "actor_name", "changes__agent", "changes__mode")) == [
        ("monitor", ACTOR.name, [None, "boss"], [None, "listen"]),
        ("monitor", ACTOR.name, [None, "boss"], [None, "whisper"]),
        ("end_monitoring", ACTOR.name, ["boss", None], ["whisper", None]),
    ]


def test_a_call_ends_by_a_supervisor_with_a_reason(talking):
    commands.ask_end(ACTOR, fresh(talking), "Threats")
    carry_out_all()

    entry = AuditEntry.objects.get(model="telephony.connection")
    assert (entry.action, entry.changes) == ("end_call", {"reason": [None, "Threats"]})
    assert (fresh(talking).hung_up_by, fresh(talking).state) == ("system", "ended")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [("", "text/plain"), ("a=1", "text/plain"), ("[1]", "application/json"), ("{", "application/json")],
)
def test_who_sends_another_body_than_a_reason_gives_none(api, body, content_type):
    """The interface had no body here."""
    agent = free_agent("boss", "109")

    assert api.post("/api/agents/boss/logout", body, content_type=content_type).status_code == 204
    assert AgentSession.objects.get(agent=agent).reason == ""


def test_a_call_without_supervisors_has_no_more_statements(talking, django_assert_num_queries, monkeypatch):
    from telephony.calls import bridges

    with django_assert_num_queries(0):
        bridges._follow(talking, is_in_talk=True)
        assert bridges.supervisors_in(talking) == []


def test_a_supervisor_who_barges_waits_with_the_customer_for_a_lost_phone(agent, boss, switch):
    Agent.objects.filter(pk=agent.pk).update(uses_browser_phone=True)
    call = talk_out()
    coach = join(call, "barge")
    told(switch)

    switch_events.handle(Ended(channel(call, 1), timezone.now(), 44))
    lost = [request[0] for request in told(switch)]
    ask(call, "take_over")

    assert lost == ["destroy_bridge", "whisper", "play_music"]
    assert (fresh(call).agent_lost_at, fresh(call).agent) == (None, boss)
    assert told(switch)[-1] == ("join", f"callcentre-{call.pk}", channel(call, 2), coach)
