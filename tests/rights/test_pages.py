"""Each role at each page, autocomplete and action of the admin, by scope, against the table in pages.txt.

The columns of the table are the roles. Three people of a role ask: one without a scope, one whose scope holds the rows,
and one whose scope holds none of them.

    yes     the scope does not matter
    inside  reached without a scope, and with a scope that holds the row
    all     reached without a scope only
    -       not reached

A page is reached if it answers neither 403 nor that the row is missing. A choice of an autocomplete is reached if it is
offered; an action, if it is offered and the list has the row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest
from django.test import RequestFactory
from django.urls import reverse

from callcentre.core.scope import DIMENSIONS, lookups_of
from callcentre.lists.models import ListAction, ListExport
from callcentre.models import User
from tests.admin_pages import Rows, addresses, list_of, path_of, routes
from tests.backoffice import BackOffice
from tests.conftest import kept_for_all
from tests.rights.people import ROLES, client_of, person
from tests.rights.scenes import SECRET, placed_rows, scope_of_all

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("plain_static"),
    pytest.mark.slow("opens every page as each role"),
]

TABLE = Path(__file__).parent / "pages.txt"
# The desk needs no right; it is for users who are agents (tests/desk).
OTHER_PAGES = ("overview/now", "wallboard/", "search/", "first-steps/")
NAME_WIDTH, ROLE_WIDTH = 90, 9
HEAD = "page, autocomplete or action".ljust(NAME_WIDTH) + "".join(role[:7].ljust(ROLE_WIDTH) for role in ROLES).rstrip()
# Pages that are missing without a parameter.
QUERIES = {"reports/export/work-report/parts/": "?figure=talk_time"}
# A person sees exports and actions of their own.
OF_ONE_PERSON = {path_of(model): model for model in (ListExport, ListAction)}


@dataclass
class Place:
    """The rows, the columns of a scope that holds them all, and the addresses: (route, path) of each page."""

    rows: Rows
    scope: dict[str, list[int]]
    pages: list[tuple[str, str]]


@pytest.fixture(scope="module")
def place(django_db_setup, django_db_blocker):
    made: list[Place] = []

    def fill() -> None:
        rows = placed_rows()
        pages = [
            (route, f"{path}{QUERIES.get(route, '')}") for route, path in zip(routes(), addresses(rows), strict=True)
        ]
        pages += [(route, f"/admin/{route}") for route in OTHER_PAGES]
        made.append(Place(rows, scope_of_all(rows), pages))

    with kept_for_all(django_db_blocker, fill):
        yield made[0]


class People:
    """Three people of a role, with their clients."""

    def __init__(self, role: str, place: Place) -> None:
        self.whole = person(role)
        self.inside = person(role, **place.scope)
        self.outside = person(role, **{column: [0] for column in DIMENSIONS})
        self._clients = {user: client_of(user) for user in (self.whole, self.inside, self.outside)}
        for client in self._clients.values():
            client.raise_request_exception = False

    def client(self, user: User) -> BackOffice:
        return self._clients[user]

    def who(self, reaches: Callable[[User], bool]) -> str:
        """Return the value of the table. A scope only narrows, so the person outside is asked before the one inside."""
        if not reaches(self.whole):
            return "-"
        if reaches(self.outside):
            return "yes"
        return "inside" if reaches(self.inside) else "all"

    def pages(self, place: Place) -> Iterator[tuple[str, str]]:
        for route, path in place.pages:
            own = OF_ONE_PERSON.get("/".join(route.split("/")[:2]))
            yield route, self.who(partial(self._opens, path, own))

    def _opens(self, path: str, own: type[Model] | None, user: User) -> bool:
        if own:
            own._default_manager.update(actor_id=user.pk)
        client = self.client(user)
        response = client.get(path)
        if response.status_code == 405:
            with transaction.atomic():
                response = client.post(path)
                transaction.set_rollback(True)
        assert response.status_code < 500, path
        # Django redirects from a row that is missing to the first page.
        is_missing = response.status_code == 404 or response.headers.get("Location") == reverse("admin:index")
        return response.status_code != 403 and not is_missing

    def autocompletes(self) -> Iterator[tuple[str, str]]:
        for model in admin.site._registry:
            for field in model._meta.fields:
                related: Any = field.related_model
                target = admin.site._registry.get(related)
                if target is None or not target.search_fields:
                    continue
                app, name = path_of(model).split("/")
                asked = {"app_label": app, "model_name": name, "field_name": field.name}
                yield f"autocomplete/ {app}.{name}.{field.name}", self.who(partial(self._offers, asked))

    def _offers(self, asked: dict[str, str], user: User) -> bool:
        response = self.client(user).get(reverse("admin:autocomplete"), asked)
        return response.status_code == 200 and bool(response.json()["results"])

    def actions(self, place: Place) -> Iterator[tuple[str, str]]:
        for model, model_admin in admin.site._registry.items():
            for action in sorted(model_admin.get_actions(_request_of(self.whole))):
                row = place.rows[model]
                yield f"{path_of(model)}/ {action}", self.who(partial(_takes, model_admin, action, row))


def _takes(model_admin: Any, action: str, row: Model, user: User) -> bool:
    """Return whether the action is offered to the person, and its list has the row."""
    request = _request_of(user)
    is_offered = model_admin.has_view_or_change_permission(request) and action in model_admin.get_actions(request)
    return is_offered and model_admin.get_queryset(request).filter(pk=row.pk).exists()


def _request_of(user: User) -> HttpRequest:
    request = RequestFactory().get("/")
    request.user = user
    return request


def table() -> dict[str, list[str]]:
    """Return name -> the values of the roles, in their order."""
    head, *lines = TABLE.read_text().splitlines()
    assert head == HEAD
    return {line[:NAME_WIDTH].rstrip(): line[NAME_WIDTH:].split() for line in lines}


def column_of(role: str) -> dict[str, str]:
    return {name: values[ROLES.index(role)] for name, values in table().items()}


@pytest.mark.walk("Supervisor")
@pytest.mark.usefixtures("unrendered", "bare_refusals")
@pytest.mark.parametrize("role", ROLES)
def test_each_role_reaches_what_the_table_says(role, place):
    people, expected = People(role, place), column_of(role)

    found = {**dict(people.pages(place)), **dict(people.autocompletes()), **dict(people.actions(place))}

    # Actions of a role that has none are not listed.
    wrong = {
        name: f"{expected.get(name, 'missing')} -> {found.get(name, '-')}"
        for name in {*expected, *found}
        if expected.get(name) != found.get(name, "-")
    }
    assert wrong == {}


@pytest.mark.walk("Supervisor")
@pytest.mark.parametrize("role", ROLES)
def test_an_action_leaves_a_row_outside_as_it_is(role, place):
    """The person outside sends the action for the row all the same."""
    people, column = People(role, place), column_of(role)

    for model, row in place.rows.items():
        before = model._default_manager.filter(pk=row.pk).values().get()
        for name in [name for name in column if name.startswith(f"{path_of(model)}/ ") and column[name] != "yes"]:
            sent = {"action": name.partition(" ")[2], "_selected_action": [row.pk], "index": "0"}
            for further in ({}, {"apply": "1"}):
                response = people.client(people.outside).post(list_of(model), sent | further)
                assert response.status_code < 500, name
                assert SECRET not in response.content.decode(), name
        assert model._default_manager.filter(pk=row.pk).values().get() == before


def test_no_page_of_a_row_that_a_scope_narrows_is_open_to_people_outside():
    narrowed = {path_of(model) for model in admin.site._registry if lookups_of(model)}
    # A saved view of a list is no row of it.
    of_rows = {name: values for name, values in table().items() if "<" in name and "<int:view_id>" not in name}
    found = {name: values for name, values in of_rows.items() if "/".join(name.split("/")[:2]) in narrowed}

    assert len(found) > 100
    assert [name for name, values in found.items() if "yes" in values] == []
