"""A person with a scope at every address of the admin: rows outside it are missing, and appear nowhere.

Each model has a row whose queue, campaign and group are outside the scope. Names and texts of these rows hold a word
that no other row has, so a page that shows any of them is found.
"""

from random import sample
from typing import Any

import pytest
from django.contrib import admin
from django.urls import reverse

from callcentre.core.scope import lookups_of
from campaigns.models import Campaign
from reports.models import Export
from telephony.models import Agent, AgentGroup, Queue
from tests.admin_pages import addresses, list_of, routes
from tests.backoffice import page_of
from tests.conftest import kept_for_all
from tests.rights.scenes import ASKED, SECRET, Scene
from tests.tiers import examples
from tickets.models import Chat, TicketQueue

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static"), pytest.mark.slow("opens every page")]

SEARCH = "/admin/search/"


@pytest.fixture(scope="module")
def scene(django_db_setup, django_db_blocker):
    made: list[Scene] = []
    with kept_for_all(django_db_blocker, lambda: made.append(Scene())):
        yield made[0]


def text_of(answer: Any) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode("utf-8", "replace"))


def leaks(scene: Scene, path: str, **query: Any) -> list[str]:
    """Return what an address shows of rows outside: the word, and links to their pages."""
    answer = scene.client.get(path, query)
    assert answer.status_code < 500, path
    page = text_of(answer)
    found = [SECRET] if SECRET in page else []
    # A page names its own address.
    return found + [url for url in _pages_outside(scene) if url != path and f'"{url}' in page]


def _pages_outside(scene: Scene) -> list[str]:
    return [page_of(row) for model, row in scene.outside.items() if lookups_of(model) and model is not Export]


def test_no_page_shows_a_row_outside(scene):
    every = [*addresses(scene.outside), *map(reverse, ("overview", "wallboard", "desk"))]
    paths = sample(every, examples(len(every)))

    assert {path: found for path in paths if (found := leaks(scene, path))} == {}


def test_no_page_of_a_row_inside_shows_one_outside(scene):
    inside = [scene.ticket, scene.ticket.queue, scene.agent, scene.group, scene.queue, scene.call, scene.record]
    inside.append(scene.record.campaign)
    rows = scene.outside | {type(row): row for row in inside}
    # The other addresses are those of the test before.
    of_rows = [route for row in inside for route in routes(type(row)) if "<" in route]

    pages = {path: scene.client.get(path).status_code for row in inside for path in [page_of(row)]}
    found = {path: found for path in addresses(rows, of_rows) if (found := leaks(scene, path))}

    assert set(pages.values()) == {200}
    assert found == {}


@pytest.mark.walk("vaultwor")
@pytest.mark.parametrize("text", [ASKED, "+48700700700", "700700700"])
def test_no_search_finds_a_row_outside(scene, text):
    lists = [list_of(model) for model in admin.site._registry]
    found = {path: found for path in lists if (found := leaks(scene, path, q=text))}
    assert found == {}
    assert leaks(scene, SEARCH, q=text) == []
    assert leaks(scene, SEARCH, q=text, box="1") == []


def test_no_autocomplete_offers_a_row_outside(scene):
    asked = 0
    for model in admin.site._registry:
        for field in model._meta.get_fields():
            if not (field.many_to_one or field.many_to_many or field.one_to_one) or field.auto_created:
                continue
            names = {
                "app_label": model._meta.app_label,
                "model_name": str(model._meta.model_name),
                "field_name": field.name,
            }
            for term in ("", ASKED):
                answer = scene.client.get("/admin/autocomplete/", {**names, "term": term})
                asked += answer.status_code == 200
                assert SECRET not in answer.content.decode(), names
    assert asked > 20


def test_the_report_has_agents_inside_only(scene):
    query = {"date_from": "2026-11-01", "date_to": "2026-11-23"}
    url = reverse("admin:reports_export_report")
    outside: Any = scene.outside[Agent]

    page = text_of(scene.client.get(url, query))
    refused = text_of(scene.client.get(url, {**query, "agent_logins[]": outside.login}))
    of_group = text_of(scene.client.get(url, {**query, "agent_group_ids[]": outside.group_id}))

    assert "own-agent" in page
    assert SECRET not in page + refused + of_group
    assert f">{outside.login}<" not in page + of_group


@pytest.mark.parametrize("name", ["ticket_queue", "queue"])
def test_a_posted_id_outside_is_refused(scene, name):
    if name == "ticket_queue":
        path, field, value = page_of(scene.ticket), "p-queue", scene.outside[TicketQueue].pk
        scene.client.submit(path, expected={200, 302, 400}, **{field: value, "do": "edit"})
        scene.ticket.refresh_from_db()
        assert scene.ticket.queue_id != value
    else:
        value = scene.outside[Queue].pk
        path = reverse("admin:tickets_chat_add")
        before = Chat.objects.count()
        scene.client.submit(path, expected=200, client_name="Eva", client_email="", queue=value)
        assert Chat.objects.count() == before


def test_new_queues_and_campaigns_would_be_outside_and_are_not_added(scene):
    for model in (Queue, Campaign, TicketQueue, AgentGroup):
        assert scene.client.get(f"{list_of(model)}add/").status_code == 403
