"""The pages of roles and people: rights in words, those that the service asks for, and those that were given."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import translation

from callcentre.admin.base import ReadOnlyAdmin
from callcentre.admin.grant_limits import needed_permissions
from callcentre.admin.rights import asked_rights, right_name
from callcentre.models import User
from tests.backoffice import BackOffice, page_of, superuser
from tests.callcentre.factories import UserFactory
from tests.processes import ROOT
from tests.rights.people import ROLES, client_of, person
from tests.statements import few_statements

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

APPS = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")
CODE = re.compile(r"(?P<app>[a-z]+)\.(?:view|add|change|delete|see|share)_[a-z_]+")


def asked() -> list[Permission]:
    return [one for one in Permission.objects.select_related("content_type") if code_of(one) in asked_rights()]


def code_of(permission: Permission) -> str:
    return f"{permission.content_type.app_label}.{permission.codename}"


def strings_in_code() -> Iterator[str]:
    """Yield the strings that the packages give to `has_perm`, and those that they keep in constants."""
    for package in APPS:
        for path in Path(ROOT, package).rglob("*.py"):
            if "migrations" not in path.parts:
                for node in ast.walk(ast.parse(path.read_text())):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        yield node.value


def form_of(client: BackOffice, row: Any) -> Any:
    return client.get(page_of(row)).context["adminform"].form


# Names


@pytest.mark.parametrize("language", ["en", "pl"])
def test_each_right_has_a_name_of_its_own(language):
    with translation.override(language):
        names = [right_name(permission) for permission in asked()]

    assert len(names) == len(set(names)) == len(asked_rights())


def test_names_are_in_the_language_of_the_reader_and_in_the_audit_log():
    view = Permission.objects.get(codename="view_connection")
    delete = Permission.objects.get(codename="delete_group")

    names = [right_name(view), right_name(delete)]
    with translation.override("pl"):
        names += [right_name(view), right_name(delete)]

    assert names == [
        "Telephony – Calls: view",
        "Access – Groups: delete",
        "Telefonia – Połączenia: podgląd",
        "Dostęp – Grupy: usuwanie",
    ]
    Group.objects.create(name="Team").permissions.add(view)
    assert names[0] in superuser().page(reverse("admin:callcentre_auditlog_changelist"))


def test_own_rights_of_models_are_translated():
    own = [(model, code) for model in apps.get_models() for code, _name in model._meta.permissions]
    permissions = [
        Permission.objects.get(codename=code, content_type__model=model._meta.model_name) for model, code in own
    ]

    with translation.override("pl"):
        names = [right_name(permission) for permission in permissions]

    assert names
    assert not [name for name, one in zip(names, permissions, strict=True) if one.name in name]


@pytest.mark.slow("opens many pages")
@pytest.mark.parametrize("language", ["en", "pl"])
def test_no_page_shows_the_names_of_django(language):
    user = UserFactory(staff=True)
    user.user_permissions.set(Permission.objects.all())
    client = superuser()
    client.cookies["django_language"] = language

    for row in (Group.objects.get(name="Administrator"), user):
        page = client.page(page_of(row), HTTP_ACCEPT_LANGUAGE=language)
        assert not re.findall(r"Can (?:view|add|change|delete) (?!customers)[^<\"]*", page)


# The rights that are offered


@pytest.mark.slow("reads the whole code")
def test_the_rights_that_code_names_are_offered():
    known = {code_of(one) for one in Permission.objects.select_related("content_type")}
    named = {text for text in strings_in_code() if CODE.fullmatch(text)} & known

    assert len(named) > 20
    assert named <= asked_rights()


@pytest.mark.slow("reads the whole code")
def test_read_only_pages_ask_for_no_right_to_change():
    """Unless code or the API asks for it by name."""
    named = set(strings_in_code()) | {code for codes in needed_permissions().values() for code in codes}
    for model, page in admin.site._registry.items():
        app, name = model._meta.app_label, model._meta.model_name
        assert f"{app}.view_{name}" in asked_rights()
        if isinstance(page, ReadOnlyAdmin):
            writing = {f"{app}.{verb}_{name}" for verb in ("add", "change", "delete")}
            assert (writing & asked_rights()) - named == set(), name


def test_a_new_role_is_offered_only_rights_that_are_asked_for():
    form = superuser().get(reverse("admin:auth_group_add")).context["adminform"].form

    assert {code_of(one) for one in form.fields["permissions"].queryset} == asked_rights()


# Rights that were given


def given(permissions: QuerySet[Permission]) -> set[int]:
    return set(permissions.values_list("pk", flat=True))


@pytest.mark.slow("opens many pages")
@pytest.mark.parametrize("role", [*ROLES, "All"])
def test_saving_keeps_the_rights_of_a_role_and_of_a_user(role):
    group, is_new = Group.objects.get_or_create(name=role)
    if is_new:
        group.permissions.set(Permission.objects.all())
    before, user, client = given(group.permissions.all()), UserFactory(staff=True), superuser()
    user.user_permissions.set(before)

    client.submit(page_of(group), name=f"{role} 2")
    client.submit(page_of(user), first_name="Ewa")

    group.refresh_from_db()
    assert group.name == f"{role} 2"
    assert given(group.permissions.all()) == given(user.user_permissions.all()) == before


def test_a_right_given_meanwhile_stays():
    group = Group.objects.get(name="Agent")
    client = superuser()
    later = Permission.objects.get(codename="view_campaign")
    shown = form_of(client, group)["permissions"].initial
    group.permissions.add(later)

    sent = [one.pk for one in shown]
    client.post(
        page_of(group), {"name": "Team", "permissions": sent, "initial-name": "Agent", "initial-permissions": sent}
    )

    group.refresh_from_db()
    assert group.name == "Team"
    assert later in group.permissions.all()


def test_a_right_without_effect_can_be_taken_away():
    group = Group.objects.create(name="Old")
    unused = Permission.objects.get(codename="view_leg")
    kept = Permission.objects.get(codename="view_ticket")
    group.permissions.set([unused, kept])
    client = superuser()

    assert "Rights without effect" in client.page(page_of(group))
    assert "rights: 1 of " in client.page(page_of(group))
    client.submit(page_of(group), permissions=[kept.pk])

    assert list(group.permissions.all()) == [kept]
    assert "Rights without effect" not in client.page(page_of(group))


def test_a_person_who_may_only_look_sees_the_rights_in_words():
    user: User = person("Auditor")

    page = client_of(user).page(page_of(Group.objects.get(name="Agent")))

    assert 'aria-label="Tickets – Tickets: change" class="cc-box" checked disabled' in page
    assert 'name="_save"' not in page


# Costs


@pytest.mark.slow("opens many pages")
def test_the_page_of_a_role_takes_few_queries():
    group = Group.objects.create(name="Team")
    group.permissions.set(Permission.objects.all()[:400])
    client = superuser()
    client.page(page_of(group))

    with few_statements(5):
        client.page(page_of(group))
