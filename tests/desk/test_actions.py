"""The actions of the desk: each does its verb for the agent of the user, and nothing for another agent."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.dialling import previews
from campaigns.models import Attempt, Record, RecordOffer
from telephony.calls import commands
from telephony.models import Agent, AgentLine, AgentState, CallCommand, Connection, ConnectionTopic
from telephony.verbs import presence
from tests.campaigns.factories import RecordFactory, RecordOfferFactory
from tests.conftest import ACTOR
from tests.desk.agents import Desk, campaign_talk, desk_of, errors_of, talk
from tests.telephony.factories import (
    ConnectionFactory,
    OfferFactory,
    PauseFactory,
    QueueFactory,
    TopicFactory,
    TopicFieldFactory,
    TransferShortcutFactory,
)
from tests.tickets.factories import ChatFactory
from tickets.models import Chat, ChatMessage

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


@pytest.fixture
def desk() -> Desk:
    return desk_of()


@pytest.fixture
def other() -> Desk:
    return desk_of("piotr")


# State


def test_an_agent_logs_in_pauses_is_ready_and_logs_out() -> None:
    desk = desk_of(is_logged_in=False)
    lunch = PauseFactory(name="Lunch")

    states = []
    for action, form in (("log-in", {}), ("pause", {"pause_id": lunch.pk}), ("ready", {})):
        assert desk.act(action, **form).json() == {"errors": []}
        states.append(desk.state)
    desk.act("log-out")

    assert states == ["free", "paused", "free"]
    assert not AgentState.objects.filter(ended_at=None).exists()


def test_a_change_is_that_of_the_user() -> None:
    desk = desk_of()
    chat = ChatFactory(agent=desk.agent)

    desk.act("write", chat=chat.pk, body="Good morning.")

    assert ChatMessage.objects.get().agent == desk.agent


def test_an_unknown_pause_is_refused_in_words(desk: Desk) -> None:
    answer = desk.act("pause", pause_id="999")

    assert (answer.status_code, errors_of(answer)) == (400, ["Pause not found."])
    assert desk.state == "free"


def test_an_agent_who_is_not_logged_in_cannot_be_ready() -> None:
    desk = desk_of(is_logged_in=False)

    assert errors_of(desk.act("ready")) == ["Log in first."]


def test_a_form_without_a_script_returns_to_the_desk(desk: Desk) -> None:
    answer = desk.post("/admin/desk/pause/", {"pause_id": "999"}, follow=True)

    assert answer.redirect_chain == [("/admin/desk/", 302)]
    assert "Pause not found." in answer.content.decode()


def test_the_outbound_mode_is_switched(desk: Desk) -> None:
    desk.act("mode", on="1")
    switched_on = Agent.objects.get(pk=desk.agent.pk).outbound_mode
    desk.act("mode", on="0")

    assert switched_on
    assert not Agent.objects.get(pk=desk.agent.pk).outbound_mode


def test_only_the_own_state_changes(desk: Desk, other: Desk) -> None:
    lunch = PauseFactory()

    desk.act("pause", pause_id=lunch.pk, agent=other.agent.pk, login="piotr")

    assert (desk.state, other.state) == ("paused", "free")


# The standing line


def test_the_standing_line_begins_and_ends(switch_that_answers: None) -> None:
    desk = desk_of(has_line=True)

    desk.act("begin-line")
    begun = AgentLine.objects.get(agent=desk.agent)
    desk.act("end-line")

    assert begun.hangup_asked_at is None
    assert AgentLine.objects.get(agent=desk.agent).hangup_asked_at is not None


def test_an_agent_without_a_standing_line_is_told_so(desk: Desk, switch_that_answers: None) -> None:
    assert errors_of(desk.act("begin-line")) == ["You have no standing line. A supervisor can give you one."]


# Calls


def test_a_number_is_called_from_the_own_phone(desk: Desk) -> None:
    assert desk.act("call", phone_number="22 555 01 07").json() == {"errors": []}

    call = Connection.objects.get()
    assert (call.agent, call.src, call.dst_number, call.state) == (
        desk.agent,
        desk.agent.number,
        "+48225550107",
        "queued",
    )


@pytest.mark.parametrize(
    ("number", "said"), [("", "Enter a number first."), ("callme", "A phone number has no letters.")]
)
def test_a_wrong_number_is_refused(desk: Desk, number: str, said: str) -> None:
    assert errors_of(desk.act("call", phone_number=number)) == [said]
    assert not Connection.objects.exists()


def test_an_agent_without_a_phone_calls_nobody() -> None:
    desk = desk_of(number="")

    assert errors_of(desk.act("call", phone_number="+48225550107")) == [
        "You have no phone. A supervisor can enter your SIP number."
    ]


def test_a_missed_caller_is_called_back(desk: Desk) -> None:
    queue = QueueFactory(members=[desk.agent])
    missed = ConnectionFactory(inbound=True, unanswered=True, queue=queue, src="+48225550107")
    shown = desk.part("missed")

    desk.act("call-back", connection=missed.uid)

    assert "+48225550107" in shown
    call = Connection.objects.get(direction="OUTBOUND")
    assert (call.agent, call.dst) == (desk.agent, "+48225550107")
    assert desk.part("missed") == ""


def test_a_caller_who_was_answered_later_is_not_missed(desk: Desk) -> None:
    queue = QueueFactory(members=[desk.agent])
    ConnectionFactory(inbound=True, unanswered=True, queue=queue, src="+48225550107")
    ConnectionFactory(inbound=True, queue=queue, src="+48225550107", created_at=timezone.now().replace(microsecond=0))

    assert desk.part("missed") == ""


def test_a_caller_of_another_queue_is_not_the_agents(desk: Desk, other: Desk) -> None:
    queue = QueueFactory(members=[other.agent])
    missed = ConnectionFactory(inbound=True, unanswered=True, queue=queue)

    assert desk.part("missed") == ""
    assert desk.act("call-back", connection=missed.uid).status_code == 404
    assert Connection.objects.count() == 1


@pytest.mark.parametrize(("action", "kind"), [("hang-up", "hang_up"), ("hold", "hold")])
def test_the_own_call_is_commanded(desk: Desk, switch_that_answers: None, action: str, kind: str) -> None:
    call = talk(desk)

    assert desk.act(action, connection=call.uid).json() == {"errors": []}

    command = CallCommand.objects.get()
    assert (command.connection, command.kind) == (call, kind)


def test_a_call_on_hold_is_resumed(desk: Desk, switch_that_answers: None) -> None:
    call = talk(desk, is_on_hold=True)
    assert "Resume" in desk.part("call")

    desk.act("resume", connection=call.uid)

    assert CallCommand.objects.get().kind == "resume"


def test_a_refusal_of_the_switch_is_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    call = talk(desk)
    monkeypatch.setattr(commands, "is_connected", lambda: False)

    assert errors_of(desk.act("hold", connection=call.uid)) == ["No connection to the PBX."]


@pytest.mark.parametrize("target", ["queue", "agent", "shortcut", "number"])
def test_the_own_call_is_transferred(desk: Desk, other: Desk, switch_that_answers: None, target: str) -> None:
    call, queue = talk(desk), QueueFactory()
    shortcut = TransferShortcutFactory(number="+48225550199")
    forms: dict[str, Any] = {
        "queue": ({"queue_id": queue.pk, "number": ""}, {"queue_id": queue.pk}),
        "agent": ({"agent_number": other.agent.number, "number": "123"}, {"number": other.agent.number}),
        "shortcut": ({"transfer_shortcut_id": shortcut.pk, "number": ""}, {"number": "+48225550199"}),
        "number": ({"number": "22 555 01 98"}, {"number": "+48225550198"}),
    }
    form, arguments = forms[target]

    assert desk.act("transfer", connection=call.uid, **form).json() == {"errors": []}

    assert CallCommand.objects.get().arguments == arguments


def test_a_transfer_without_a_target_is_refused(desk: Desk, switch_that_answers: None) -> None:
    call = talk(desk)

    assert errors_of(desk.act("transfer", connection=call.uid, number="")) == ["Choose where the call goes."]


@pytest.mark.parametrize("action", ["hang-up", "hold", "resume", "transfer"])
def test_a_call_of_another_agent_is_not_found(desk: Desk, other: Desk, switch_that_answers: None, action: str) -> None:
    call = talk(other)
    talk(desk)

    answer = desk.act(action, connection=call.uid, number="+48225550198")

    assert (answer.status_code, errors_of(answer)) == (404, ["This call is not yours."])
    assert not CallCommand.objects.exists()


def test_a_caller_whose_call_rings_at_the_agent_cannot_be_hung_up(desk: Desk, switch_that_answers: None) -> None:
    call = OfferFactory(agent=desk.agent).connection
    presence.ring(desk.agent, call, timezone.now())
    assert "Your phone rings" in desk.part("call")

    assert desk.act("hang-up", connection=call.uid).status_code == 404
    assert not CallCommand.objects.exists()


def test_a_call_that_was_handed_on_is_not_commanded(desk: Desk, switch_that_answers: None) -> None:
    call = talk(desk)
    presence.leave_call(desk.agent, call, timezone.now(), 30)

    answer = desk.act("hang-up", connection=call.uid)

    assert (answer.status_code, errors_of(answer)) == (404, ["You have handed this call on."])


# Topics


def test_the_topic_of_an_inbound_call_is_set(desk: Desk) -> None:
    queue = QueueFactory()
    topic = TopicFactory(group__queue=queue, name="Invoice", show_custom_fields=True)
    field = TopicFieldFactory(queue=queue, name="Number of the invoice", is_required=True)
    call = talk(desk, inbound=True, queue=queue)
    assert "Invoice" in desk.part("topic")

    refused = desk.act("topic", connection=call.uid, topic_id=topic.pk, comment="")
    desk.act("topic", connection=call.uid, topic_id=topic.pk, comment="Wrong sum.", **{f"field_{field.pk}": "FV 7"})

    assert errors_of(refused) == ['The field "Number of the invoice" is required.']
    stored = ConnectionTopic.objects.get()
    assert (stored.topic, stored.agent, stored.comment) == (topic, desk.agent, "Wrong sum.")
    assert stored.fields == [{"field_id": field.pk, "value": "FV 7"}]


def test_the_topic_of_another_agents_call_is_not_set(desk: Desk, other: Desk) -> None:
    queue = QueueFactory()
    topic = TopicFactory(group__queue=queue)
    call = talk(other, inbound=True, queue=queue)

    assert desk.act("topic", connection=call.uid, topic_id=topic.pk).status_code == 404
    assert not ConnectionTopic.objects.exists()


# Results


def status_of(call: Connection, name: str) -> int:
    return Attempt.objects.get(connection_id=call.pk).campaign.statuses.get(name=name).pk  # type: ignore[union-attr]


def kept_result() -> dict[str, Any]:
    result: Any = Attempt.objects.get().result
    values: dict[str, Any] = result["values"]
    return values


def test_a_result_is_given_with_note_fields_and_next_call(desk: Desk) -> None:
    call = campaign_talk(desk, campaign__fields=["city"])
    field = Attempt.objects.get().campaign.fields.get()  # type: ignore[union-attr]

    desk.act(
        "result",
        connection=call.uid,
        status_id=status_of(call, "Call later"),
        next_call_date="2027-03-04T10:30",
        note="Calls back.\r\nAt noon.",
        **{f"field_{field.pk}": "Gdynia"},
    )

    kept = kept_result()
    assert kept["status_id"] == status_of(call, "Call later")
    assert kept["last_note"] == "Calls back.\nAt noon."
    assert kept["next_call_at"].startswith("2027-03-04T09:30")
    assert kept["fields"] == {"city": "Gdynia"}
    shown = desk.part("record")
    assert 'aria-pressed="true"' in shown
    assert 'value="2027-03-04T10:30"' in shown


def test_an_own_record_is_assigned_to_the_agent(desk: Desk) -> None:
    call = campaign_talk(desk)
    status = Attempt.objects.get().campaign.statuses.get(system_status="MY_RECORD")  # type: ignore[union-attr]

    refused = desk.act("result", connection=call.uid, status_id=status.pk)
    desk.act("result", connection=call.uid, status_id=status.pk, next_call_date="2027-03-04T10:30")

    assert errors_of(refused) == ["Enter the time of the next call first."]
    assert kept_result()["agent_login"] == "anna"


def test_the_result_of_another_agents_call_is_not_given(desk: Desk, other: Desk) -> None:
    call = campaign_talk(other)

    answer = desk.act("result", connection=call.uid, status_id=status_of(call, "Contacted"))

    assert answer.status_code == 404
    assert Attempt.objects.get().result is None


def test_a_result_that_comes_too_late_is_refused(desk: Desk) -> None:
    call = campaign_talk(desk)
    Attempt.objects.update(ended_at=timezone.now() - timedelta(minutes=6))

    answer = desk.act("result", connection=call.uid, status_id=status_of(call, "Contacted"))

    assert errors_of(answer) == ["A result can be given until five minutes after the call."]


# Offers


@pytest.fixture
def offer(desk: Desk) -> RecordOffer:
    found: RecordOffer = RecordOfferFactory(agent=desk.agent, record__campaign__is_dialling=True)
    return found


def test_an_offered_record_is_skipped_with_a_reason(desk: Desk, offer: RecordOffer) -> None:
    assert desk.act("skip", offer=offer.pk, reason="Called yesterday.").json() == {"errors": []}

    offer.refresh_from_db()
    assert (offer.end, offer.reason, desk.state) == ("skipped", "Called yesterday.", "free")


def test_an_offered_record_is_called(desk: Desk, offer: RecordOffer, switch_that_answers: None) -> None:
    assert desk.act("accept", offer=offer.pk).json() == {"errors": []}

    offer.refresh_from_db()
    assert (offer.end, desk.state) == ("accepted", "ringing")
    assert Connection.objects.get().agent == desk.agent


def test_an_offer_without_a_switch_is_refused_in_words(
    desk: Desk, offer: RecordOffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "is_connected", lambda: False)

    assert errors_of(desk.act("accept", offer=offer.pk)) == ["No connection to the PBX."]


@pytest.mark.parametrize("action", ["accept", "skip"])
def test_an_offer_to_another_agent_is_not_found(
    desk: Desk, other: Desk, offer: RecordOffer, switch_that_answers: None, action: str
) -> None:
    answer = other.act(action, offer=offer.pk)

    offer.refresh_from_db()
    assert (answer.status_code, offer.ended_at) == (404, None)


@pytest.mark.parametrize("action", ["accept", "skip"])
def test_an_offer_that_is_over_does_not_stand_for_the_next_one(
    desk: Desk, offer: RecordOffer, switch_that_answers: None, action: str
) -> None:
    desk.act("skip", offer=offer.pk)
    following = RecordOfferFactory(agent=desk.agent, record=RecordFactory(campaign=offer.campaign))

    answer = desk.act(action, offer=offer.pk)

    following.refresh_from_db()
    assert errors_of(answer) == ["This record is not offered to you any more."]
    assert following.ended_at is None
    assert Record.objects.filter(leased_by=f"offer:{following.pk}").exists()


# Chats


def test_a_waiting_chat_of_the_own_queue_is_answered(desk: Desk) -> None:
    chat = ChatFactory(queue=QueueFactory(members=[desk.agent]), client_name="Jan Kowal")
    assert "Jan Kowal" in desk.part("chats")

    assert desk.act("write", chat=chat.pk, body="Good morning.").json() == {"errors": []}

    chat.refresh_from_db()
    assert (chat.agent, chat.messages.get().body) == (desk.agent, "Good morning.")
    assert "Good morning." in desk.part("conversation", chat_id=chat.pk)


def test_a_chat_is_taken_and_closed(desk: Desk) -> None:
    chat = ChatFactory(queue=QueueFactory(members=[desk.agent]))

    desk.act("take-chat", chat=chat.pk)
    taken = Chat.objects.get()
    desk.act("end-chat", chat=chat.pk)

    assert taken.agent == desk.agent
    assert Chat.objects.get().closed_at is not None


def test_an_empty_answer_is_refused(desk: Desk) -> None:
    chat = ChatFactory(agent=desk.agent)

    assert errors_of(desk.act("write", chat=chat.pk, body=" ")) == ["This field is required."]


def test_a_closed_chat_takes_no_answer(desk: Desk) -> None:
    chat = ChatFactory(agent=desk.agent, closed_at=timezone.now())

    assert errors_of(desk.act("write", chat=chat.pk, body="Hello")) == ["The chat is closed."]
    assert "The chat is closed." in desk.part("conversation", chat_id=chat.pk)


def of_another_agent(other: Desk) -> Chat:
    chat: Chat = ChatFactory(agent=other.agent)
    return chat


def of_another_queue(other: Desk) -> Chat:
    chat: Chat = ChatFactory(queue=QueueFactory(members=[other.agent]))
    return chat


@pytest.mark.parametrize("make", [of_another_agent, of_another_queue])
@pytest.mark.parametrize("action", ["write", "take-chat", "end-chat"])
def test_a_chat_of_others_is_not_found(desk: Desk, other: Desk, action: str, make: Callable[[Desk], Chat]) -> None:
    chat = make(other)
    ChatMessage.objects.create(chat=chat, body="My secret")

    answer = desk.act(action, chat=chat.pk, body="Hello")

    assert (answer.status_code, errors_of(answer)) == (404, ["This chat is not yours."])
    assert "My secret" not in str(desk.now(chat_id=chat.pk))
    chat.refresh_from_db()
    assert (chat.messages.count(), chat.closed_at) == (1, None)


def test_a_waiting_chat_of_a_colleague_of_the_queue_is_closed_by_its_agent_only(desk: Desk) -> None:
    chat = ChatFactory(queue=QueueFactory(members=[desk.agent]))

    assert desk.act("end-chat", chat=chat.pk).status_code == 404


@pytest.mark.parametrize("chat", ["", "nonsense", "00000000-0000-0000-0000-000000000000"])
def test_a_chat_that_is_none_is_not_found(desk: Desk, chat: str) -> None:
    assert desk.act("write", chat=chat, body="Hello").status_code == 404
    desk.now(chat_id=chat)


@pytest.mark.parametrize("action", ["hold", "topic", "result", "call-back", "accept", "skip"])
@pytest.mark.parametrize("given", ["", "nonsense", "1.1", "9" * 30])
def test_an_id_that_is_none_is_not_found(desk: Desk, action: str, given: str) -> None:
    assert desk.act(action, connection=given, offer=given, status_id=given).status_code == 404


def test_presence_of_another_agent_stays(desk: Desk, other: Desk) -> None:
    presence.pause(other.agent, ACTOR, PauseFactory().pk)

    desk.act("ready")

    assert other.state == "paused"
