"""Commands that are asked for at once, and commands that a switch that is away cannot carry out."""

from datetime import timedelta

import pytest
from django.utils import timezone

from callcentre.core.errors import Conflict, ErrorCode
from telephony.calls import commands, reconciliation, switch_requests
from telephony.models import CallCommand, Connection
from telephony.switch.base import SwitchUnreachable
from telephony.verbs import connections
from tests.conftest import ACTOR
from tests.serving import at_once
from tests.telephony.callers import ask, carry_out_all, free_agent, talk_out
from tests.telephony.factories import AgentFactory, ConnectionFactory

pytestmark = pytest.mark.django_db(transaction=True)

AWAY = "No connection to the PBX."


@pytest.fixture
def talking(switch):
    free_agent()
    return talk_out()


def refused(connection: Connection, kind: str) -> ErrorCode:
    with pytest.raises(Conflict) as refusal:
        commands.ask(ACTOR, connection, kind)
    return refusal.value.code


def test_hold_and_resume_at_once_are_done_in_their_order(talking, switch):
    commands.ask(ACTOR, talking, "hold")
    commands.ask(ACTOR, talking, "resume")
    carry_out_all()

    assert [command[0] for command in switch.told] == ["destroy_bridge", "play_music", "stop_music", "join"]
    assert list(CallCommand.objects.values_list("kind", "error")) == [("hold", ""), ("resume", "")]
    assert Connection.objects.get().is_on_hold is False


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("hold", "hold", ErrorCode.CALL_ON_HOLD),
        ("transfer", "hold", ErrorCode.CALL_NOT_TALKING),
        ("transfer", "transfer", ErrorCode.CALL_NOT_TALKING),
        ("hang_up", "hold", ErrorCode.CALL_OVER),
        ("hang_up", "hang_up", ErrorCode.CALL_OVER),
    ],
)
def test_earlier_open_commands_count_as_done(first, second, code, talking):
    commands.ask(ACTOR, talking, first, {"number": "102"})

    assert refused(talking, second) is code
    assert CallCommand.objects.get().kind == first


def test_one_of_two_simultaneous_holds_is_refused(talking):
    def ask():
        try:
            commands.ask(ACTOR, talking, "hold")
        except Conflict as refusal:
            return refusal.code.slug
        return "accepted"

    assert sorted(at_once([ask] * 2)) == ["accepted", "call_on_hold"]
    assert CallCommand.objects.count() == 1


# A switch that is away


@pytest.mark.parametrize("operation", ["hold", "hangup"])
def test_a_request_to_a_dead_switch_is_refused(operation, talking, switch, api):
    switch.refusals["ping"] = SwitchUnreachable("time-out")

    answer = api.post(f"/api/connections/{talking.uid}/{operation}")

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (409, 140309)
    assert not CallCommand.objects.exists()
    assert Connection.objects.get().state == "talking"


def test_a_retry_asks_the_switch_before_its_transaction(talking, switch, api):
    """The guard of all tests refuses it inside. A repetition needs no switch."""

    def hold():
        return api.post(f"/api/connections/{talking.uid}/hold", HTTP_IDEMPOTENCY_KEY="once")

    switch.refusals["ping"] = SwitchUnreachable("time-out")
    assert hold().status_code == 409
    switch.refusals.clear()
    assert hold().status_code == 204
    switch.refusals["ping"] = SwitchUnreachable("time-out")
    again = hold()
    assert (again.status_code, again["Idempotent-Replayed"]) == (204, "true")
    assert CallCommand.objects.count() == 1


def test_a_command_is_refused_without_a_connected_listener(api):
    call = ConnectionFactory(talking=True)

    answer = api.post(f"/api/connections/{call.uid}/hold")

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (409, 140309)


def test_a_call_that_is_not_placed_yet_can_be_given_up_without_the_switch():
    AgentFactory(number="101")
    call = connections.call(ACTOR, sip="101", phone_number="+48225550107")

    ask(call, "hang_up")

    assert Connection.objects.get().state == "ended"


@pytest.mark.parametrize("kind", ["hold", "hang_up", "transfer"])
def test_a_command_to_a_dead_switch_changes_nothing(kind, talking, switch):
    commands.ask(ACTOR, talking, kind, {"number": "102"})
    switch.refusals["ping"] = SwitchUnreachable("time-out")
    carry_out_all()

    call = Connection.objects.get()
    assert CallCommand.objects.get().error == AWAY
    assert (call.state, call.is_on_hold, switch.told) == ("talking", False, [])


def test_a_command_that_the_switch_does_not_answer_has_an_error(talking, switch):
    switch_requests.unsent.clear()
    commands.ask(ACTOR, talking, "hold")
    switch.refusals["destroy_bridge"] = SwitchUnreachable("time-out")
    carry_out_all()

    command = CallCommand.objects.get()
    assert (command.error, command.done_at is None) == (AWAY, False)
    # The requests are repeated as soon as the switch lists its channels.
    assert switch_requests.unsent.is_set()
    switch.refusals.clear()
    switch.told.clear()
    reconciliation.restore(talking.pk)
    assert [told[0] for told in switch.told] == ["destroy_bridge", "play_music"]


def test_a_command_that_waited_for_the_switch_too_long_is_not_done_out_of_the_blue(talking):
    commands.ask(ACTOR, talking, "hold")
    commands.ask(ACTOR, talking, "hang_up")
    CallCommand.objects.update(created_at=timezone.now() - commands.KEPT - timedelta(seconds=1))
    carry_out_all()

    assert list(CallCommand.objects.values_list("kind", "error")) == [("hold", AWAY), ("hang_up", "")]
    assert (Connection.objects.get().state, Connection.objects.get().is_on_hold) == ("ended", False)
