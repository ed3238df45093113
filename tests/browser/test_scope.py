"""An agent whose scope is another queue, campaign and group walks the addresses of rows in a real Chromium."""

import pytest

from callcentre.models import User
from campaigns.models import Campaign, Record
from telephony.models import Connection, Queue, Recording
from tests.admin_pages import list_of
from tests.backoffice import page_of
from tests.browser.conftest import Visit
from tests.rights.scenes import ASKED, SECRET, Scene
from tickets.models import Chat, Customer, ReceivedMail, Ticket, TicketQueue

# The pages that the journey opens.
SAMPLE = (Ticket, Chat, ReceivedMail, Connection, Recording, Record, Campaign, Queue, TicketQueue)

_FETCH = """async (path) => {
    const answer = await fetch(path);
    return [answer.status, answer.url, await answer.text()];
}"""


@pytest.fixture
def scene(browser):
    return Scene("Agent")


@pytest.fixture
def visitor(scene):
    return scene.client


def files_of(scene: Scene) -> list[str]:
    """Return the addresses of a file of a ticket, a recording and a raw mail."""
    return [path for path in scene.pages_outside() if "/file/" in path or path.endswith(("/audio", "/raw/"))]


def shared_pages(scene: Scene) -> list[str]:
    """Return pages that show rows of many queues: desk, timeline, overview, searches."""
    ids = {model: scene.outside[model].pk for model in (Chat, Ticket, Queue, Connection, Customer)}
    return [
        f"/admin/search/?q={ASKED}",
        "/admin/search/?q=700700700",
        f"/admin/desk/?chat_id={ids[Chat]}",
        f"/admin/desk/now?chat_id={ids[Chat]}",
        f"/admin/wallboard/?queue={ids[Queue]}&outbound={scene.outside[Campaign].pk}",
        "/admin/overview/now",
        "/admin/",
        page_of(scene.outside[Customer]),
        page_of(scene.ticket),
        *(f"{list_of(model)}?q={ASKED}" for model in SAMPLE),
    ]


def opened(visit: Visit, path: str) -> str:
    """Return what a page shows of rows outside."""
    answer = visit.page.goto(f"{visit.address}{path}", wait_until="domcontentloaded")
    assert answer
    return shown(visit, path, answer.status, visit.page.url, visit.page.content())


def fetched(visit: Visit, path: str) -> str:
    """Return what an address answers of rows outside. Files and answers without a body are no pages to open."""
    return shown(visit, path, *visit.page.evaluate(_FETCH, path))


def shown(visit: Visit, path: str, status: int, url: str, text: str) -> str:
    """Return the word if it is shown, or "a page" if the address itself answers; "" for nothing."""
    assert status < 500, path
    if SECRET in text:
        return SECRET
    return "a page" if status not in (403, 404, 405) and url == f"{visit.address}{path}" else ""


@pytest.mark.trial
def test_an_agent_of_another_queue_finds_no_row(scene, visit):
    files = files_of(scene)
    paths = [*(page_of(scene.outside[model]) for model in SAMPLE), *files]

    assert len(files) == 3
    assert {path: found for path in paths if (found := opened(visit, path))} == {}
    assert [path for path in shared_pages(scene) if opened(visit, path) == SECRET] == []


@pytest.mark.trial
def test_an_agent_of_another_queue_finds_no_row_by_any_address(scene, visit):
    paths = scene.pages_outside()
    visit.open("/admin/desk/")

    assert len(paths) > 100
    assert {path: found for path in paths if (found := fetched(visit, path))} == {}


@pytest.mark.trial
def test_the_same_addresses_show_the_row_to_people_inside(scene, visit):
    """The addresses are right: without the scope they answer with the rows."""
    User.objects.filter(pk=scene.user.pk).update(
        scope_ticket_queues=None, scope_call_queues=None, scope_outbounds=None, scope_agent_groups=None
    )

    assert opened(visit, page_of(scene.outside[Ticket])) == SECRET
    assert opened(visit, page_of(scene.outside[Chat])) == SECRET
