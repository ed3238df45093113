"""The content security policy of all pages, and the way back to the page of an action."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from callcentre.core.downloads import file_response
from telephony.verbs import presence
from tests.backoffice import inputs_of, page_of, staff, superuser
from tests.conftest import ACTOR, ApiClient
from tests.telephony.factories import AgentFactory, PauseFactory
from tests.tickets.factories import CannedReplyFactory, TicketFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

INDEX, LOGIN = reverse("admin:index"), reverse("admin:login")


def policy_of(answer: Any) -> dict[str, set[str]]:
    """Return directive -> its sources."""
    directives = (part.split() for part in answer["Content-Security-Policy"].split(";"))
    return {name: set(sources) for name, *sources in directives}


def sources_of(answer: Any, directive: str) -> set[str]:
    policy = policy_of(answer)
    return policy.get(directive, policy["default-src"])


def broken(client: Client) -> Any:
    client.raise_request_exception = False
    with connection.execute_wrapper(lambda *asked: 1 / 0):
        return client.get(INDEX)


ANSWERS: dict[str, tuple[int, Callable[[], Any]]] = {
    "log-in": (200, lambda: Client().get(LOGIN)),
    "overview": (200, lambda: superuser().get(INDEX)),
    "a row": (200, lambda: superuser().get(page_of(TicketFactory()))),
    "documents of the API": (200, lambda: superuser().get("/api/docs")),
    "no right": (403, lambda: staff().get(reverse("admin:callcentre_user_changelist"))),
    "nothing there, of staff": (404, lambda: superuser().get("/nothing")),
    "nothing there, of anybody": (404, lambda: Client().get("/nothing")),
    "a form from elsewhere": (403, lambda: Client(enforce_csrf_checks=True).post(LOGIN)),
    "a log-in with a wrong password": (200, lambda: Client().post(LOGIN, {"username": "a", "password": "b"})),
    "not understood": (400, lambda: Client().get("/admin/%00")),
    "a host that is not ours": (400, lambda: Client().get("/", headers={"host": "elsewhere.example"})),
    "broken": (500, lambda: broken(superuser())),
    "a rating": (404, lambda: Client().get("/ratings/nothing")),
    "a redirection": (302, lambda: Client().get("/")),
    "an answer of the API": (401, lambda: ApiClient().get("/api/outbounds")),
}


WITHOUT_THEME = ("documents of the API", "not understood", "broken", "a rating")


@pytest.mark.parametrize("kind", ANSWERS)
def test_no_answer_allows_inline_scripts_or_frames(kind):
    status, ask = ANSWERS[kind]

    answer = ask()

    assert answer.status_code == status
    assert "'unsafe-inline'" not in sources_of(answer, "script-src")
    assert "*" not in {*sources_of(answer, "script-src"), *sources_of(answer, "connect-src")}
    assert sources_of(answer, "object-src") == {"'none'"}
    assert policy_of(answer)["frame-ancestors"] == {"'none'"}
    assert policy_of(answer)["base-uri"] <= {"'self'", "'none'"}
    assert policy_of(answer)["form-action"] <= {"'self'", "'none'"}
    # The scripts of the theme need it.
    assert ("'unsafe-eval'" in sources_of(answer, "script-src")) <= (kind not in WITHOUT_THEME)


def test_foreign_images_are_allowed_only_on_pages_with_written_texts():
    client = superuser()

    shown = {row: sources_of(client.get(page_of(row)), "img-src") for row in (CannedReplyFactory(), TicketFactory())}

    assert all("https:" in sources for sources in shown.values())
    assert sources_of(client.get(INDEX), "img-src") == {"'self'", "data:", "blob:"}


@pytest.mark.parametrize("kind", ["text/javascript", "application/ecmascript", "text/JScript; charset=x"])
def test_uploaded_files_cannot_be_loaded_as_scripts(kind):
    answer = file_response(lambda: io.BytesIO(b"alert(1)"), "a.js", kind)

    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff"


LIST = reverse("admin:telephony_agent_changelist")
OURS = "http://testserver"


@pytest.mark.parametrize("action", ["pause", "free", "log_out"])
@pytest.mark.parametrize(
    ("came_from", "leads_to"),
    [
        (f"{OURS}/admin/", "/admin/"),
        (f"{OURS}{LIST}?q=anna&p=2", f"{LIST}?q=anna&p=2"),
        ("https://evil.example/admin/", ""),
        (f"{OURS}/api/ping", ""),
        ("//evil.example/admin/", ""),
        ("", ""),
    ],
)
def test_an_action_on_an_agent_returns(action, came_from, leads_to):
    agent, pause = AgentFactory(), PauseFactory()
    presence.log_in(agent, ACTOR)
    if action == "free":
        presence.pause(agent, ACTOR, pause.pk)
    client, path = superuser(), page_of(agent, action)

    asked = client.get(path, headers={"Referer": came_from})
    inputs = inputs_of(asked.content.decode())
    done = client.post(path, {**inputs, "pause": pause.pk}, headers={"Referer": f"{OURS}{path}"})

    leads_to = leads_to or page_of(agent)
    assert f'href="{leads_to.replace("&", "&amp;")}"' in asked.content.decode()
    assert done.headers["Location"] == leads_to


def test_a_forged_address_leads_to_the_row():
    agent, pause = AgentFactory(), PauseFactory()
    presence.log_in(agent, ACTOR)
    path, evil = page_of(agent, "pause"), "evil.example/admin/"

    for forged in (f"https://{evil}", f"//{evil}", "javascript:alert(1)", f"/\\{evil}"):
        done = superuser().post(path, {"pause": pause.pk, "back": forged})
        assert done.headers["Location"] == page_of(agent)
