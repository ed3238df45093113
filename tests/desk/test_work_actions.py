"""The actions of the desk on topics, results, offers and chats, for the agent of the user and for no other."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.dialling import previews
from campaigns.models import Attempt, Record, RecordOffer
from telephony.models import Connection, ConnectionTopic
from tests.campaigns.factories import RecordFactory, RecordOfferFactory
from tests.desk.agents import campaign_talk, errors_of, talk
from tests.telephony.factories import QueueFactory, TopicFactory, TopicFieldFactory
from tests.tickets.factories import ChatFactory
from tickets.models import Chat, ChatMessage

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def test_the_topic_of_an_own_inbound_call_is_set(desk, other):
    queue = QueueFactory()
    topic = TopicFactory(group__queue=queue, name="Invoice", show_custom_fields=True)
    field = TopicFieldFactory(queue=queue, name="Number of the invoice", is_required=True)
    call = talk(desk, inbound=True, queue=queue)
    assert "Invoice" in desk.part("topic")
    assert other.act("topic", connection=call.uid, topic_id=topic.pk).status_code == 404
    assert not ConnectionTopic.objects.exists()

    refused = desk.act("topic", connection=call.uid, topic_id=topic.pk, comment="")
    desk.act("topic", connection=call.uid, topic_id=topic.pk, comment="Wrong sum.", **{f"field_{field.pk}": "FV 7"})

    assert errors_of(refused) == ['The field "Number of the invoice" is required.']
    stored = ConnectionTopic.objects.get()
    assert (stored.topic, stored.agent, stored.comment) == (topic, desk.agent, "Wrong sum.")
    assert stored.fields == [{"field_id": field.pk, "value": "FV 7"}]


def status_of(call: Connection, name: str) -> int:
    return Attempt.objects.get(connection_id=call.pk).campaign.statuses.get(name=name).pk  # type: ignore[union-attr]


def kept_result() -> dict[str, Any]:
    result: Any = Attempt.objects.get().result
    values: dict[str, Any] = result["values"]
    return values


def test_a_result_is_given_with_note_fields_and_next_call(desk):
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


def test_an_own_record_is_assigned_to_the_agent(desk):
    call = campaign_talk(desk)
    status = Attempt.objects.get().campaign.statuses.get(system_status="MY_RECORD")  # type: ignore[union-attr]

    refused = desk.act("result", connection=call.uid, status_id=status.pk)
    desk.act("result", connection=call.uid, status_id=status.pk, next_call_date="2027-03-04T10:30")

    assert errors_of(refused) == ["Enter the time of the next call first."]
    assert kept_result()["agent_login"] == "anna"


def test_a_result_of_another_agents_call_or_one_too_late_is_refused(desk, other):
    call = campaign_talk(desk)
    answer = other.act("result", connection=call.uid, status_id=status_of(call, "Contacted"))
    assert answer.status_code == 404
    assert Attempt.objects.get().result is None
    Attempt.objects.update(ended_at=timezone.now() - timedelta(minutes=6))

    answer = desk.act("result", connection=call.uid, status_id=status_of(call, "Contacted"))

    assert errors_of(answer) == ["A result can be given until five minutes after the call."]


# Offers


@pytest.fixture
def offer(desk):
    found: RecordOffer = RecordOfferFactory(agent=desk.agent, record__campaign__is_dialling=True)
    return found


def test_an_offered_record_is_skipped_with_a_reason(desk, offer):
    assert desk.act("skip", offer=offer.pk, reason="Called yesterday.").json() == {"errors": []}

    offer.refresh_from_db()
    assert (offer.end, offer.reason, desk.state) == ("skipped", "Called yesterday.", "free")


def test_an_offered_record_is_called(desk, offer, switch_that_answers):
    assert desk.act("accept", offer=offer.pk).json() == {"errors": []}

    offer.refresh_from_db()
    assert (offer.end, desk.state) == ("accepted", "ringing")
    assert Connection.objects.get().agent == desk.agent


def test_an_offer_without_a_switch_is_refused_in_words(desk, offer, monkeypatch):
    monkeypatch.setattr(previews, "is_connected", lambda: False)

    assert errors_of(desk.act("accept", offer=offer.pk)) == ["No connection to the PBX."]


@pytest.mark.parametrize("action", ["accept", "skip"])
def test_an_offer_to_another_agent_is_not_found_and_one_that_is_over_does_not_stand_for_the_next(
    desk, other, offer, switch_that_answers, action
):
    answer = other.act(action, offer=offer.pk)
    offer.refresh_from_db()
    assert (answer.status_code, offer.ended_at) == (404, None)
    desk.act("skip", offer=offer.pk)
    following = RecordOfferFactory(agent=desk.agent, record=RecordFactory(campaign=offer.campaign))

    answer = desk.act(action, offer=offer.pk)

    following.refresh_from_db()
    assert errors_of(answer) == ["This record is not offered to you any more."]
    assert following.ended_at is None
    assert Record.objects.filter(leased_by=f"offer:{following.pk}").exists()


# Chats


def test_a_waiting_chat_of_the_own_queue_is_answered(desk):
    chat = ChatFactory(queue=QueueFactory(members=[desk.agent]), client_name="Jan Kowal")
    assert "Jan Kowal" in desk.part("chats")

    assert desk.act("write", chat=chat.pk, body="Good morning.").json() == {"errors": []}

    chat.refresh_from_db()
    assert (chat.agent, chat.messages.get().body) == (desk.agent, "Good morning.")
    assert "Good morning." in desk.part("conversation", chat_id=chat.pk)


def test_a_chat_is_taken_and_closed_by_its_agent_only(desk):
    chat = ChatFactory(queue=QueueFactory(members=[desk.agent]))
    assert desk.act("end-chat", chat=chat.pk).status_code == 404

    desk.act("take-chat", chat=chat.pk)
    taken = Chat.objects.get()
    desk.act("end-chat", chat=chat.pk)

    assert taken.agent == desk.agent
    assert Chat.objects.get().closed_at is not None


def test_an_empty_answer_is_refused_and_a_closed_chat_takes_none(desk):
    chat = ChatFactory(agent=desk.agent)
    assert errors_of(desk.act("write", chat=chat.pk, body=" ")) == ["This field is required."]
    chat.closed_at = timezone.now()
    chat.save()

    assert errors_of(desk.act("write", chat=chat.pk, body="Hello")) == ["The chat is closed."]
    assert "The chat is closed." in desk.part("conversation", chat_id=chat.pk)


@pytest.mark.parametrize("is_waiting", [True, False])
def test_a_chat_of_others_is_not_found(desk, other, is_waiting):
    place = {"queue": QueueFactory(members=[other.agent])} if is_waiting else {"agent": other.agent}
    chat = ChatFactory(**place)
    ChatMessage.objects.create(chat=chat, body="My secret")

    for action in ("write", "take-chat", "end-chat"):
        answer = desk.act(action, chat=chat.pk, body="Hello")
        assert (answer.status_code, errors_of(answer)) == (404, ["This chat is not yours."])
    assert "My secret" not in str(desk.now(chat_id=chat.pk))
    chat.refresh_from_db()
    assert (chat.messages.count(), chat.closed_at) == (1, None)


def test_an_id_that_is_none_is_not_found(desk):
    for chat in ("", "nonsense", "00000000-0000-0000-0000-000000000000"):
        assert desk.act("write", chat=chat, body="Hello").status_code == 404
        desk.now(chat_id=chat)
    for action in ("hold", "topic", "result", "call-back", "accept", "skip"):
        for given in ("", "nonsense", "1.1", "9" * 30):
            assert desk.act(action, connection=given, offer=given, status_id=given).status_code == 404, (action, given)
