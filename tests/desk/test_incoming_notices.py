"""Notices of tickets in the bar of an agent."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from tests.desk.test_incoming import assign, bar_of
from tests.tickets.factories import ChatFactory, NoticeFactory, TicketFactory, TicketFollowerFactory
from tickets.models import Notice, Ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


@pytest.fixture
def reader(desk):
    """Return the desk of an agent who may see tickets."""
    desk.agent.user.user_permissions.set(Permission.objects.filter(codename="view_ticket"))
    return desk


def test_a_notice_says_what_happened_and_who_did_it_and_leads_to_the_ticket(reader):
    ticket = TicketFactory(subject="Broken table")
    assign(ticket, reader)

    bar = bar_of(reader)

    assert f'data-news="Assigned to you: #{ticket.pk} Broken table"' in bar
    assert "<span>supervisor</span>" in bar
    assert f'href="/admin/tickets/ticket/{ticket.pk}/change/"' in bar


@pytest.mark.parametrize(
    ("kind", "key", "heading"),
    [
        ("mentioned", "comment-1", "You are mentioned"),
        ("answered", "mail-1", "The customer writes"),
        ("woken", "woken-1", "Back again"),
        ("deadline", "soon-1", "Due within the hour"),
        ("deadline", "missed-1", "Overdue"),
        ("followed", "reply-1", "Reply to the customer"),
        ("followed", "comment-1", "New comment"),
        ("followed", "change-1", "Changed"),
    ],
)
def test_each_kind_of_notice_has_its_heading(kind, key, heading, reader):
    ticket = TicketFactory(subject="Broken table", agent=reader.agent)
    NoticeFactory(agent=reader.agent, ticket=ticket, kind=kind, key=key)

    assert f'data-news="{heading}: #{ticket.pk} Broken table"' in bar_of(reader)


def test_an_assignment_is_no_news_once_the_ticket_is_closed_or_given_to_another_agent_but_a_mention_is(reader, other):
    closed, given = TicketFactory(), TicketFactory()
    for ticket in (closed, given):
        assign(ticket, reader)
    Ticket.objects.filter(pk=closed.pk).update(closed_at=timezone.now())
    assign(given, other)
    before = bar_of(reader)
    NoticeFactory(agent=reader.agent, ticket=closed)

    assert before == ""
    assert "You are mentioned" in bar_of(reader)


def test_a_follower_is_told_of_the_deadline_of_another_agents_ticket_and_a_former_assignee_is_not(reader, other):
    ticket = TicketFactory(agent=other.agent)
    NoticeFactory(agent=reader.agent, ticket=ticket, kind="deadline", key="missed-1")
    before = bar_of(reader)
    TicketFollowerFactory(agent=reader.agent, ticket=ticket)

    assert before == ""
    assert "Overdue" in bar_of(reader)


def test_a_ticket_has_one_line_with_its_newest_notice_which_is_closed_with_the_earlier_ones(reader):
    ticket, other = TicketFactory(), TicketFactory()
    first, second = (NoticeFactory(agent=reader.agent, ticket=ticket, kind=kind) for kind in ("mentioned", "answered"))
    rest = NoticeFactory(agent=reader.agent, ticket=other)
    before = bar_of(reader)

    reader.act("close-notice", notice=second.pk)

    assert before.count("data-news") == 2
    assert "The customer writes" in before
    assert "Close all notices" in before
    assert list(Notice.objects.filter(closed_at=None)) == [rest]
    after = bar_of(reader)
    assert after.count("data-news") == 1
    assert "Close all notices" not in after
    assert first.pk < second.pk


def test_all_notices_are_closed_but_those_that_the_page_has_not_shown_and_those_of_others(reader, other):
    shown, newer = (NoticeFactory(agent=reader.agent) for _number in range(2))
    of_other = NoticeFactory(agent=other.agent)

    reader.act("close-notices", notice=shown.pk)
    other.act("close-notice", notice=newer.pk)

    assert set(Notice.objects.filter(closed_at=None)) == {newer, of_other}


def test_notices_outside_the_scope_or_without_the_right_are_not_shown(reader):
    NoticeFactory(agent=reader.agent)
    user: Any = reader.agent.user
    user.scope_ticket_queues = []
    user.save()
    outside = bar_of(reader)
    user.scope_ticket_queues = None
    user.save()
    user.user_permissions.clear()

    assert outside == ""
    assert "You are mentioned" not in bar_of(reader)


def test_the_newest_comes_first(reader):
    desk, now = reader, timezone.now()
    ChatFactory(agent=desk.agent, client_name="Ewa Lis", created_at=now - timedelta(hours=2))
    ChatFactory(agent=desk.agent, client_name="Jan Kowal", created_at=now - timedelta(hours=1))
    assign(TicketFactory(subject="Broken table"), desk)

    bar = bar_of(desk)

    assert bar.index("Broken table") < bar.index("Jan Kowal") < bar.index("Ewa Lis")
