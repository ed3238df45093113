"""The overview, the wallboard and queues in a real Chromium: changes appear without a reload, and nothing jumps."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from callcentre.overview.watch import watch
from telephony.leader_election import Leadership
from telephony.models import Agent, Connection, Pause, Queue
from telephony.verbs import presence
from tests.backoffice import page_of
from tests.browser.conftest import opened_once
from tests.conftest import ACTOR
from tests.overview.factories import AlarmFactory
from tests.telephony.factories import AgentFactory, ConnectionFactory, QueueFactory
from tests.tickets.factories import TicketFactory


def caller(queue: Queue, seconds: int = 30) -> Any:
    since = timezone.now() - timedelta(seconds=seconds)
    return ConnectionFactory(waiting=True, queue=queue, created_at=since, waiting_since=since)


@pytest.fixture
def queue(committed_db):
    found: Queue = QueueFactory(name="Hotline")
    return found


@pytest.fixture
def overview(visit):
    """The start page, opened once."""
    with opened_once(visit, reverse("admin:index")) as page:
        yield page


def test_a_waiting_caller_and_an_alarm_appear_and_go_by_themselves_and_the_alarm_sounds_once(queue, overview):
    AlarmFactory(name="Too many", limit=0, queue=queue, sounds=True)
    # A click on the page allows it to sound.
    overview.locator(".ov-time").click()
    tiles = overview.locator("[data-key=tiles]").first
    waiting, longest = (tiles.locator(f"[data-key={key}] .cc-number") for key in ("waiting", "longest"))
    expect(waiting).to_have_text("0")
    expect(overview.get_by_role("heading", name="Callers wait")).to_have_count(0)

    call = caller(queue, 90)
    expect(waiting).to_have_text("1")
    of_queue = overview.locator("section[data-key=waiting]").get_by_role("row", name="Hotline")
    expect(of_queue).to_contain_text(re.compile(r"1:[3-9]\d|[2-9]:\d\d"))
    expect(of_queue.locator("td.ov-danger").nth(1)).to_be_visible()
    first = longest.inner_text()
    expect(longest).not_to_have_text(first)
    watch()
    expect(overview.get_by_text("Alarm: Too many")).to_be_visible()
    expect(overview.locator("#overview")).to_have_attribute("data-sounded", "1")

    Connection.objects.filter(pk=call.pk).update(
        state="ended", ended_at=timezone.now(), disposition="NO ANSWER", hung_up_by="customer"
    )
    expect(waiting).to_have_text("0")
    watch()
    expect(overview.get_by_text("Alarm: Too many")).to_have_count(0)
    expect(overview.locator("#overview")).to_have_attribute("data-sounded", "1")


@pytest.mark.trial
def test_focus_selection_and_scrolling_stay(queue, overview):
    link = overview.get_by_role("row", name="Hotline").get_by_role("link", name="Hotline")
    link.focus()
    overview.evaluate(
        """() => {
            const range = document.createRange();
            range.selectNodeContents(document.querySelector("section[data-key=queues] h2"));
            getSelection().removeAllRanges();
            getSelection().addRange(range);
            scrollTo(0, 60);
            window.focused = document.activeElement;
            window.scrolled = scrollY;
        }"""
    )

    for name in ("Before", "Later"):
        caller(QueueFactory(name=name), 600)
    for name in ("Before", "Later"):
        expect(overview.locator("section[data-key=queues]").get_by_role("row", name=name)).to_contain_text("1")

    expect(link).to_be_focused()
    assert overview.evaluate("window.focused === document.activeElement")
    assert overview.evaluate("getSelection().toString()") == "Queues"
    assert overview.evaluate("scrollY === window.scrolled")


@pytest.mark.trial
def test_figures_without_an_answer_say_since_when_and_the_end_of_the_session_is_said(queue, visit):
    page = visit.open(reverse("admin:index"))
    expect(page.locator(".ov-time")).to_have_text(re.compile(r"Read at \d\d:\d\d:\d\d\."))

    page.route("**/admin/overview/now", lambda route: route.abort())

    expect(page.locator(".ov-away")).to_have_text(
        re.compile(r"As of \d\d:\d\d:\d\d: the service has not answered since then\.")
    )
    page.unroute("**/admin/overview/now")
    expect(page.locator(".ov-away")).to_have_text("")

    page.context.clear_cookies()

    expect(page.locator(".ov-away")).to_have_text(re.compile("you are logged out"))


@pytest.mark.trial
def test_a_chart_that_is_open_as_a_table_stays_open(queue, overview):
    now = timezone.now()
    ConnectionFactory(inbound=True, queue=queue, created_at=now)
    overview.locator("[data-key=chart-calls] summary").click()
    table = overview.locator("[data-key=chart-calls] tbody")
    expect(table).to_be_visible()

    TicketFactory()
    ConnectionFactory(inbound=True, queue=queue, created_at=now)

    expect(table.locator("tr").first.locator("td").nth(1)).to_have_text("2")
    expect(table).to_be_visible()
    expect(overview.locator("[data-key=chart-tickets] svg")).to_be_visible()


@pytest.mark.trial
def test_the_wallboard_shows_the_chosen_queue(queue, visit):
    QueueFactory(name="Elsewhere")
    page = visit.open(f"{reverse('wallboard')}?queue={queue.pk}")
    expect(page.get_by_role("heading", name="Hotline")).to_be_visible()
    expect(page.get_by_role("heading", name="Elsewhere")).to_have_count(0)

    caller(queue)

    expect(page.locator(f"[data-key=queue-{queue.pk}] [data-key=waiting] .cc-number")).to_have_text("1")

    # Fewer figures, larger letters; nothing is wider or higher than the screen.
    number = page.locator("[data-key=waiting] .cc-number")
    height = number.bounding_box()["height"]
    page.get_by_text("Choose what is shown").click()
    page.get_by_label("waiting now").check()
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(re.compile("figure=waiting"))
    expect(page.locator(".cc-tile")).to_have_count(1)
    assert number.first.bounding_box()["height"] > height
    fits = "document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"
    assert page.evaluate(fits)
    assert visit.trouble == []


# Agents and queues

UNHEARD = "No connection to the PBX"


@pytest.fixture
def anna(committed_db):
    anna: Agent = AgentFactory(login="anna", surname="Nowak")
    presence.log_in(anna, ACTOR)
    return anna


@pytest.mark.trial
def test_changes_of_agents_and_of_the_switch_appear_by_themselves(anna, overview):
    line, free = overview.get_by_role("row", name="anna"), overview.locator("[data-key=state-free] .cc-number")
    expect(line).to_contain_text("ready")
    expect(free).to_have_text("1")
    expect(overview.get_by_text(UNHEARD)).to_be_visible()
    presence.log_in(AgentFactory(login="bert", name="Bert", surname="Kos"), ACTOR)
    expect(free).to_have_text("2")
    with Leadership() as leadership:
        leadership.report(is_connected=True)
        expect(overview.get_by_text(UNHEARD)).to_have_count(0)
    expect(overview.get_by_text(UNHEARD)).to_be_visible()

    call = ConnectionFactory(talking=True, dst="+48225550107", agent=anna)
    presence.ring(anna, call, call.created_at)
    expect(line).to_contain_text("ringing")
    expect(line).to_contain_text("+48225550107")
    presence.talk(anna, call, call.created_at)
    expect(line).to_contain_text("talking")
    presence.pause(anna, ACTOR, Pause.objects.create(name="Lunch").pk)
    expect(line).to_contain_text("paused: Lunch")

    for agent in Agent.objects.all():
        presence.log_out(agent, ACTOR)
    expect(overview.get_by_text("No agent is logged in.")).to_be_visible()


@pytest.mark.trial
def test_the_focus_stays_while_agents_change_and_when_the_focused_row_goes(anna, overview):
    link = overview.get_by_role("link", name="anna")
    link.focus()
    overview.evaluate("window.focused = document.activeElement; window.blurs = 0")
    overview.evaluate("window.focused.addEventListener('blur', () => { window.blurs += 1 })")

    # Agents appear before and after the focused row, the row moves, and a part above it disappears.
    bert: Agent = AgentFactory(login="bert", name="Bert", surname="Kos")
    presence.log_in(bert, ACTOR)
    expect(overview.get_by_role("row", name="bert")).to_be_visible()
    presence.pause(anna, ACTOR, Pause.objects.create(name="Lunch").pk)
    expect(overview.locator("tbody tr").last).to_contain_text("paused: Lunch")
    with Leadership() as leadership:
        leadership.report(is_connected=True)
        expect(overview.get_by_text(UNHEARD)).to_have_count(0)
    presence.free(anna, ACTOR)
    expect(overview.get_by_role("row", name="anna")).to_contain_text("ready")

    expect(link).to_be_focused()
    assert overview.evaluate("[window.focused === document.activeElement, window.blurs]") == [True, 0]
    presence.log_out(anna, ACTOR)
    expect(overview.get_by_role("row", name="anna")).to_have_count(0)
    assert overview.evaluate("document.getElementById('overview').contains(document.activeElement)")


@pytest.mark.trial
def test_callers_appear_and_disappear_on_the_page_of_their_queue(queue, visit):
    page = visit.open(page_of(queue))
    page.get_by_label("Name").fill("Hotline 2")
    expect(page.get_by_text("No caller waits.")).to_be_visible()

    call = ConnectionFactory(waiting=True, queue=queue, src="+48225550107")
    expect(page.get_by_role("cell", name="+48225550107")).to_be_visible()
    call.delete()
    expect(page.get_by_text("No caller waits.")).to_be_visible()

    # Text that is typed meanwhile stays.
    expect(page.get_by_label("Name")).to_have_value("Hotline 2")


@pytest.mark.trial
def test_the_list_of_queues_counts_by_itself_and_the_focus_stays(queue, visit):
    page = visit.open(reverse("admin:telephony_queue_changelist"))
    page.get_by_role("link", name="Hotline").focus()

    ConnectionFactory.create_batch(7, waiting=True, queue=queue)

    expect(page.get_by_role("cell", name="7", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Hotline")).to_be_focused()
    page.locator("input.action-select").check()
    expect(page.get_by_text("1 of 1 selected")).to_be_visible()
