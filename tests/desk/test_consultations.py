"""Consultations at the desks of both agents."""

from typing import Any

import pytest
from django.utils import timezone

from telephony.models import CallCommand, Connection
from telephony.verbs import presence
from tests.desk.agents import Desk, talk
from tests.desk.test_incoming import bar_of
from tests.telephony.factories import ConsultationFactory, LegFactory, TransferFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("plain_static", "switch_that_answers"),
]


@pytest.fixture
def call(desk):
    """A talk of the first agent with a customer."""
    call = talk(desk)
    LegFactory(connection=call, agent=desk.agent, role="agent")
    return call


def consult(call: Connection, desk: Desk, other: Desk, *, is_picked_up: bool = True, note: str = "") -> None:
    """Let the first agent consult the other one."""
    Connection.objects.filter(pk=call.pk).update(is_on_hold=True)
    at = call.created_at if is_picked_up else None
    ConsultationFactory(connection=call, from_agent=desk.agent, agent=other.agent, up_at=at, note=note)
    LegFactory(connection=call, agent=other.agent, role="consulted", up_at=at)
    presence.ring(other.agent, call, timezone.now())
    if is_picked_up:
        presence.talk(other.agent, call, timezone.now())


def buttons(desk: Desk) -> list[str]:
    part = desk.part("call")
    names = ("join", "hand-over", "end-consultation", "hold", "resume", "hang-up")
    return [name for name in names if f"/admin/desk/{name}/" in part]


def test_the_form_of_transfers_asks_first_and_takes_a_note(desk, other, call):
    form: dict[str, Any] = {"connection": call.uid, "agent_number": other.agent.number, "note": "Wants a refund"}
    desk.act("transfer", consult="1", **form)
    CallCommand.objects.update(done_at=timezone.now())
    desk.act("transfer", **form)

    found = CallCommand.objects.values_list("kind", "arguments")
    arguments = {"number": other.agent.number, "note": "Wants a refund"}
    assert list(found) == [("consult", arguments), ("transfer", arguments)]


@pytest.mark.parametrize(
    ("stage", "mine"),
    [
        ("rings", ["hand-over", "end-consultation", "hang-up"]),
        ("apart", ["join", "hand-over", "end-consultation", "hang-up"]),
        ("joined", ["hand-over", "end-consultation", "hold", "hang-up"]),
    ],
)
def test_each_agent_has_the_buttons_of_the_stage(desk, other, call, stage, mine):
    consult(call, desk, other, is_picked_up=stage != "rings")
    Connection.objects.update(is_on_hold=stage != "joined")

    assert (buttons(desk), buttons(other)) == (mine, ["end-consultation"])
    assert desk.part("transfer") == ""


def test_both_agents_command_it(desk, other, call):
    consult(call, desk, other)
    for action in ("join", "hand-over"):
        assert desk.act(action, connection=call.uid).json() == {"errors": []}
        assert other.act(action, connection=call.uid).status_code == 404
        CallCommand.objects.update(done_at=timezone.now())
    assert other.act("hang-up", connection=call.uid).status_code == 404
    assert other.act("end-consultation", connection=call.uid).json() == {"errors": []}

    assert list(CallCommand.objects.values_list("kind", flat=True)) == ["join", "hand_over", "return"]


def test_the_consulted_agent_is_rung_and_sees_the_note(desk, other, call):
    consult(call, desk, other, is_picked_up=False, note="Wants a refund")
    rung = bar_of(other)

    assert 'data-sound="ring"' in rung
    assert f"{desk.agent.full_name} asks you about" in rung
    assert "Wants a refund" in rung
    assert "Wants a refund" in other.part("call")
    assert "Wants a refund" not in bar_of(desk)


def test_the_agent_to_whom_a_call_is_transferred_is_rung_and_sees_the_note(desk, other, call):
    TransferFactory(connection=call, from_agent=desk.agent, actor_kind="agent", note="Wants a refund")
    presence.leave_call(desk.agent, call, timezone.now())
    Connection.objects.update(state="dialling")
    presence.ring(other.agent, call, timezone.now())
    rung = bar_of(other)
    Connection.objects.update(state="talking", agent=other.agent)
    presence.talk(other.agent, call, timezone.now())

    assert ("Incoming call" in rung, "Wants a refund" in rung, "Wants a refund" in bar_of(other)) == (True, True, True)


def test_an_agent_reads_why_a_colleague_was_not_reached(desk, other, call):
    ConsultationFactory(
        connection=call,
        from_agent=desk.agent,
        agent=other.agent,
        up_at=None,
        ended_at=timezone.now(),
        cause_text="User busy",
    )

    assert f"Not reached: {other.agent.full_name}: User busy" in desk.part("call")
