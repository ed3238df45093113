"""Every page of the admin, with static files as production collects them."""

import re
from functools import partial
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
from django.contrib import admin
from django.contrib.auth import get_user
from django.contrib.auth.models import Group
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from callcentre.core.audit import AuditLog
from callcentre.core.encryption import EncryptedTextField
from callcentre.models import User
from tests.admin_pages import addresses, factory_of, list_of, row_of_each_model
from tests.backoffice import page_of, staff, superuser
from tests.callcentre.factories import DeletionFactory, PersonExportFactory
from tests.conftest import kept_for_all, leave_out_menu
from tests.processes import ROOT
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import MarketplaceFactory, TicketQueueFactory
from tests.webhooks.factories import WebhookFactory
from tickets.models import Marketplace

pytestmark = pytest.mark.django_db

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
# A row of each model with an encrypted field.
ENCRYPTED: dict[str, Any] = {
    "Webhook": WebhookFactory,
    # The pages made once for all tests use the marketplace of messages, and a source has only one marketplace.
    "Marketplace": partial(MarketplaceFactory, source="marketplace_dispute"),
    "TicketQueue": TicketQueueFactory,
    "Deletion": DeletionFactory,
    "PersonExport": PersonExportFactory,
}
LISTS = {list_of(model) for model in MODELS}


def label_of(model: Any) -> str:
    return str(model._meta.label)


class Page(HTMLParser):
    """The links of a page, and its inline scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.inline_scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "a":
            self.links.add(given.get("href") or "")
        is_code = given.get("type") in (None, "text/javascript", "module")
        if tag == "script" and "src" not in given and is_code:
            self.inline_scripts.append("<script>")
        self.inline_scripts += [f"<{tag} {name}>" for name in given if name.startswith("on")]
        self.inline_scripts += [
            f"<{tag} {name}={value}>" for name, value in given.items() if (value or "").startswith("javascript:")
        ]


@pytest.fixture(scope="module")
def answers(static_folder, django_db_setup, django_db_blocker):
    """Return address -> answer of each page of the admin."""
    found: dict[str, Any] = {}

    def visit():
        paths = addresses(row_of_each_model())
        client = superuser()
        AgentFactory(user=User.objects.filter(is_superuser=True).latest("pk"))
        client.raise_request_exception = False
        found.update((path, client.get(path)) for path in paths)

    with pytest.MonkeyPatch.context() as patch:
        leave_out_menu(patch)
        with override_settings(STATIC_ROOT=static_folder), kept_for_all(django_db_blocker, visit):
            yield found


def pages_of(answers: dict[str, Any]) -> dict[str, Page]:
    """Return address -> page, for answers that are pages."""
    return {
        path: Page(answer.content.decode())
        for path, answer in answers.items()
        if not answer.streaming and answer.get("Content-Type", "").startswith("text/html")
    }


@pytest.mark.slow("opens every page")
def test_every_page_opens_and_has_the_bar_of_incoming_calls_and_no_inline_script(answers):
    pages = pages_of(answers)
    status = {path: answer.status_code for path, answer in answers.items()}
    whole = {path: answers[path].content for path in pages if b"<html" in answers[path].content}

    assert {path: code for path, code in status.items() if code >= 500} == {}
    assert {status[path] for path in LISTS} == {200}
    # The page of an import redirects to its next step.
    assert sorted(status[path] for path in status if path.endswith("/change/")) == [200] * (len(MODELS) - 1) + [302]
    assert_pages_of_new_rows_open(status)
    # No cache keeps a list.
    assert [path for path in LISTS if "no-store" not in answers[path]["Cache-Control"]] == []
    assert len(whole) > 100
    assert [path for path, content in whole.items() if b'id="incoming"' not in content] == []
    assert {path: page.inline_scripts for path, page in pages.items() if page.inline_scripts} == {}
    # A pair for a coloured label of a list is no value of a page.
    assert [path for path, content in whole.items() if re.search(rb">\s*\(&#x27;", content)] == []


def assert_pages_of_new_rows_open(status: dict[str, int]) -> None:
    request = RequestFactory().get("/")
    request.user = get_user(superuser())
    for model in MODELS:
        # Or redirects to the page that creates such rows.
        expected = (200, 302) if admin.site._registry[model].has_add_permission(request) else (403,)
        assert status[reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")] in expected, model


@pytest.mark.trial
@pytest.mark.slow("opens every page")
def test_every_link_to_a_list_uses_filters_of_the_list(answers, collected_static):
    asked = {}
    for path, page in pages_of(answers).items():
        for link in (urlsplit(urljoin(path, link)) for link in page.links):
            if link.path in LISTS and link.query:
                names = frozenset(name for name, _value in parse_qsl(link.query, keep_blank_values=True))
                asked[link.path, names] = f"{link.path}?{link.query}"
    client = superuser()

    assert len(asked) > 20
    assert {path: status for path in asked.values() if (status := client.get(path).status_code) != 200} == {}


def test_every_static_file_in_our_templates_exists():
    """Check also the templates of pages that are shown rarely."""
    named = re.compile(r"""{% static ["']([^"']+)["']""")
    paths = list(ROOT.glob("*/templates/**/*.html"))
    names = {name for path in paths for name in named.findall(path.read_text())}

    assert len(names) > 5
    assert {name for name in names if finders.find(name) is None} == set()


@pytest.mark.walk("tickets.Ticket", "telephony.Connection", "campaigns.Campaign", "callcentre.User")
@pytest.mark.usefixtures("unrendered", "bare_refusals")
@pytest.mark.parametrize("model", MODELS, ids=label_of)
def test_unknown_rows_are_no_failure(model, plain_static):
    client = superuser()
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    ids = ("nonsense", "9" * 30, "00000000-0000-0000-0000-000000000000")

    answers = [client.get(reverse(f"{name}_{page}", args=[pk])) for page in ("change", "delete") for pk in ids]

    # Redirected to the overview with a message, or refused.
    assert {answer.status_code for answer in answers} <= {302, 403, 404}


@pytest.mark.trial
@pytest.mark.slow("opens every list")
def test_a_list_takes_no_more_statements_for_more_rows(plain_static, monkeypatch):
    # The counts of records are kept for longer than the test takes on a slow machine.
    monkeypatch.setattr("campaigns.progress.KEPT_SECONDS", 3600)
    client = superuser()
    # Those of the others have no factory, or a row for each of a few sources.
    models = [model for model in MODELS if model not in (Group, AuditLog, Marketplace)]
    counts: dict[str, list[int]] = {label_of(model): [] for model in models}

    for rows in (2, 4):
        for model in models:
            for _ in range(rows):
                factory_of(model)()
        for model in models:
            with CaptureQueriesContext(connection) as queries:
                client.page(list_of(model))
            # A session that is noted as in use, now and then, is an UPDATE.
            counts[label_of(model)].append(sum(query["sql"].startswith("SELECT") for query in queries))

    assert {label: found for label, found in counts.items() if found[1] > min(found[0], 20)} == {}


@pytest.mark.parametrize("access", ["superuser", "view", "change"])
@pytest.mark.parametrize("model", ENCRYPTED)
def test_encrypted_values_are_on_no_page(model, access, plain_static):
    row = ENCRYPTED[model]()
    names = [field.name for field in row._meta.fields if isinstance(field, EncryptedTextField)]
    for name in names:
        setattr(row, name, f"whsec_of-{name}")
    row.save()
    right = f"_{row._meta.model_name}"
    codes = {f"{each}{right}" for each in {"view", access}.intersection(row._meta.default_permissions)}
    client = superuser() if access == "superuser" else staff(*codes)

    changelist = reverse(f"admin:{row._meta.app_label}{right}_changelist")
    # The history leads superusers on, to the audit log.
    history = client.get(page_of(row, "history"), follow=True)
    texts = "".join(client.page(path) for path in (changelist, page_of(row))) + history.content.decode()

    assert names
    assert "whsec_of-" not in texts


def test_every_model_with_encrypted_fields_is_checked():
    models = {model for model in MODELS for field in model._meta.fields if isinstance(field, EncryptedTextField)}

    assert {model.__name__ for model in models} == set(ENCRYPTED)
