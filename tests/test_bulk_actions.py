"""Actions on the selected rows of a list: actions that end or switch off something ask for confirmation."""

from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from callcentre.admin import confirmations
from telephony.models import Agent
from tests.admin_pages import list_of, row_of_each_model
from tests.backoffice import messages_of, superuser
from tests.callcentre.factories import UserFactory
from tests.campaigns.factories import CampaignFactory
from tests.telephony.factories import AgentFactory, QueueFactory
from tests.tickets.factories import TicketQueueFactory
from tickets.models import Ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

LIST = list_of(AgentFactory._meta.model)
# These begin, resume or repeat something, without confirmation.
AT_ONCE = {
    "activate",
    # Mails are blocked and restored in one click.
    "block_selected",
    "restore_selected",
    "enable",
    "enable_selected",
    "fetch_again",
    "forget",
    "free_selected",
    "publish_selected",
    "resend_selected",
    "retry_selected",
    "transcribe_again",
}


def _actions() -> list[tuple[Any, str]]:
    """Return (model, name) of each action of each list."""
    request = RequestFactory().get("/")
    request.user = UserFactory(admin=True)
    return [(model, name) for model, shown in admin.site._registry.items() for name in shown.get_actions(request)]


def _writes(queries: CaptureQueriesContext) -> list[str]:
    return [query["sql"] for query in queries if query["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]


@pytest.mark.slow("opens many pages")
def test_an_action_with_confirmation_names_the_rows_and_changes_nothing_yet():
    rows, client = row_of_each_model(), superuser()
    found = [(model, name) for model, name in _actions() if name not in AT_ONCE]
    asked = []

    for model, name in found:
        selected = list(Ticket.objects.all()) if model is Ticket else [rows[model]]
        with CaptureQueriesContext(connection) as queries:
            response = client.act(list_of(model), name, *selected)
        page = response.content.decode()
        if response.status_code == 200 and 'name="apply"' in page and f"<li>{escape(selected[0])}</li>" in page:
            asked.append((model, name))
        assert _writes(queries) == []

    assert asked == found
    assert len(found) > 15


def test_the_page_names_the_rows_that_the_action_changes_and_no_others():
    active, others = AgentFactory.create_batch(2), AgentFactory(is_active=False)
    client = superuser()

    page = client.act(LIST, "deactivate", *active, others).content.decode()

    assert "2 selected" in page
    assert [f"<li>{agent}</li>" in page for agent in (*active, others)] == [True, True, False]
    assert [f'name="_selected_action" value="{agent.pk}"' in page for agent in (*active, others)] == [True, True, False]


@pytest.mark.parametrize(
    ("factory", "name"),
    [(AgentFactory, "agent"), (CampaignFactory, "campaign"), (QueueFactory, "queue"), (TicketQueueFactory, "queue")],
)
def test_rows_are_made_active_and_inactive_from_their_list(factory, name):
    client = superuser()
    for action, is_active in (("activate", True), ("deactivate", False)):
        rows = [factory(is_active=not is_active), factory(is_active=is_active)]

        response = client.act(list_of(type(rows[0])), action, *rows, apply="1")

        assert messages_of(response)[-1] == f"1 {name} {action}d."
        for row in rows:
            row.refresh_from_db()
        assert [row.is_active for row in rows] == [is_active] * 2


def test_an_action_without_rows_to_change_needs_no_confirmation_and_others_have_a_limit_of_rows(monkeypatch):
    monkeypatch.setattr(confirmations, "MAX_SELECTED", 2)
    inactive, agents = AgentFactory(is_active=False), AgentFactory.create_batch(3)

    assert messages_of(superuser().act(LIST, "deactivate", inactive)) == ["0 agents deactivated."]
    assert messages_of(superuser().act(LIST, "deactivate", *agents)) == ["At most 2 rows at once."]
    assert Agent.objects.filter(is_active=True).count() == 3
