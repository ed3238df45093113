"""Commands to open calls, carried out once and in order."""

import pytest
from django.db import OperationalError
from django.utils import timezone

from callcentre.core.errors import Conflict, ErrorCode, Invalid
from telephony.calls import commands, placement, reconciliation, switch_events
from telephony.models import AgentState, CallCommand, Connection, Leg, Transfer, TransferShortcut
from telephony.switch.base import Ended, Up
from telephony.verbs import connections
from tests.conftest import ACTOR
from tests.telephony.callers import ask, carry_out_all, channel, free_agent, fresh, talk_out
from tests.telephony.factories import QueueFactory

pytestmark = pytest.mark.django_db(transaction=True)

NUMBER = "+48225550107"


@pytest.fixture
def talking(agent, switch):
    return talk_out()


def kinds() -> dict[str, str]:
    return dict(AgentState.objects.filter(ended_at=None).values_list("agent__login", "kind"))


def test_a_call_is_put_on_hold_and_resumed(talking, switch):
    ask(talking, "hold")
    held = fresh(talking).is_on_hold
    ask(talking, "resume")

    bridge, agent, customer = f"callcentre-{talking.pk}", channel(talking, 1), channel(talking, 2)
    assert switch.told == [
        ("destroy_bridge", bridge),
        ("play_music", customer, "default"),
        ("stop_music", customer),
        ("join", bridge, agent, customer),
    ]
    assert (held, fresh(talking).is_on_hold) == (True, False)


def test_a_call_is_hung_up(talking, switch):
    ask(talking, "hang_up")

    over = fresh(talking)
    assert (over.state, over.disposition, over.hung_up_by) == ("ended", "ANSWERED", "agent")
    assert [command[0] for command in switch.told] == ["hang_up", "hang_up", "destroy_bridge"]
    assert kinds() == {"anna": "free"}


def test_a_queued_call_can_be_hung_up(agent, switch):
    connection = connections.call(ACTOR, sip="101", phone_number=NUMBER)
    ask(connection, "hang_up")
    placement.place(connection.pk)

    assert (switch.told, fresh(connection).disposition) == ([], "FAILED")


def test_transfer_to_a_number(talking, switch):
    commands.ask_transfer(ACTOR, talking, [], number="22 555 01 99")
    carry_out_all()
    while_ringing, doing = fresh(talking).state, kinds()
    told = list(switch.told)
    switch_events.handle(Ended(channel(talking, 1), timezone.now(), 16))
    switch_events.handle(Up(channel(talking, 3), timezone.now()))

    bridge, agent, customer, target = f"callcentre-{talking.pk}", *(channel(talking, n) for n in (1, 2, 3))
    assert told == [
        ("hang_up", agent),
        ("destroy_bridge", bridge),
        ("play_music", customer, "default"),
        ("call_number", target, "+48225550199", ""),
    ]
    assert switch.told[len(told) :] == [("stop_music", customer), ("join", bridge, customer, target)]
    assert (while_ringing, fresh(talking).state, doing) == ("dialling", "talking", {"anna": "free"})
    transfer = Transfer.objects.get()
    assert (transfer.number, transfer.from_agent, transfer.actor_name) == ("+48225550199", talking.agent, ACTOR.name)


def test_transfer_to_another_agents_phone(talking, switch):
    other = free_agent("piotr", "102")
    commands.ask_transfer(ACTOR, talking, [], number="102")
    carry_out_all()
    ringing = kinds()
    switch_events.handle(Up(channel(talking, 3), timezone.now()))
    talking_now = kinds()
    switch_events.handle(Ended(channel(talking, 3), timezone.now(), 16))

    assert ("call_agent", channel(talking, 3), "102", NUMBER) in switch.told
    assert ringing == {"anna": "free", "piotr": "ringing"}
    assert talking_now == {"anna": "free", "piotr": "talking"}
    assert kinds() == {"anna": "free", "piotr": "free"}
    assert (fresh(talking).agent, fresh(talking).hung_up_by) == (other, "agent")


def test_a_customer_who_hangs_up_as_the_target_rings_ends_the_call(talking, switch):
    commands.ask_transfer(ACTOR, talking, [], number="22 555 01 99")
    carry_out_all()
    switch_events.handle(Ended(channel(talking, 2), timezone.now(), 16))

    assert fresh(talking).hung_up_by == "customer"
    assert ("hang_up", channel(talking, 3)) in switch.told


@pytest.mark.parametrize("how", ["the customer hangs up", "it is hung up", "it is lost"])
def test_a_call_that_ends_while_a_target_rings_lets_that_agent_go(how, talking):
    free_agent("piotr", "102")
    commands.ask_transfer(ACTOR, talking, [], number="102")
    carry_out_all()

    if how == "the customer hangs up":
        switch_events.handle(Ended(channel(talking, 2), timezone.now(), 16))
    elif how == "it is hung up":
        commands.ask(ACTOR, fresh(talking), "hang_up")
        carry_out_all()
    else:
        reconciliation.end_lost_legs(talking.pk, [channel(talking, n) for n in (1, 2, 3)], timezone.now())
    switch_events.handle(Ended(channel(talking, 3), timezone.now(), 26))

    assert (fresh(talking).state, kinds()) == ("ended", {"anna": "free", "piotr": "free"})


def test_transfer_to_a_queue(talking, switch):
    queue = QueueFactory(music_class="jazz")
    commands.ask_transfer(ACTOR, talking, [], queue_id=queue.pk)
    carry_out_all()

    assert (fresh(talking).state, fresh(talking).queue) == ("waiting", queue)
    assert ("play_music", channel(talking, 2), "jazz") in switch.told
    assert Leg.objects.get(channel_id=channel(talking, 1)).hangup_asked_at is not None
    assert kinds() == {"anna": "free"}


def test_a_shortcut_leads_where_it_says(talking):
    shortcut = TransferShortcut.objects.create(name="Office", number="22 555 01 99")
    commands.ask_transfer(ACTOR, talking, [], transfer_shortcut_id=shortcut.pk)

    assert CallCommand.objects.get().arguments == {"number": "+48225550199"}


@pytest.mark.parametrize(
    ("target", "code", "field"),
    [
        ({}, ErrorCode.TRANSFER_TARGET, ""),
        ({"number": "102", "queue_id": 1}, ErrorCode.TRANSFER_TARGET, ""),
        ({"number": "CALL-ME"}, ErrorCode.PHONE_LETTERS, "number"),
        ({"queue_id": 0}, ErrorCode.QUEUE_UNKNOWN, "queue_id"),
        ({"transfer_shortcut_id": 0}, ErrorCode.SHORTCUT_UNKNOWN, "transfer_shortcut_id"),
    ],
)
def test_a_transfer_needs_a_target(talking, target, code, field):
    with pytest.raises(Invalid) as refusal:
        commands.ask_transfer(ACTOR, talking, [], **target)

    assert (code, field) in [(fault.code, fault.field) for fault in refusal.value.faults]
    assert not CallCommand.objects.exists()


@pytest.mark.parametrize(
    ("state", "is_on_hold", "kind", "code"),
    [
        ("ended", False, "hang_up", ErrorCode.CALL_OVER),
        ("dialling", False, "hold", ErrorCode.CALL_NOT_TALKING),
        ("talking", True, "hold", ErrorCode.CALL_ON_HOLD),
        ("talking", False, "resume", ErrorCode.CALL_NOT_ON_HOLD),
        ("waiting", False, "transfer", ErrorCode.CALL_NOT_TALKING),
    ],
)
def test_a_call_in_another_state_is_left_alone(state, is_on_hold, kind, code):
    connection = Connection(state=state, is_on_hold=is_on_hold)
    connection.all_legs = []

    with pytest.raises(Conflict) as refusal:
        commands.ask(ACTOR, connection, kind, {"number": "102"})

    assert refusal.value.code is code
    assert not CallCommand.objects.exists()


def test_a_command_that_comes_too_late_says_so(talking, switch):
    commands.ask(ACTOR, talking, "hold")
    switch_events.handle(Ended(channel(talking, 2), timezone.now(), 16))
    switch.told.clear()
    carry_out_all()

    assert switch.told == []
    assert CallCommand.objects.get(error="The call is over.").done_at is not None


def test_a_command_is_carried_out_once(talking, switch):
    command = commands.ask(ACTOR, talking, "hold")
    for _ in range(2):
        commands.carry_out(command.pk, talking.pk)

    assert len(switch.told) == 2


def test_a_command_that_fails_is_done_with_and_says_so(talking, monkeypatch):
    def stumble(*args):
        raise ValueError("a bug")

    monkeypatch.setitem(commands._VERBS, "hold", stumble)
    failing = commands.ask(ACTOR, talking, "hold")
    commands.ask(ACTOR, talking, "hang_up")
    carry_out_all()

    failing.refresh_from_db()
    assert (failing.error, commands.outstanding()) == ("The service failed: ValueError.", [])
    assert fresh(talking).state == "ended"


def test_a_command_waits_for_a_database_that_is_away(talking, monkeypatch):
    def lose(*args):
        raise OperationalError("gone")

    monkeypatch.setitem(commands._VERBS, "hold", lose)
    waiting = commands.ask(ACTOR, talking, "hold")

    with pytest.raises(OperationalError):
        carry_out_all()
    assert commands.outstanding() == [(waiting.pk, talking.pk)]
