"""Rows that another transaction holds: edits during an import, and the admin's answer after waiting too long."""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib import admin
from django.db import connection
from django.urls import reverse

from callcentre.models import ApiUser, User
from callcentre.signin.models import UserSession
from callcentre.web import menu
from campaigns.models import Campaign
from knowledgebase.models.catalog import Language
from knowledgebase.verbs import articles
from tests.admin_pages import addresses, row_of_each_model
from tests.backoffice import BackOffice, errors_of, inputs_of, messages_of, page_of, superuser
from tests.callcentre.factories import ApiUserFactory
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.conftest import ACTOR
from tests.knowledgebase.factories import ArticleFactory

pytestmark = pytest.mark.usefixtures("plain_static")

ROOT = Path(__file__).resolve().parent.parent
BUSY = "Another user is changing this. Try again."
# They delete the rows that they lock, so no new row may refer to them.
DELETING = {
    "campaigns/personal_data.py": 1,
    "campaigns/verbs/campaigns.py": 1,
    "campaigns/verbs/records.py": 1,
    "tickets/deletions/chats.py": 1,
    "tickets/deletions/customers.py": 1,
    "tickets/deletions/mail_and_files.py": 1,
    "tickets/deletions/tickets.py": 1,
    "tickets/verbs/customers.py": 1,
    "webhooks/retention.py": 1,
}


@pytest.fixture
def impatient(committed_db):
    """Let statements wait for a lock only for a short time, as the web server's wait for three seconds."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '60ms'")
        yield
        cursor.execute("RESET lock_timeout")


@contextmanager
def another_transaction(*statements: Any) -> Iterator[None]:
    """Hold a transaction of another connection that has run these statements, and roll it back at the end."""
    parameters = connection.get_connection_params()
    with psycopg.connect(**{key: parameters[key] for key in ("dbname", "user", "password", "host", "port")}) as other:
        for statement in statements:
            other.execute(*statement)
        yield
        other.rollback()


def adding_record(campaign: Campaign) -> Any:
    """Hold a transaction that adds records, as an import does."""
    return another_transaction(("SELECT FROM campaigns_campaign WHERE id = %s FOR KEY SHARE", [campaign.pk]))


@pytest.mark.slow("runs threads")
@pytest.mark.usefixtures("impatient")
def test_a_campaign_can_be_stopped_and_edited_during_an_import_and_not_deleted():
    campaign = CampaignFactory(name="Autumn")
    client = superuser()

    with adding_record(campaign):
        response = client.act(reverse("admin:campaigns_campaign_changelist"), "deactivate", campaign, apply="1")
        client.submit(page_of(campaign), name="Winter")
        refused = client.post(page_of(campaign, "delete"), {"post": "yes"})

    campaign.refresh_from_db()
    assert (campaign.is_active, campaign.name) == (False, "Winter")
    assert messages_of(response) == ["1 campaign deactivated."]
    assert messages_of(refused)[-1] == BUSY
    assert Campaign.objects.filter(pk=campaign.pk).exists()


def edit_api_user() -> tuple[Any, Callable[[], Any]]:
    user = ApiUserFactory()
    return user, lambda: user.edit(ACTOR, description="changed")


def edit_article() -> tuple[Any, Callable[[], Any]]:
    article = ArticleFactory()
    return article, lambda: articles.edit_article(article, ACTOR, title="changed")


def edit_catalog() -> tuple[Any, Callable[[], Any]]:
    catalog = ArticleFactory().category.catalog
    return catalog, lambda: articles.edit_catalog(catalog, ACTOR, language=Language.SIMPLE)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("make", [edit_api_user, edit_article, edit_catalog])
def test_a_row_can_be_edited_while_another_transaction_refers_to_it(make):
    row, edit = make()

    with another_transaction((f"SELECT FROM {row._meta.db_table} WHERE id = %s FOR KEY SHARE", [row.pk])):
        edit()


@pytest.mark.slow("reads the whole code")
def test_only_deletions_lock_the_key_of_a_row():
    """Other locks that wait have `no_key=True`. Locks that skip locked rows do not wait."""
    found: dict[str, int] = {}
    for app in ("callcentre", "webhooks", "telephony", "knowledgebase", "reports", "tickets", "campaigns"):
        for path in (ROOT / app).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "select_for_update":
                    said = {word.arg for word in node.keywords}
                    if not said & {"no_key", "skip_locked"}:
                        name = str(path.relative_to(ROOT))
                        found[name] = found.get(name, 0) + 1
    assert found == DELETING


@pytest.mark.usefixtures("impatient")
def test_a_form_that_waited_too_long_keeps_its_input():
    campaign = CampaignFactory(name="Autumn")
    client = superuser()

    with another_transaction(("SELECT FROM campaigns_campaign FOR UPDATE",)):
        response = client.submit(page_of(campaign), expected=200, name="Winter")

    assert BUSY in str(errors_of(response))
    assert "Winter" in response.content.decode()
    assert Campaign.objects.get().name == "Autumn"


@pytest.mark.usefixtures("impatient")
def test_an_action_continues_after_a_locked_row():
    busy, free = CampaignFactory(), CampaignFactory()
    client = superuser()

    with another_transaction(("SELECT FROM campaigns_campaign WHERE id = %s FOR UPDATE", [busy.pk])):
        response = client.act(reverse("admin:campaigns_campaign_changelist"), "deactivate", busy, free, apply="1")

    assert messages_of(response) == [f"{busy}: {BUSY}", "1 campaign deactivated."]
    assert set(Campaign.objects.filter(is_active=False)) == {free}


@pytest.mark.trial
@pytest.mark.slow("opens every page")
@pytest.mark.usefixtures("impatient")
def test_no_page_of_the_admin_fails_while_all_rows_are_locked(monkeypatch):
    """Send every form as it is shown, while all tables are read only.

    Pages have no menu here, to be faster. A history has no form and writes nothing.
    """
    monkeypatch.setattr(menu, "menu", lambda request: [])
    rows = row_of_each_model()
    RecordFactory()
    client = superuser()
    client.raise_request_exception = False
    asked = sorted(address for address in set(addresses(rows)) if not address.endswith("/history/"))
    forms = {address: inputs_of(page) for address in asked if (page := page_at(client, address))}
    tables = [model._meta.db_table for model in admin.site._registry if model not in (User, UserSession)]

    with another_transaction((f"LOCK TABLE {', '.join(tables)} IN EXCLUSIVE MODE",)):
        answers = {address: client.post(address, {**inputs, "post": "yes"}) for address, inputs in forms.items()}

    busy = [a for a, answer in answers.items() if answer.status_code == 409 or BUSY in answer.content.decode()]
    assert {address: answer.status_code for address, answer in answers.items() if answer.status_code >= 500} == {}
    assert len(busy) > 20
    assert ApiUser.objects.get(pk=rows[ApiUser].pk).version == rows[ApiUser].version


def page_at(client: BackOffice, address: str) -> str:
    """Return the page at an address, or "" if it has no form."""
    response = client.get(address)
    kind = response.headers.get("Content-Type", "")
    is_page = response.status_code == 200 and kind.startswith("text/html") and not response.streaming
    return response.content.decode() if is_page and 'method="post"' in response.content.decode() else ""
