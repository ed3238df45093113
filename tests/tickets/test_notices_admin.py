"""Notices on pages: the page of the ticket, the page of one's own, the settings of an agent."""

from datetime import timedelta

import pytest

from tests.backoffice import page_of, superuser
from tests.telephony.factories import AgentFactory
from tests.tickets.conftest import agent_of
from tests.tickets.factories import (
    NoticeFactory,
    TicketFactory,
)
from tickets.models import AgentPreferences, Notice, NoticeKind

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


@pytest.fixture
def client_of(client):
    def log_in(agent):
        client.force_login(agent.user)
        return client

    return log_in


def test_opening_the_ticket_closes_its_notices_for_this_agent(anna, jan, client_of):
    ticket = TicketFactory()
    mine, other, of_jan = NoticeFactory(ticket=ticket, agent=anna), NoticeFactory(agent=anna), NoticeFactory(agent=jan)

    assert client_of(anna).get(page_of(ticket)).status_code == 200

    open_ones = set(Notice.objects.filter(closed_at=None).values_list("pk", flat=True))
    assert open_ones == {other.pk, of_jan.pk}
    assert mine.pk not in open_ones


def test_a_person_who_may_look_follows_by_the_button_and_is_listed(anna, client_of):
    client, page = client_of(anna), page_of(TicketFactory())

    client.post(page, {"do": "follow"})
    followed = client.get(page).content.decode()
    client.post(page, {"do": "unfollow"})

    assert "anna (Anna Nowak)" in followed
    assert 'value="unfollow"' in followed
    assert 'value="follow"' in client.get(page).content.decode()


def test_the_composer_offers_agents_who_may_see_the_ticket(anna):
    agent_of("blind", "view_chat")

    answer = superuser().get(f"/admin/tickets/ticket/{TicketFactory().pk}/mentions")

    assert answer.json() == {"agents": [["anna", "Anna Nowak"]]}


def test_an_agent_chooses_notices_and_the_time_out_of_office(anna, client_of):
    client, page = client_of(anna), "/admin/tickets/agentpreferences/own/"
    form = {"on_bar": ["assigned", "mentioned"], "by_mail": ["mentioned"], "signature": "<p>Anna</p>"}
    away = {"away_from_0": "2026-12-01", "away_from_1": "08:00", "away_until_0": "2026-12-08", "away_until_1": "08:00"}

    assert client.post(page, form).status_code == 302
    assert client.post(page, {**form, **away}).status_code == 302

    row = AgentPreferences.objects.get(agent=anna)
    assert sorted(row.not_on_bar) == ["answered", "deadline", "followed", "woken"]
    assert (row.by_mail, row.signature) == (["mentioned"], "<p>Anna</p>")
    assert row.away_until
    assert row.away_from
    assert row.away_until - row.away_from == timedelta(days=7)
    shown = client.get(page).context["form"]
    assert shown["on_bar"].value() == ["assigned", "mentioned"]


def test_an_end_before_the_beginning_is_refused_at_its_field(anna, client_of):
    away = {"away_from_0": "2026-12-08", "away_from_1": "08:00", "away_until_0": "2026-12-01", "away_until_1": "08:00"}

    answer = client_of(anna).post("/admin/tickets/agentpreferences/own/", away)

    assert answer.context["form"].errors == {"__all__": ["The end is before the beginning."]}
    assert not AgentPreferences.objects.exists()


def test_the_page_of_ones_own_shows_notices_within_the_scope_and_is_for_agents_only(anna, client_of):
    page = "/admin/tickets/agentpreferences/own/"
    seen, outside = NoticeFactory(agent=anna), NoticeFactory(agent=anna)
    anna.user.scope_ticket_queues = [seen.ticket.queue_id]
    anna.user.save()

    content = client_of(anna).get(page).content.decode()

    assert f"You are mentioned: #{seen.ticket_id} " in content
    assert f"#{outside.ticket_id} " not in content
    assert superuser().get(page).status_code == 403


def test_supervisors_edit_the_settings_of_an_agent():
    agent = AgentFactory()
    client = superuser()

    client.submit("/admin/tickets/agentpreferences/add/", agent=agent.pk, by_mail=["deadline"])
    added = AgentPreferences.objects.get()
    client.submit(page_of(added), on_bar=None)

    assert (added.agent, added.not_on_bar, added.by_mail) == (agent, [], ["deadline"])
    changed = AgentPreferences.objects.get()
    assert (sorted(changed.not_on_bar), changed.by_mail) == (sorted(NoticeKind.values), ["deadline"])
