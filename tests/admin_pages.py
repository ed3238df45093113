"""The addresses of all pages of the admin, and rows for the pages to show."""

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.urls import URLPattern, URLResolver, reverse
from pytest_django import DjangoDbBlocker

from callcentre.core.audit import AuditLog
from callcentre.lists.models import SavedView
from callcentre.models import ApiUser, User
from campaigns.models import Campaign, Record
from campaigns.verbs.campaigns import add_agents
from knowledgebase.models import Article
from knowledgebase.verbs.articles import edit_article
from telephony.models import Agent, Connection, Recording, Transcription
from tests.callcentre.factories import AuditEntryFactory, UserFactory
from tests.conftest import ACTOR, kept_for_all
from tests.knowledgebase.factories import ArticleImageFactory
from tests.reports.factories import ExportMailFactory
from tests.telephony.factories import AgentStateFactory, OfferFactory
from tests.tickets.factories import ChatMessageFactory, MessageFactory
from tickets.models import Chat, StoredFile, Ticket
from webhooks.models import Attempt, Resend, Webhook

Rows = dict[type[Model], Any]

# Traits and values of rows whose pages show much.
RICH: dict[type[Model], dict[str, Any]] = {
    User: {"staff": True},
    ApiUser: {"rights": ["*"]},
    Campaign: {"fields": ["city"]},
    Record: {"of_agent": True},
    Transcription: {"finished": True},
    Recording: {"ready": True},
    Attempt: {"failed": True, "answer": "<h1>" + "no spaces" * 200},
    Resend: {"state": "running", "total_count": 4, "done_count": 1},
    Webhook: {"failing": True},
    Ticket: {"of_customer": True, "assigned": True},
    Chat: {"assigned": True},
}
# Addresses that end a session, or that belong to Django only.
LEFT_OUT = ("logout", "login")
_PARAMETER = re.compile(r"<(?:\w+:)?(?P<name>\w+)>")


@cache
def _factories() -> dict[type[Model], Any]:
    found: dict[type[Model], Any] = {}
    for path in sorted(Path(__file__).parent.glob("*/factories.py")):
        module = importlib.import_module(f"tests.{path.parent.name}.factories")
        for name, value in vars(module).items():
            if name.endswith("Factory") and value._meta.model:
                found.setdefault(value._meta.model, value)
    return found


def row_of_each_model() -> Rows:
    """Write a row of each model that has an admin, with the related rows that its page shows."""
    rows: Rows = {Group: Group.objects.create(name="Supervisors")}
    for model in admin.site._registry:
        if model is AuditLog:  # a view
            entry = AuditEntryFactory()
            rows[model] = AuditLog.objects.get(source="callcentre.auditentry", row_id=entry.pk)
        elif model not in rows:
            rows[model] = factory_of(model)()
    for days in ("two", "three"):
        edit_article(rows[Article], ACTOR, content=f"<p>It takes {days} days.</p>")
    ArticleImageFactory()
    add_agents(rows[Campaign], ACTOR, [rows[Agent].login])
    OfferFactory(connection=rows[Connection])
    AgentStateFactory(agent=rows[Agent])
    ChatMessageFactory(chat=rows[Chat])
    ticket = rows[Ticket]
    MessageFactory(ticket=ticket, body="<p>Where is <b>my parcel</b>?</p>", quoted="<p>It is on its way.</p>")
    MessageFactory(ticket=ticket, body_type="PLAIN", body="Look at https://client.example/.")
    MessageFactory(ticket=ticket, reply=True)
    MessageFactory(ticket=ticket, comment_of_agent=True)
    return rows


@contextmanager
def kept_rows(blocker: DjangoDbBlocker) -> Iterator[Rows]:
    """Yield a row of each model, kept with a superuser for all tests of a module."""
    found: Rows = {}

    def fill() -> None:
        found.update(row_of_each_model())
        UserFactory(admin=True)

    with kept_for_all(blocker, fill):
        yield found


def factory_of(model: type[Model]) -> Any:
    """Return a function that makes a row of the model with rows that it refers to."""
    return partial(_factories()[model], **RICH.get(model, {}))


def list_of(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def addresses(rows: Rows, of: list[str] | None = None) -> list[str]:
    """Return the address of each page of the admin, or of these routes, with the ids of these rows."""
    by_path = {path_of(model): row for model, row in rows.items()}
    content_type = ContentType.objects.get_for_model(User).pk
    mail = ExportMailFactory()
    views = dict(SavedView.objects.values_list("list_name", "pk"))
    found = []
    for route in of or routes():
        row: Any = mail.export if "<int:mail_pk>" in route else by_path.get("/".join(route.split("/")[:2]), rows[User])
        values = {"token": rows[StoredFile].token, "mail_pk": mail.pk, "content_type_id": content_type}
        values["view_id"] = views.get(row._meta.label_lower, 0)
        found.append(with_values(route, {"": quote(row.pk), **values}))
    return found


def path_of(model: type[Model]) -> str:
    return f"{model._meta.app_label}/{model._meta.model_name}"


def with_values(route: str, values: dict[str, Any]) -> str:
    """Return the address of a route with these values of its parameters; "" is the value of all others."""
    path = _PARAMETER.sub(lambda found: str(values.get(found["name"], values[""])), route)
    return f"{reverse('admin:index')}{path}"


def routes(of: type[Model] | None = None) -> list[str]:
    """Return the route of each page of the admin, or of one model."""
    start = f"{path_of(of)}/" if of else ""
    labels = [] if of else [f"{label}/" for label in sorted({model._meta.app_label for model in admin.site._registry})]
    found = [route for route, name in _routes(admin.site.get_urls()) if name not in LEFT_OUT]
    return list(dict.fromkeys([*labels, *(route for route in found if route.startswith(start))]))


def _routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield (route, name) of each page. The list of an app is left out: its route is a regular expression."""
    for pattern in patterns:
        route = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        elif pattern.name and "(?P<" not in route:
            yield route, pattern.name
