"""Service levels, rules and macros in a real Chromium: the journeys of a supervisor and of an agent."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone
from playwright.sync_api import expect

from callcentre.core.actor import SYSTEM
from callcentre.models import User
from tests.backoffice import page_of
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import MacroFactory, TicketQueueFactory
from tickets.models import Rule, ServiceLevel, Ticket
from tickets.verbs.automation import run_due
from tickets.verbs.service_levels import compute_open_tickets, tell_deadlines
from tickets.verbs.tickets import open_ticket

pytestmark = pytest.mark.usefixtures("own_storage")


@pytest.mark.trial
def test_a_supervisor_sets_a_level_tries_a_rule_and_sees_the_escalation(visit):
    TicketQueueFactory()
    message = open_ticket(SYSTEM, subject="Parcel lost", sender="jan@client.example", source="email", body="Help!")
    ticket = message.ticket

    page = visit.open("/admin/tickets/servicelevel/add/")
    page.locator("[name=name]").fill("Everybody")
    page.locator("[name=first_response_minutes]").fill("30")
    page.locator("[name=_save]").click()
    expect(page.locator("#result_list").get_by_role("link", name="Everybody")).to_be_visible()
    compute_open_tickets()

    page = visit.open("/admin/tickets/rule/add/")
    page.locator("[name=name]").fill("Escalate")
    page.locator("[name=anchor]").select_option("response_due_at")
    page.locator("[name=after_minutes]").fill("0")
    page.locator("[name=do_priority]").select_option("urgent")
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Try it").click()
    expect(opened.value.get_by_text("1 of the last 1 tickets meets the conditions")).to_be_visible()
    expect(opened.value.get_by_text("priority: normal → urgent")).to_be_visible()
    assert Ticket.objects.get().priority == 2
    page.locator("[name=_save]").click()
    expect(page.locator("#result_list").get_by_role("link", name="Escalate")).to_be_visible()

    with time_machine.travel(timezone.now() + timedelta(minutes=40)):
        tell_deadlines()
        run_due(Rule.objects.get())

    page = visit.open("/admin/tickets/ticket/")
    expect(page.get_by_role("row", name="Parcel lost").get_by_text("urgent")).to_be_visible()
    page = visit.open(page_of(ticket))
    page.get_by_text("History", exact=True).click()
    for said in ("rule: Escalate", "priority: normal → urgent", "overdue: response"):
        expect(page.locator(".tk-history")).to_contain_text(said)
    assert (ServiceLevel.objects.get().first_response_minutes, visit.trouble) == (30, [])


def test_an_agent_uses_a_macro_by_its_key(visit):
    AgentFactory(login="anna", user=User.objects.get(is_superuser=True))
    MacroFactory(name="Take over", actions={"agent": "me", "priority": "high", "comment": "Mine now."})
    TicketQueueFactory()
    message = open_ticket(SYSTEM, subject="Parcel lost", sender="jan@client.example", source="email", body="Help!")

    page = visit.open(page_of(message.ticket))
    page.keyboard.press("1")

    expect(page.get_by_text("The macro is done.")).to_be_visible()
    expect(page.locator("#conversation")).to_contain_text("Mine now.")
    found = Ticket.objects.get()
    assert (found.agent_login, found.priority, visit.trouble) == ("anna", 3, [])
