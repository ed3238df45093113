"""The desk as the home of an agent: who has it, what it shows, and its poll."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone

from callcentre.models import User
from campaigns.models import Attempt, RecordStatus
from telephony.models import AgentState
from telephony.models.agent_intervals import StateKind
from telephony.verbs import presence
from tests.backoffice import inputs_of, page_of, staff, superuser
from tests.campaigns.factories import RecordOfferFactory, RecordStatusFactory
from tests.conftest import ACTOR
from tests.desk.agents import Desk, campaign_talk, desk_of, talk
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory, ConnectionFactory, PauseFactory, QueueFactory
from tests.tickets.factories import (
    CannedReplyFactory,
    ChatFactory,
    ChatMessageFactory,
    CustomerFactory,
    TicketFactory,
    TicketQueueFactory,
)
from tickets.models import Ticket, TicketStatus

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

HOME = reverse("admin:index")
DESK = "/admin/desk/"


# The home


def test_the_desk_is_the_home_of_an_agent_also_after_the_log_in(plain_http, desk):
    answer = desk.get(HOME)
    assert (answer.status_code, answer["Location"]) == (302, DESK)
    page = desk.get(DESK).content.decode()
    assert "My desk" in page
    assert "Overview" not in page

    desk.logout()
    form = {"username": "user-of-anna", "password": "user-pass", "next": HOME}
    assert desk.post(reverse("admin:login"), form, follow=True).redirect_chain[-1][0] == DESK


@pytest.mark.usefixtures("with_menu")
@pytest.mark.parametrize("permission", ["view_agent", "view_campaign"])
def test_an_agent_who_supervises_has_both(permission):
    client = staff(permission)
    AgentFactory(user=User.objects.get())

    assert client.get(HOME).status_code == 200
    page = client.page(DESK)
    assert f'href="{HOME}"' in page
    assert f'href="{DESK}"' in page


@pytest.mark.parametrize("left", [True, False])
def test_a_user_without_an_active_agent_has_no_desk(left):
    client = staff()
    if left:
        AgentFactory(user=User.objects.get(), left=True)

    assert client.get(HOME).status_code == 200
    assert client.get(DESK).status_code == 403
    assert client.get(f"{DESK}now").status_code == 403
    assert client.post(f"{DESK}ready/").status_code == 403


def test_people_without_an_agent_or_a_log_in_and_unknown_actions_have_no_desk(client, desk):
    assert "My desk" not in superuser().page(HOME)
    for path in (DESK, f"{DESK}now"):
        answer = client.get(path)
        assert (answer.status_code, answer["Location"]) == (302, f"/admin/login/?next={path}")
    assert desk.act("nonsense").status_code == 404
    assert desk.get(f"{DESK}ready/").status_code == 405


# The poll


def test_a_poll_returns_the_changed_parts_only_is_kept_by_no_cache_and_does_not_extend_the_session(desk):
    before = dict(desk.session)
    known = {name: part["digest"] for name, part in desk.now().items()}
    unchanged = desk.now(**known)
    reason = PauseFactory(name="Lunch")

    presence.pause(desk.agent, ACTOR, reason.pk)

    assert unchanged == {}
    assert set(desk.now(**known)) == {"state"}
    assert "paused: Lunch" in desk.part("state")
    assert dict(desk.session) == before
    assert "no-store" in desk.get(f"{DESK}now")["Cache-Control"]


def test_the_poll_of_a_free_agent_takes_few_queries():
    desk = desk_of(has_line=True)
    QueueFactory(members=[desk.agent])
    known = {name: part["digest"] for name, part in desk.now().items()}

    # Session, user with agent, heartbeat, state, call, chats, assigned tickets; line, connection to the PBX, last call,
    # missed callers, own tickets.
    with few_statements(12):
        assert desk.now(**known) == {}


def test_the_poll_during_a_call_takes_few_queries(desk):
    campaign_talk(desk)
    chat = ChatFactory(agent=desk.agent)
    ChatMessageFactory.create_batch(3, chat=chat)
    known = {name: part["digest"] for name, part in desk.now(chat_id=chat.pk).items()}

    # Besides: the call itself, its last consultation and transfer, its attempt, the chosen chat and its last message;
    # no line and no last call.
    with few_statements(16):
        assert desk.now(chat_id=chat.pk, **known) == {}


def test_all_pauses_keep_their_keys(desk):
    breaks = [PauseFactory(name=name) for name in ("Break", "Lunch")]
    keys = []
    for state in (None, *breaks):
        if state:
            presence.pause(desk.agent, ACTOR, state.pk)
        keys.append(re.findall(r'data-hotkey="(shift.\d)"[^>]*>.*?(Break|Lunch)', desk.part("state")))
    talk(desk_of("piotr"))

    assert keys == [[("shift+1", "Break"), ("shift+2", "Lunch")]] * 3


# The parts


def test_the_call_is_shown_with_its_customer_and_five_contacts(desk, other):
    customer = CustomerFactory(name="Jan", surname="Kowal", email="jan@client.example")
    ConnectionFactory(customer_id=customer.pk, inbound=True)
    TicketFactory.create_batch(7, customer=customer, subject="Broken table")
    talk(desk, customer_id=customer.pk, dst="+48225550107")

    # Another agent does not see it.
    assert "+48225550107" not in other.part("call")
    parts = {name: part["html"] for name, part in desk.now().items()}

    assert "+48225550107" in parts["call"]
    assert "Hang up" in parts["call"]
    assert "Jan Kowal" in parts["customer"]
    assert "jan@client.example" in parts["customer"]
    assert "Broken table" in parts["customer"]
    assert parts["customer"].count("<li>") == 5
    # Without permissions there are no links.
    assert "href" not in parts["customer"]


def allow(desk: Desk, codename: str) -> None:
    assert desk.agent.user
    desk.agent.user.user_permissions.add(Permission.objects.get(codename=codename))


@pytest.mark.parametrize("is_known", [True, False])
def test_a_ticket_is_opened_from_the_call(is_known, desk):
    allow(desk, "add_ticket")
    customer = CustomerFactory(email="jan@client.example") if is_known else None
    talk(desk, customer_id=customer and customer.pk, inbound=True, src="22 555 01 07")
    queue = TicketQueueFactory()

    address = re.findall(r'href="([^"]+)"', desk.part("customer"))[0].replace("&amp;", "&")
    inputs = inputs_of(desk.get(address).content.decode())
    desk.post(address, {**inputs, "subject": "Called", "body": "It is broken", "queue": queue.pk})

    ticket = Ticket.objects.get()
    assert (ticket.source, ticket.sender, ticket.customer) == ("phone", "+48225550107", customer)
    assert ticket.agent == desk.agent


def test_a_record_has_its_script_and_results_that_begin_with_those_of_the_campaign(desk):
    campaign_talk(desk, campaign__fields=["city"], campaign__script="Good morning to {city}, {name}!")
    campaign = Attempt.objects.get().campaign
    RecordStatusFactory(campaign=campaign, name="Ordered", order=99, is_success=True)
    RecordStatus.objects.filter(campaign=campaign, name="Do not call").update(name="Not interested")

    html = desk.part("record")

    # The campaign has no field `name` any more.
    assert "Good morning to , …!" in html
    assert "In progress" not in html
    large, folded = html.split("Other results")
    names = [text.strip() for text in re.findall(r"<button[^>]*>([^<]+)", large + folded)]
    assert names[:5] == ["Not interested", "Ordered", "Contacted", "Wrong number", "Call later"]
    entry = r'data-hotkey="(\d)"[^>]*>([^<]+?) ?<.*?<span class="cc-subtle">([^<]+)'
    assert [re.findall(entry, row, re.DOTALL) for row in folded.split("<li>")[1:4]] == [
        [("6", "To be called", "called after all others, like a new record")],
        [("7", "Call", "called before all others")],
        [("8", "Own record", "called by you at the chosen time")],
    ]


def test_the_poll_is_translated_results_too(desk):
    campaign_talk(desk)

    parts = desk.get(f"{DESK}now", headers={"Accept-Language": "pl"}).json()["parts"]

    assert "Oddzwonić" in parts["record"]["html"]
    assert "Call later" not in parts["record"]["html"]
    assert "rozmawia" in parts["state"]["html"]
    assert RecordStatus.objects.filter(name="Call later").exists()


def test_the_fields_of_an_offered_record_are_shown(desk):
    offer = RecordOfferFactory(agent=desk.agent, record__campaign__fields=["city"])
    field = offer.campaign.fields.get()
    record = offer.campaign.records.get()
    record.fields = {str(field.pk): "Gdynia"}
    record.save()

    parts = {name: part["html"] for name, part in desk.now().items()}

    assert "Call it" in parts["offer"]
    assert "Gdynia" in parts["record"]
    assert "Contacted" not in parts["record"]
    assert record.phone_number in parts["customer"]


def test_targets_of_a_transfer_are_read_while_their_list_is_open():
    desk, other = desk_of(), desk_of("piotr", name="Piotr", surname="Kowalski")
    queue = QueueFactory(name="Invoices", members=[other.agent])
    talk(desk)

    shut, opened = desk.part("transfer"), desk.part("transfer", targets="1")

    assert "Piotr" not in shut
    assert "Piotr Kowalski" in opened
    assert f'value="{queue.pk}"' in opened
    assert "1 ready, 0 waiting" in opened


def test_the_last_call_the_numbers_of_today_and_own_tickets_are_shown(desk):
    ConnectionFactory(agent=desk.agent, disposition="BUSY")
    TicketFactory(agent=desk.agent, subject="Broken table")
    TicketFactory(agent=AgentFactory(), subject="Other")

    parts = {name: part["html"] for name, part in desk.now().items()}

    assert "Last call" in parts["call"]
    assert "busy" in parts["call"]
    assert "Broken table" in parts["tickets"]
    assert "Other" not in parts["tickets"]
    assert "<strong>1</strong> unread" in parts["tickets"]
    assert "talk time" in parts["numbers"]


def test_a_postponed_ticket_that_is_overdue_is_not_due(desk):
    values = {"agent": desk.agent, "response_due_at": timezone.now() - timedelta(hours=2)}
    TicketFactory(status=TicketStatus.objects.get(kind="postponed"), subject="Later", **values)
    TicketFactory(subject="Now", **values)

    html = desk.part("tickets")

    assert "<strong>1</strong> due" in html
    assert html.index("Now") < html.index("Later")
    assert html.count("overdue by 2") == 2


def test_the_next_ticket_is_the_one_that_wants_work_most(desk):
    allow(desk, "view_ticket")
    answered = TicketFactory(agent=desk.agent, first_agent_responded_at=timezone.now())
    unread = TicketFactory(agent=desk.agent)
    late = TicketFactory(agent=desk.agent, response_due_at=timezone.now() - timedelta(hours=1))
    TicketFactory(agent=AgentFactory(), response_due_at=timezone.now() - timedelta(hours=2))

    following = {
        ticket.pk: desk.get(reverse("admin:tickets_ticket_next"), {"after": ticket.pk})["Location"]
        for ticket in (answered, late, unread)
    }

    end = f"{reverse('admin:tickets_ticket_changelist')}?view=mine"
    assert following == {answered.pk: page_of(late), late.pk: page_of(unread), unread.pk: end}
    assert f"{reverse('admin:tickets_ticket_next')}?after={late.pk}" in desk.get(page_of(late)).content.decode()
    assert staff("view_ticket").get(reverse("admin:tickets_ticket_next")).status_code == 403


def test_canned_replies_are_offered_in_a_chat():
    desk = desk_of(name="Anna", surname="Nowak")
    chat = ChatFactory(agent=desk.agent, client_name="Jan & Eva")
    CannedReplyFactory(name="Greeting", body="<p>Good morning, {{ customer_name }}!</p><p>{{ agent_name }}</p>")
    CannedReplyFactory(name="Of a ticket", body="<p>#{{ ticket_id }}</p>")
    CannedReplyFactory(name="Of a queue", queue=TicketQueueFactory())

    html = desk.part("canned", chat_id=chat.pk)
    digest = desk.now(chat_id=chat.pk)["canned"]["digest"]
    ChatMessageFactory(chat=chat)

    assert re.findall(r'<option value="([^"]+)" data-text="([^"]+)">', html) == [
        ("Greeting", "Good morning, Jan &amp; Eva!\nAnna Nowak")
    ]
    assert "canned" not in desk.now(chat_id=chat.pk, canned=digest)
    assert "option" not in desk.part("canned", chat_id=ChatFactory(agent=AgentFactory()).pk)


@pytest.mark.parametrize(("kind", "in_seconds", "rests"), [
    (StateKind.PAUSED, None, True), (StateKind.WRAP_UP, 30, True), (StateKind.WRAP_UP, 1, False),
    (StateKind.FREE, None, False), (StateKind.RINGING, None, False), (StateKind.TALKING, None, False),
])  # fmt: skip
def test_the_desk_asks_less_often_only_while_no_call_can_reach_the_agent(kind, in_seconds, rests):
    desk = desk_of()
    pause = PauseFactory() if kind == StateKind.PAUSED else None
    ends_at = None if in_seconds is None else timezone.now() + timedelta(seconds=in_seconds)
    AgentState.objects.filter(agent=desk.agent, ended_at=None).update(kind=kind, ends_at=ends_at, pause=pause)

    answers = [desk.get("/admin/desk/now", query, headers={"X-Poll": "1"}) for query in ({}, {"chat_id": "1"})]

    assert [answer.json()["rest"] for answer in answers] == [2.0 if rests else 0, 0]
