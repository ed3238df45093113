"""Each role at each page and action of the admin, against the table in pages.txt.

A page is refused to a role if it answers 403. The test prints the lines that differ.
"""

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.test import RequestFactory, override_settings
from pytest_django import DjangoDbBlocker

from callcentre.admin.grant_limits import givable_groups
from callcentre.core.roles import ACCESS, AGENT, KNOWLEDGE_EDITOR, NAMES, SUPERVISOR
from callcentre.models import User
from tests.admin_pages import addresses, path_of, routes, row_of_each_model
from tests.backoffice import BackOffice
from tests.conftest import kept_for_all
from tests.rights.people import client_of, person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("collected_static")]

TABLE = Path(__file__).parent / "pages.txt"
OTHER_PAGES = ("overview/now", "wallboard/", "search/", "desk/", "first-steps/")
ROLES = tuple(NAMES)
HEAD = "page or action".ljust(90) + "".join(role[:7].ljust(9) for role in ROLES).rstrip()


@pytest.fixture(scope="module")
def table(django_db_setup: None, django_db_blocker: DjangoDbBlocker, static_folder: Path) -> Iterator[list[str]]:
    """Return the lines of the table, from requests of a person of each role."""
    lines: list[str] = []

    def visit() -> None:
        people = [person(role) for role in ROLES]
        clients = [client_of(user) for user in people]
        for client in clients:
            client.raise_request_exception = False
        rows = row_of_each_model()
        found = list(zip(routes(), addresses(rows), strict=True))
        found += [(route, f"/admin/{route}") for route in OTHER_PAGES]
        lines.extend(_line(route, [_is_open(client, path) for client in clients]) for route, path in found)
        lines.extend(_actions(people))

    with override_settings(STATIC_ROOT=static_folder), kept_for_all(django_db_blocker, visit):
        yield lines


def _is_open(client: BackOffice, path: str) -> bool:
    status = client.get(path).status_code
    assert status < 500, path
    return status != 403


def _actions(people: list[User]) -> Iterator[str]:
    """Yield a line for each action of a list."""
    for model, model_admin in sorted(admin.site._registry.items(), key=lambda item: path_of(item[0])):
        offered = [_offered(model_admin, user) for user in people]
        for action in sorted(set().union(*offered)):
            yield _line(f"{path_of(model)}/ {action}", [action in actions for actions in offered])


def _offered(model_admin: Any, user: User) -> set[str]:
    request: Any = RequestFactory().get("/")
    request.user = user
    return set(model_admin.get_actions(request)) if model_admin.has_view_or_change_permission(request) else set()


def _line(name: str, allowed: list[bool]) -> str:
    return name.ljust(90) + "".join(("yes" if one else "-").ljust(9) for one in allowed).rstrip()


def test_each_role_reaches_the_pages_and_actions_of_the_table(table: list[str]) -> None:
    difference = list(unified_diff(TABLE.read_text().splitlines(), [HEAD, *table], lineterm="", n=0))

    assert not difference, "\n".join(difference)


def codes_of(role: str) -> set[str]:
    found = Group.objects.get(name=role).permissions.values_list("content_type__app_label", "codename")
    return {f"{app}.{codename}" for app, codename in found}


def test_an_auditor_views_all_and_changes_nothing() -> None:
    codes = codes_of("Auditor")

    assert {code.partition(".")[2].partition("_")[0] for code in codes} == {ACCESS["v"]}
    for model in admin.site._registry:
        assert f"{model._meta.app_label}.view_{model._meta.model_name}" in codes


def test_an_agent_has_no_right_over_other_agents() -> None:
    assert not {code for code in codes_of("Agent") if code.startswith(("telephony.", "campaigns.", "callcentre."))}


@pytest.mark.parametrize("role", [role for role in ROLES if role != "Administrator"])
def test_an_administrator_has_all_that_other_roles_have(role: str) -> None:
    assert codes_of(role) <= codes_of("Administrator")


def test_an_administrator_may_give_all_roles() -> None:
    assert {group.name for group in givable_groups(person("Administrator"))} >= set(ROLES)


def test_no_role_has_a_permission_of_a_model_that_is_gone() -> None:
    known = {
        f"{app}.{codename.partition('_')[2]}"
        for app, codename in Permission.objects.values_list("content_type__app_label", "codename")
    }
    assert {*AGENT, *KNOWLEDGE_EDITOR, *SUPERVISOR} <= known
