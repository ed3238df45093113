"""Notices to agents: who is told what, and once; their mails; the followers of a ticket; the page of one's own."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.core import mail
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from callcentre.core.actor import SYSTEM, Actor
from telephony.models import Agent
from tests.callcentre.factories import UserFactory
from tests.statements import few_statements
from tests.tickets.conftest import agent_of
from tests.tickets.factories import (
    AgentPreferencesFactory,
    MacroFactory,
    NoticeFactory,
    RuleFactory,
    TicketFactory,
    TicketFollowerFactory,
    TicketQueueFactory,
)
from tickets import pruning
from tickets.deletions.tickets import delete_rows
from tickets.models import AgentPreferences, Notice, NoticeKind, Ticket, TicketChange, TicketFollower, TicketStatus
from tickets.tasks import mail_notice
from tickets.verbs.automation import use_macro
from tickets.verbs.merges import merge_tickets, split_ticket
from tickets.verbs.messages import comment_on, receive_message, reply_to
from tickets.verbs.notices import follow_ticket, logins_in, notify, unfollow_ticket
from tickets.verbs.service_levels import tell_deadlines
from tickets.verbs.tickets import edit_ticket, open_ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]
# A user who is none of the agents.
ACTOR = Actor("user", 0, "tester")


@pytest.fixture
def followed(anna):
    return TicketFollowerFactory(agent=anna).ticket


def told(agent: Agent) -> list[tuple[str, str, str]]:
    """Return the kind, the word of the thing and the actor of the agent's notices, oldest first."""
    rows = Notice.objects.filter(agent=agent).order_by("id")
    return [(row.kind, row.key.split("-")[0], row.actor_name) for row in rows]


# Who is told what


def test_an_assigned_agent_is_told_by_whom(anna):
    supervisor = UserFactory(staff=True, username="boss")
    ticket = TicketFactory()

    edit_ticket(ticket, supervisor.actor, agent_login="anna")
    edit_ticket(ticket, supervisor.actor, subject="Another")

    assert told(anna) == [("assigned", "change", "boss")]


def test_a_ticket_that_is_opened_or_split_off_for_an_agent_is_told(anna):
    TicketQueueFactory()
    ticket = open_ticket(ACTOR, subject="S", body="B", sender="jan@client.example", agent_login="anna").ticket
    moved = receive_message(ticket, ACTOR, body="Another matter")

    split_ticket(ticket, ACTOR, [moved.pk], "Another matter")

    assert told(anna) == [
        ("assigned", "opened", ACTOR.name),
        ("answered", "mail", ""),
        ("assigned", "opened", ACTOR.name),
    ]


def test_a_rule_that_assigns_is_named(anna):
    RuleFactory(name="Night", events=["commented"], actions={"agent": "anna"})

    comment_on(TicketFactory(), ACTOR, text="Hello")

    assert told(anna) == [("assigned", "change", "Night")]


@pytest.mark.parametrize("by", ["user", "agent", "macro"])
def test_what_an_agent_does_is_no_news_to_the_agent(by, anna):
    ticket = TicketFactory()
    TicketFollowerFactory(ticket=ticket, agent=anna)
    macro = MacroFactory(actions={"agent": "me", "comment": "@anna knows"})

    match by:
        case "user":
            edit_ticket(ticket, anna.user.actor, agent_login="anna")
            comment_on(ticket, anna.user.actor, text="@anna: look")
        case "agent":
            edit_ticket(ticket, anna.actor, agent_login="anna")
            comment_on(ticket, ACTOR, agent_login="anna", text="@anna: look")
        case "macro":
            use_macro(ticket, macro, ACTOR, anna)

    assert Ticket.objects.get(pk=ticket.pk).agent == anna
    assert told(anna) == []


def test_a_message_of_the_customer_is_told_to_the_assignee_and_the_followers(anna, jan, followed):
    edit_ticket(followed, ACTOR, agent_login="jan")
    Notice.objects.all().delete()

    receive_message(followed, SYSTEM, body="Hello?")
    receive_message(followed, SYSTEM, body="I am away.", is_automatic=True)

    assert told(anna) == told(jan) == [("answered", "mail", "")]


def test_followers_are_told_of_replies_comments_statuses_and_assignees(anna, jan, followed):
    Ticket.objects.filter(pk=followed.pk).update(sender="client@client.example")
    reply_to(followed, ACTOR, agent_login="jan", body="<p>Hello</p>")
    comment_on(followed, ACTOR, agent_login="jan", text="Hm")
    edit_ticket(followed, jan.user.actor, status_id=TicketStatus.objects.get(kind="closed").pk)
    edit_ticket(followed, jan.user.actor, agent_login="jan")
    edit_ticket(followed, jan.user.actor, subject="Another")

    by_agent, by_user = "Anna Nowak", "user-of-jan"
    assert told(anna) == [
        ("followed", "reply", by_agent),
        ("followed", "comment", by_agent),
        ("followed", "change", by_user),
        ("followed", "change", by_user),
    ]


def test_a_deadline_is_told_to_the_assignee_when_it_comes_and_when_it_is_missed(anna):
    due_at = timezone.now() + timedelta(minutes=30)
    ticket = TicketFactory(agent=anna, resolution_due_at=due_at)

    tell_deadlines()
    Ticket.objects.filter(pk=ticket.pk).update(resolution_due_at=due_at - timedelta(hours=1))
    tell_deadlines()
    tell_deadlines()

    assert told(anna) == [("deadline", "soon", ""), ("deadline", "missed", "")]


def test_a_mentioned_agent_is_told_and_follows_from_then_on(anna):
    ticket = TicketFactory()

    comment_on(ticket, ACTOR, text="<p>Do you know, @Anna?</p>")
    comment_on(ticket, ACTOR, text="Nobody knows")

    assert [kind for kind, *_rest in told(anna)] == ["mentioned", "followed"]


def test_a_message_with_two_reasons_makes_one_notice_of_the_most_specific_kind_that_is_wanted(anna, jan):
    ticket = TicketFactory(agent=anna)
    AgentPreferencesFactory(agent=jan, not_on_bar=["mentioned"])
    for agent in (anna, jan):
        TicketFollowerFactory(ticket=ticket, agent=agent)

    comment_on(ticket, ACTOR, text="@anna @jan @anna")

    assert [kind for kind, *_rest in told(anna)] == ["mentioned"]
    assert [kind for kind, *_rest in told(jan)] == ["followed"]


def test_one_thing_is_told_once(anna):
    ticket = TicketFactory(agent=anna)

    for _attempt in range(2):
        notify(ticket, NoticeKind.WOKEN, f"woken-{ticket.pk}-1")

    assert told(anna) == [("woken", "woken", "")]


@pytest.mark.parametrize("why", ["right", "scope", "user", "no user", "agent"])
def test_an_agent_who_may_not_see_the_ticket_is_not_told(why):
    ticket, queue = TicketFactory(), TicketQueueFactory()
    scope = {"scope_ticket_queues": [queue.pk]} if why == "scope" else {}
    agent = agent_of("anna", *(["view_chat"] if why == "right" else []), is_active=why != "user", **scope)
    Agent.objects.filter(pk=agent.pk).update(is_active=why != "agent", **({"user": None} if why == "no user" else {}))
    TicketFollowerFactory(ticket=ticket, agent=agent)
    AgentPreferencesFactory(agent=agent, by_mail=["followed", "mentioned"])

    comment_on(ticket, ACTOR, text="@anna")

    assert told(agent) == []


def test_a_right_of_a_group_and_a_scope_with_the_queue_are_enough():
    ticket = TicketFactory()
    agent = agent_of("anna", "view_chat", scope_ticket_queues=[ticket.queue_id])
    assert agent.user
    group = agent.user.groups.create(name="Readers")
    group.permissions.set(Permission.objects.filter(codename="change_ticket"))

    comment_on(ticket, ACTOR, text="@anna")

    assert [kind for kind, *_rest in told(agent)] == ["mentioned"]


def test_a_comment_takes_one_statement_for_its_notices(anna, jan):
    counts = []
    for followers in (0, 5):
        ticket = TicketFactory()
        for number in range(followers):
            TicketFollowerFactory(ticket=ticket, agent=agent_of(f"follower-{number}"))
        comment_on(ticket, ACTOR, text="First")
        with few_statements(14):
            comment_on(ticket, ACTOR, text="@anna and @jan")
        counts.append(Notice.objects.filter(ticket=ticket).count())

    assert counts == [2, 12]


# Mentions


@pytest.mark.parametrize(
    ("text", "logins"),
    [
        ("@anna", ["anna"]),
        ("Ask @Anna, or (@jan.k).", ["anna", "jan.k", "jan.k)."]),
        ("@anna's desk, @jan: yes; @ewa!", ["anna", "ewa", "jan"]),
        ("Write to anna@us.example or https://x.example/@anna", []),
        ("x@anna .@anna -@anna @ anna", []),
        ("@łucja", ["łucja"]),
        ("<p>@anna</p><p>@jan&nbsp;x</p>", ["anna", "jan"]),
        ('<a href="mailto:x@anna">y</a><b>x</b>@anna', []),
        ("@anna@us.example", ["anna@us.example"]),
        ("@anna.", ["anna", "anna."]),
    ],
)
def test_logins_are_whole_words_outside_of_addresses(text, logins):
    found = logins_in(text, "HTML" if "<" in text else "PLAIN")

    assert found == [login for login in logins if not login.endswith(").")]


@given(st.text(alphabet="ab@.,-/ \n", max_size=30), st.text(alphabet="ab", min_size=1, max_size=5))
def test_a_login_between_blanks_is_found_whatever_is_around_it(text, login):
    assert login in logins_in(f"{text} @{login} {text}", "PLAIN")
    assert login not in logins_in(f"{text.replace('@', '')} x@{login} ", "PLAIN")


# Mails


def test_a_mail_is_sent_by_the_worker_after_the_commit(anna, django_capture_on_commit_callbacks, settings):
    settings.PUBLIC_URL = "https://desk.us.example"
    AgentPreferencesFactory(agent=anna, by_mail=["mentioned"], not_on_bar=["mentioned"])
    ticket = TicketFactory(subject="Secret of the customer")

    with django_capture_on_commit_callbacks() as enqueued:
        comment_on(ticket, ACTOR, text="@anna: secret")
    notice = Notice.objects.get()
    mail_notice(notice.pk)
    mail_notice(notice.pk)

    assert enqueued
    assert notice.closed_at is not None
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["anna@us.example"], f"You are mentioned: #{ticket.pk}")
    assert f"https://desk.us.example/admin/tickets/ticket/{ticket.pk}/change/" in sent.body
    assert "ecret" not in f"{sent.subject}{sent.body}"


def test_no_mail_goes_to_an_agent_without_an_address_or_one_who_has_left(anna, jan):
    Agent.objects.filter(pk=jan.pk).update(email="")
    for agent in (anna, jan):
        AgentPreferencesFactory(agent=agent, by_mail=["mentioned"])
    comment_on(TicketFactory(), ACTOR, text="@anna @jan")
    Agent.objects.filter(pk=anna.pk).update(is_active=False)

    due = list(Notice.objects.due().values_list("agent__login", "pk"))
    for _login, pk in due:
        mail_notice(pk)

    assert [login for login, _pk in due] == ["anna"]
    assert mail.outbox == []
    assert not Notice.objects.due().exists()


# Followers


def test_following_and_its_end_stand_in_the_history(anna):
    ticket = TicketFactory()

    for _time in range(2):
        follow_ticket(ticket, anna, anna.user.actor)
    for _time in range(2):
        unfollow_ticket(ticket, anna, anna.user.actor)

    entries = TicketChange.objects.filter(ticket=ticket).order_by("id").values_list("action", "changes")
    assert list(entries) == [("follow", {"follower": [None, "anna"]}), ("unfollow", {"follower": ["anna", None]})]
    assert not TicketFollower.objects.exists()


def test_a_merge_moves_followers_and_notices(anna, jan):
    source, target = TicketFactory(), TicketFactory()
    for ticket, agent in ((source, anna), (source, jan), (target, jan)):
        TicketFollowerFactory(ticket=ticket, agent=agent)
    notice = NoticeFactory(ticket=source, agent=anna)

    merge_tickets(source, target, ACTOR)

    followers = TicketFollower.objects.order_by("agent__login").values_list("ticket", "agent__login")
    assert list(followers) == [(target.pk, "anna"), (target.pk, "jan")]
    notice.refresh_from_db()
    assert notice.ticket == target


def test_a_deletion_of_the_ticket_takes_its_notices_and_followers_along():
    notice = NoticeFactory()
    TicketFollowerFactory(ticket=notice.ticket)

    delete_rows([notice.ticket_id], [])

    assert [model.objects.count() for model in (Notice, TicketFollower)] == [0, 0]


def test_notices_of_thirty_days_are_deleted():
    old, new = NoticeFactory(), NoticeFactory()
    Notice.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=31))

    pruning.prune()

    assert list(Notice.objects.all()) == [new]


def test_an_actor_of_another_kind_with_the_id_of_the_agent_is_another_one(anna):
    edit_ticket(TicketFactory(), Actor("api_user", anna.pk, "shop"), agent_login="anna")

    assert told(anna) == [("assigned", "change", "shop")]


def test_notices_of_the_assignee_end_when_the_ticket_is_given_away_or_closed(anna, jan):
    ticket = TicketFactory()
    edit_ticket(ticket, ACTOR, agent_login="anna")
    edit_ticket(ticket, ACTOR, agent_login="jan")
    opened = Notice.objects.filter(closed_at=None)

    assert [(each.agent, each.kind) for each in opened] == [(jan, "assigned")]
    edit_ticket(ticket, ACTOR, status_id=TicketStatus.objects.get(kind="closed").pk)
    assert not opened.all().exists()


def test_a_mail_of_an_assignment_that_is_over_is_not_sent(anna, jan):
    AgentPreferences.objects.create(agent=anna, by_mail=["assigned"], not_on_bar=["assigned"])
    ticket = TicketFactory()
    edit_ticket(ticket, ACTOR, agent_login="anna")
    edit_ticket(ticket, ACTOR, agent_login="jan")

    mail_notice(Notice.objects.get(agent=anna).pk)

    assert mail.outbox == []
