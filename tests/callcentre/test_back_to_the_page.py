"""An action on one row returns to the page from which it was asked for, and to no page of another site."""

import pytest
from django.urls import reverse

from telephony.verbs import presence
from tests.backoffice import inputs_of, page_of, superuser
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory, PauseFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]
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
def test_an_action_on_an_agent_returns(action: str, came_from: str, leads_to: str) -> None:
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


def test_a_forged_address_leads_to_the_row() -> None:
    agent, pause = AgentFactory(), PauseFactory()
    presence.log_in(agent, ACTOR)
    path, evil = page_of(agent, "pause"), "evil.example/admin/"

    for forged in (f"https://{evil}", f"//{evil}", "javascript:alert(1)", f"/\\{evil}"):
        done = superuser().post(path, {"pause": pause.pk, "back": forged})
        assert done.headers["Location"] == page_of(agent)
