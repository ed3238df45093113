"""The agents of the overview in a real Chromium: changes of agents appear without a reload of the page."""

from collections.abc import Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from telephony.leader_election import Leadership
from telephony.models import Agent, Pause
from telephony.verbs import presence
from tests.browser.conftest import Visit, opened_once
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory, ConnectionFactory

pytestmark = pytest.mark.usefixtures("plain_static")

UNHEARD = "No connection to the PBX"


@pytest.fixture
def anna(committed_db: None) -> Agent:
    anna: Agent = AgentFactory(login="anna", surname="Nowak")
    presence.log_in(anna, ACTOR)
    return anna


@pytest.fixture
def board(anna: Agent, visit: Visit) -> Iterator[Page]:
    """The front page with the board, opened once."""
    with opened_once(visit, reverse("admin:index")) as page:
        yield page


@pytest.mark.trial
def test_a_change_of_state_appears_by_itself(anna: Agent, board: Page) -> None:
    line = board.get_by_role("row", name="anna")
    expect(line).to_contain_text("ready")

    call = ConnectionFactory(talking=True, dst="+48225550107", agent=anna)
    presence.ring(anna, call, call.created_at)
    expect(line).to_contain_text("ringing")
    expect(line).to_contain_text("+48225550107")
    presence.talk(anna, call, call.created_at)
    expect(line).to_contain_text("talking")
    presence.pause(anna, ACTOR, Pause.objects.create(name="Lunch").pk)
    expect(line).to_contain_text("paused: Lunch")

    presence.log_out(anna, ACTOR)
    expect(board.get_by_text("No agent is logged in.")).to_be_visible()


@pytest.mark.trial
def test_the_tiles_count_by_themselves(anna: Agent, board: Page) -> None:
    free = board.locator("[data-key=state-free] .cc-number")
    expect(free).to_have_text("1")

    presence.log_in(AgentFactory(login="bert"), ACTOR)

    expect(free).to_have_text("2")


@pytest.mark.trial
def test_the_board_shows_that_the_switch_is_connected_again(anna: Agent, board: Page) -> None:
    expect(board.get_by_text(UNHEARD)).to_be_visible()

    with Leadership() as leadership:
        leadership.report(is_connected=True)
        expect(board.get_by_text(UNHEARD)).to_have_count(0)
    expect(board.get_by_text(UNHEARD)).to_be_visible()


@pytest.mark.trial
def test_the_focus_stays_while_the_board_changes(anna: Agent, board: Page) -> None:
    link = board.get_by_role("link", name="anna")
    link.focus()
    board.evaluate("window.focused = document.activeElement; window.blurs = 0")
    board.evaluate("window.focused.addEventListener('blur', () => { window.blurs += 1 })")

    # Agents appear before and after the focused row, the row moves, and a part above it disappears.
    bert: Agent = AgentFactory(login="bert", name="Bert", surname="Kos")
    presence.log_in(bert, ACTOR)
    expect(board.get_by_role("row", name="bert")).to_be_visible()
    presence.pause(anna, ACTOR, Pause.objects.create(name="Lunch").pk)
    expect(board.locator("tbody tr").last).to_contain_text("paused: Lunch")
    with Leadership() as leadership:
        leadership.report(is_connected=True)
        expect(board.get_by_text(UNHEARD)).to_have_count(0)
    presence.free(anna, ACTOR)
    expect(board.get_by_role("row", name="anna")).to_contain_text("ready")

    expect(link).to_be_focused()
    assert board.evaluate("[window.focused === document.activeElement, window.blurs]") == [True, 0]


@pytest.mark.trial
def test_the_focus_stays_on_the_board_when_the_focused_row_goes(anna: Agent, board: Page) -> None:
    presence.log_in(AgentFactory(login="bert", name="Bert", surname="Kos"), ACTOR)
    expect(board.get_by_role("row", name="bert")).to_be_visible()
    board.get_by_role("link", name="anna").focus()

    presence.log_out(anna, ACTOR)
    expect(board.get_by_role("row", name="anna")).to_have_count(0)

    assert board.evaluate("document.getElementById('overview').contains(document.activeElement)")
