"""The list of tickets: views, filters, search and actions."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.backoffice import BackOffice, messages_of, superuser
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import (
    CustomerFactory,
    CustomerNumberFactory,
    CustomFieldFactory,
    TicketFactory,
    TicketQueueFactory,
)
from tickets.admin.tickets import TicketAdmin
from tickets.models import Ticket, TicketStatus
from tickets.verbs.merges import merge_tickets

LIST = reverse("admin:tickets_ticket_changelist")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def status(kind):
    return TicketStatus.objects.get(kind=kind)


def shown(client, **query):
    """Return the tickets of the list, in its order."""
    response = client.get(LIST, query)
    assert response.status_code == 200
    return list(response.context["cl"].result_list)


def hours(count):
    return timezone.now() + timedelta(hours=count)


@pytest.mark.slow("opens many pages")
def test_views_select_tickets():
    agent = AgentFactory(user=UserFactory(admin=True))
    client = BackOffice()
    client.force_login(agent.user)
    mine = TicketFactory(agent=agent, status=status("waiting_for_customer"))
    TicketFactory(agent=agent, closed=True)
    nobodys = TicketFactory(status=status("in_progress"), resolution_due_at=hours(-1))
    late = TicketFactory(assigned=True, response_due_at=hours(-3), resolution_due_at=hours(5))
    over = {"first_agent_responded_at": hours(-4), "status": status("waiting_for_customer"), "assigned": True}
    answered = TicketFactory(response_due_at=hours(-3), resolution_due_at=hours(5), **over)
    TicketFactory(closed=True, assigned=True, resolution_due_at=hours(-9))
    soon = TicketFactory(resolution_due_at=hours(0.5), **over)
    postponed = TicketFactory(assigned=True, status=status("postponed"), resolution_due_at=hours(-2))

    views = ("mine", "unassigned", "waiting", "late", "postponed", "soon")
    found = {view: shown(client, view=view) for view in views}

    assert found == {
        "mine": [mine],
        "unassigned": [nobodys],
        "waiting": [late, nobodys],
        "late": [late, nobodys],
        "postponed": [postponed],
        "soon": [soon],
    }
    assert answered in shown(client)
    shown_views = client.get(LIST, {"view": "late"}).context["views"]
    assert [view.get("count") for view in shown_views] == [None, "1", "1", "2", "2", "1", "1"]
    assert [view["is_chosen"] for view in shown_views] == [False, False, False, False, True, False, False]


def test_views_are_narrowed_by_filters():
    queue = TicketQueueFactory()
    here = TicketFactory(queue=queue, response_due_at=hours(-1))
    TicketFactory(response_due_at=hours(-2))
    client = superuser()

    found = [shown(client, view=view, queue__id__exact=queue.pk) for view in ("unassigned", "waiting", "late")]

    assert found == [[here], [here], [here]]


def test_a_user_without_an_agent_has_no_view_of_own_tickets():
    TicketFactory(assigned=True)
    client = superuser()

    assert shown(client, view="mine") == []
    assert "Mine" not in [str(view["name"]) for view in client.get(LIST).context["views"]]


@pytest.mark.slow("opens many pages")
def test_tickets_are_found_by_each_searched_column():
    customer = CustomerFactory(name="Maria", surname="Kowalska", email="maria@client.example", identifier="K-17")
    CustomerNumberFactory(customer=customer, phone_number="22 555 01 07")
    order = CustomFieldFactory(name="order")
    CustomFieldFactory(name="weight", type="number")
    ticket = TicketFactory(customer=customer, sender="", subject="x", custom_fields={str(order.pk): "ORD/12094"})
    named = TicketFactory(subject="The 100%_kettle does not boil", sender="Jan@Else.example")
    TicketFactory(subject="else", sender="")
    client = superuser()

    of_ticket = (str(ticket.pk), f"#{ticket.pk}", "MARIA@client.example", "+48 22 555 01 07", "kowalska mar", "K-17")
    expected = {text: [ticket] for text in (*of_ticket, "ORD/12094")}
    expected |= {"boil 100%_KETTLE": [named], "jan@else.example": [named], "nothing of this": [], "100x": []}
    assert {text: shown(client, q=text) for text in expected} == expected


@pytest.mark.parametrize(("query", "queries"), [({}, 13), ({"view": "waiting"}, 15), ({"view": "late"}, 15)])
def test_the_query_count_of_the_list_of_tickets_is_constant(query, queries):
    TicketFactory.create_batch(
        30, of_customer=True, assigned=True, response_due_at=hours(-1), tags=["a"], queue=TicketQueueFactory()
    )
    client = superuser()
    client.page(LIST)

    with few_statements(queries):
        client.page(LIST, **query)


def test_the_list_never_counts_all_tickets_and_is_in_the_order_of_an_index():
    TicketFactory.create_batch(3)
    client = superuser()

    with CaptureQueriesContext(connection) as captured:
        client.page(LIST, o="1")

    statements = [query["sql"].lower() for query in captured if "tickets_ticket" in query["sql"]]
    assert not any("count(*)" in sql and "limit" not in sql for sql in statements)
    assert any('order by "tickets_ticket"."updated_at" desc, "tickets_ticket"."id" desc' in sql for sql in statements)


def test_pages_follow_each_other(monkeypatch):
    monkeypatch.setattr(TicketAdmin, "list_per_page", 2)
    tickets = [TicketFactory(updated_at=hours(-n), response_due_at=hours(n - 9)) for n in range(3)]
    client = superuser()

    for view, expected in (("", tickets), ("waiting", tickets), ("late", tickets)):
        assert shown(client, view=view) + shown(client, view=view, p=2) == expected


@pytest.mark.slow("opens many pages")
def test_many_tickets_are_changed_at_once():
    tickets, agent, queue = TicketFactory.create_batch(3, tags=["old", "b"]), AgentFactory(), TicketQueueFactory()
    client, closed = superuser(), status("closed")

    asked = client.act(LIST, "set_status", tickets[0])
    before = tickets[0].history.count()
    said = [
        messages_of(client.act(LIST, action, *tickets, apply="1", **values))[-1]
        for action, values in (
            ("assign_selected", {"agent": agent.login}),
            ("move_to_queue", {"queue": queue.pk}),
            ("change_tags", {"added": "new, b", "removed": "old"}),
            ("set_status", {"status": f"s{closed.pk}"}),
        )
    ]

    assert ("1 ticket is selected." in asked.content.decode(), before) == (True, 0)
    assert said == ["3 tickets changed."] * 4
    for ticket in tickets:
        ticket.refresh_from_db()
        assert (ticket.agent, ticket.queue, ticket.tags) == (agent, queue, ["b", "new"])
        assert (ticket.status, ticket.closed_by) == (closed, agent)


def test_refused_tickets_are_named_with_the_reason():
    tickets, merged = TicketFactory.create_batch(2), TicketFactory()
    merge_tickets(merged, TicketFactory(), ACTOR)

    response = superuser().act(LIST, "assign_selected", *tickets, merged, apply="1", agent=AgentFactory().login)

    changed, refused = messages_of(response)
    assert changed == "2 tickets changed."
    assert refused.startswith(f"Not changed: #{merged.pk}. The ticket was merged into ticket")


def test_tickets_with_all_of_some_tags_are_found():
    TicketFactory(tags=[])
    both, one = TicketFactory(tags=["vip", "late parcel", "x"]), TicketFactory(tags=["vip"])
    closed = TicketFactory(tags=["vip"], closed=True)
    client = superuser()

    assert set(shown(client, tags="vip")) == {both, one, closed}
    assert shown(client, tags="late parcel, vip") == [both]
    assert set(shown(client, tags="vip", view="unassigned")) == {both, one}
    assert shown(client, tags="VIP") == []
    assert len(shown(client, tags=" , ")) == 4


def test_tags_are_found_by_their_index():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        plan = Ticket.objects.filter(tags__contains=["vip"]).exclude(tags=[]).order_by().explain()

    assert "ticket_tags" in plan
