"""The bar on every page of an agent: what it shows and offers, and its poll."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from callcentre.core.actor import Actor
from telephony.models import Agent, Connection
from telephony.verbs import presence
from tests.callcentre.factories import UserFactory
from tests.campaigns.factories import RecordFactory, RecordOfferFactory
from tests.conftest import ACTOR
from tests.desk.agents import Desk, desk_of, talk
from tests.statements import few_statements
from tests.telephony.factories import (
    AgentLineFactory,
    AgentMessageFactory,
    CallBackFactory,
    ConnectionFactory,
    PauseFactory,
    QueueFactory,
    ScreenPopFactory,
    SupervisionFactory,
)
from tests.tickets.factories import ChatFactory, CustomerFactory, TicketFactory
from tickets.models import Ticket
from tickets.verbs.chats import write_in_chat
from tickets.verbs.tickets import edit_ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

POLL = "/admin/desk/incoming"
# A user who is none of the agents.
SUPERVISOR = Actor("user", 0, "supervisor")


def answer_to(desk: Desk, digest: str = "") -> dict[str, Any]:
    """Return the answer to the poll of a page that shows the bar with this digest."""
    answer = desk.get(POLL, {"incoming": digest}, headers={"X-Poll": "1"})
    assert answer.status_code == 200, answer.status_code
    found: dict[str, Any] = answer.json()["parts"]
    return found


def bar_of(desk: Desk) -> str:
    html: str = answer_to(desk)["incoming"]["html"]
    return html


def ring(desk: Desk, **values: Any) -> Connection:
    """Return a call for which the agent's phone rings: a caller's, unless the values say otherwise."""
    call: Connection = ConnectionFactory(**{"waiting": True, "unanswered": True, "disposition": "", **values})
    presence.ring(desk.agent, call, call.created_at)
    return call


def assign(ticket: Ticket, desk: Desk, actor: Actor = SUPERVISOR) -> None:
    edit_ticket(ticket, actor, agent_login=desk.agent.login)


# Calls


def named(desk: Desk) -> None:
    customer = CustomerFactory(name="Jan", surname="Kowal")
    ring(desk, customer_id=customer.pk, src="+48225550107", queue=QueueFactory(name="Invoices"))


def on_a_line(desk: Desk) -> None:
    """Ring on the standing line of the agent."""
    Agent.objects.update(has_line=True)
    AgentLineFactory(agent=desk.agent, state="up", up_at=timezone.now())
    ring(desk)


def of_a_campaign(desk: Desk) -> None:
    """Ring the agent first."""
    record = RecordFactory(campaign__name="Renewals")
    campaign = {"campaign_id": record.campaign_id, "campaign_code": record.campaign.code}
    ring(desk, waiting=False, ended_at=None, state="originating", record_id=record.pk, **campaign)


def of_a_call_back(desk: Desk) -> None:
    """Ring the agent first."""
    values = {"state": "originating", "ended_at": None, "dst": "+48225550107", "queue": QueueFactory(name="Invoices")}
    CallBackFactory(connection=ring(desk, waiting=False, **values), state="calling")


def in_a_call(desk: Desk) -> None:
    ChatFactory(agent=desk.agent, client_name="Jan Kowal")
    talk(desk)


RINGS, PICK_UP, TO_DESK = 'data-sound="ring"', "Pick up your phone to answer.", 'href="/admin/desk/#desk-call"'


@pytest.mark.parametrize(
    ("act", "shown", "missing"),
    [
        (named, [f'{RINGS} data-news="Incoming call: Jan Kowal"', "+48225550107", "Invoices", PICK_UP, TO_DESK], []),
        (
            lambda desk: ring(desk, src="+48225550107"),
            ['data-news="Incoming call: +48225550107"'],
            ["<span>+48225550107</span>"],
        ),
        (lambda desk: ring(desk, src=""), ["Incoming call: unknown number"], []),
        (on_a_line, ["You hear a tone, then the caller."], ["Pick up"]),
        (of_a_campaign, [RINGS, "Renewals"], []),
        (of_a_call_back, [f'{RINGS} data-news="Call-back: +48225550107"', "Invoices", PICK_UP], []),
        (lambda desk: talk(desk, dst="+48225550107"), ["Call: +48225550107", 'data-sound=""'], ["data-news"]),
        (in_a_call, ['data-sound="" data-news="Unanswered chat: Jan Kowal"'], ["chime"]),
    ],
    ids=["customer", "number", "no number", "standing line", "campaign", "call-back", "talk", "chat during a call"],
)
def test_the_bar_names_the_caller_and_sounds_for_those_who_ring(act, shown, missing, desk):
    act(desk)

    bar = bar_of(desk)

    assert [text for text in shown if text not in bar] == []
    assert [text for text in missing if text in bar] == []


@pytest.mark.parametrize(
    ("values", "heading", "is_heard"),
    [
        ({"state": "originating"}, "Your call: +48225550107", False),
        ({"state": "dialling"}, "Call: +48225550107", False),
        ({"state": "talking", "answered_at": timezone.now()}, "Incoming call: +48225550107", True),
    ],
    ids=["asked for by the agent", "rings the customer", "handed on by another agent"],
)
def test_of_outbound_calls_only_those_of_others_are_heard(values, heading, is_heard, desk):
    ring(desk, waiting=False, ended_at=None, dst="+48225550107", **values)

    bar = bar_of(desk)

    assert f"{heading}</strong>" in bar
    assert ('data-sound="ring"' in bar, "data-news" in bar) == (is_heard, is_heard)


def test_a_call_that_is_over_is_not_shown(desk):
    call = talk(desk)
    Connection.objects.filter(pk=call.pk).update(state="ended", ended_at=timezone.now(), disposition="ANSWERED")
    presence.leave_call(desk.agent, call, timezone.now())

    assert bar_of(desk) == ""


def test_calls_chats_and_tickets_of_others_are_not_shown(desk, other):
    ring(other)
    ChatFactory(queue=QueueFactory(members=[other.agent]))
    assign(TicketFactory(), other)

    assert bar_of(desk) == ""


def test_an_offered_record_can_be_called(desk):
    offer = RecordOfferFactory(agent=desk.agent, record__campaign__name="Renewals")
    number = offer.campaign.records.get().phone_number

    bar = bar_of(desk)

    assert f'data-sound="chime" data-news="Offered record: {number}"' in bar
    assert "Renewals" in bar
    assert 'action="/admin/desk/accept/"' in bar
    assert f'name="offer" value="{offer.pk}"' in bar


# Chats


def test_a_new_chat_can_be_taken(desk):
    chat = ChatFactory(queue=QueueFactory(members=[desk.agent]), client_name="Jan Kowal")
    write_in_chat(chat, ACTOR, body="Is anybody there?")

    bar = bar_of(desk)

    assert 'data-sound="chime" data-news="New chat: Jan Kowal"' in bar
    assert "Is anybody there?" in bar
    assert 'action="/admin/desk/take-chat/"' in bar
    assert f'href="/admin/desk/?chat_id={chat.pk}"' in bar


@pytest.mark.parametrize("is_paused", [True, False])
def test_an_agent_who_does_not_work_is_asked_for_no_new_chat(is_paused, desk):
    ChatFactory(queue=QueueFactory(members=[desk.agent]))
    if is_paused:
        presence.pause(desk.agent, ACTOR, PauseFactory().pk)
    else:
        presence.log_out(desk.agent, ACTOR)

    assert bar_of(desk) == ""


def test_an_own_chat_is_shown_until_it_is_answered(desk):
    chat = ChatFactory(agent=desk.agent, client_name="Jan Kowal")
    write_in_chat(chat, ACTOR, body="Hello?")
    unanswered = bar_of(desk)

    write_in_chat(chat, ACTOR, body="Good morning.", agent_login=desk.agent.login)

    assert "Unanswered chat: Jan Kowal" in unanswered
    assert "take-chat" not in unanswered
    assert bar_of(desk) == ""


# The poll


def test_a_poll_without_news_is_small_and_takes_few_queries():
    desk = desk_of(has_line=True)
    user: Any = desk.agent.user
    user.user_permissions.set(Permission.objects.filter(codename="view_ticket"))
    queue = QueueFactory(members=[desk.agent])
    for count in (1, 9):
        for chat in ChatFactory.create_batch(count, queue=queue):
            write_in_chat(chat, ACTOR, body="Hello?")
        for ticket in TicketFactory.create_batch(count):
            assign(ticket, desk)
        digest = answer_to(desk)["incoming"]["digest"]

        # Session, user with agent, heartbeat, state, call, chats, notices.
        with few_statements(7):
            assert answer_to(desk, digest) == {}


def test_the_poll_while_the_phone_rings_takes_few_queries(desk):
    ring(desk, customer_id=CustomerFactory().pk)
    digest = answer_to(desk)["incoming"]["digest"]

    # Besides: the call itself, its last consultation and the note of its last transfer.
    with few_statements(10):
        assert answer_to(desk, digest) == {}


def test_a_poll_does_not_extend_the_session(desk):
    before = dict(desk.session)

    answer = desk.get(POLL, headers={"X-Poll": "1"})

    assert dict(desk.session) == before
    assert "no-store" in answer["Cache-Control"]


def test_the_desk_gets_the_bar_with_its_own_poll(desk):
    known = {name: part["digest"] for name, part in desk.now().items()}
    ring(desk)

    assert {"incoming", "state", "call"} <= set(desk.now(**known))


def test_a_page_costs_no_query_for_the_bar(desk):
    without = Desk()
    without.force_login(UserFactory(staff=True))
    counts = []
    for client in (without, without, desk):
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/admin/password_change/").status_code == 200
        counts.append(len(queries))

    assert counts[1] == counts[2]


def test_users_without_an_active_agent_have_no_bar(desk):
    page = "/admin/password_change/"
    assert 'id="incoming"' in desk.get(page).content.decode()

    desk.agent.is_active = False
    desk.agent.save()

    assert 'id="incoming"' not in desk.get(page).content.decode()
    assert desk.get(POLL).status_code == 403


def test_a_message_stays_until_the_agent_closes_it():
    desk = desk_of()
    message = AgentMessageFactory(agent=desk.agent, text="Come to the desk, please.")
    other = AgentMessageFactory(text="For another agent.")
    shown = bar_of(desk)

    for pk in (message.pk, other.pk):
        desk.post("/admin/desk/close-message/", {"message": pk}, headers={"Accept": "application/json"})

    message.refresh_from_db()
    other.refresh_from_db()
    assert ("Come to the desk, please." in shown, "another" in shown, "data-hide" in shown) == (True, False, False)
    assert (message.closed_at is None, other.closed_at is None, bar_of(desk)) == (False, True, "")


@pytest.mark.parametrize("is_shown", [False, True])
def test_an_agent_sees_a_supervisor_by_a_setting_only(settings, is_shown):
    settings.SHOW_SUPERVISION_TO_AGENTS = is_shown
    desk = desk_of()
    call = talk(desk)
    Connection.objects.filter(pk=call.pk).update(is_supervised=True)
    SupervisionFactory(connection=call, agent__login="boss", mode="whisper")

    said = "A supervisor is in your call: boss whispers to the agent"
    assert (said in bar_of(desk)) == is_shown


def test_the_bar_opens_the_page_of_another_program_at_its_moment(desk):
    queue = QueueFactory()
    ScreenPopFactory(queue=queue, name="Ringing", url="https://crm.example/find?n={number}&a={agent}")
    ScreenPopFactory(queue=queue, name="Talking", moment="answer")
    call = ring(desk, queue=queue, src="+48225550107")
    assert bar_of(desk).count("data-opens") == 1
    assert f"https://crm.example/find?n=%2B48225550107&amp;a={desk.agent.login}" in bar_of(desk)

    presence.talk(desk.agent, call, timezone.now())
    Connection.objects.filter(pk=call.pk).update(state="talking", agent=desk.agent)

    assert "Talking" in bar_of(desk)
    assert "Ringing" not in bar_of(desk)
