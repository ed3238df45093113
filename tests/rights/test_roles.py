"""The rights of the delivered roles."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group

from callcentre.admin.grant_limits import givable_groups
from callcentre.core.roles import ACCESS, NAMES
from callcentre.core.scope import DIMENSIONS, WITHOUT_SCOPE_ONLY
from tests.rights.people import ROLES, person
from tests.rights.shared import SHARED

pytestmark = pytest.mark.django_db


def codes_of(role: str) -> set[str]:
    found = Group.objects.get(name=role).permissions.values_list("content_type__app_label", "codename")
    return {f"{app}.{codename}" for app, codename in found}


def test_an_auditor_views_all_and_changes_nothing():
    codes = codes_of("Auditor")

    assert {code.partition(".")[2].partition("_")[0] for code in codes} == {ACCESS["v"]}
    for model in admin.site._registry:
        assert f"{model._meta.app_label}.view_{model._meta.model_name}" in codes


def test_an_agent_has_no_right_over_other_agents():
    assert not {code for code in codes_of("Agent") if code.startswith(("telephony.", "campaigns.", "callcentre."))}


@pytest.mark.parametrize("role", [role for role in ROLES if role != "Administrator"])
def test_an_administrator_has_all_that_other_roles_have(role):
    assert codes_of(role) <= codes_of("Administrator")


def test_an_administrator_may_give_all_roles():
    assert {group.name for group in givable_groups(person("Administrator"))} >= set(ROLES)


def test_no_role_has_a_permission_of_a_model_that_is_gone():
    for config in apps.get_app_configs():
        for role, rights in getattr(config, "role_rights", {}).items():
            assert role in NAMES
            for letters, models in rights.items():
                assert set(letters) <= set(ACCESS)
                assert {config.get_model(name)._meta.model_name for name in models.split()} == {*models.split()}


def test_each_model_of_the_admin_is_narrowed_or_shared_for_a_reason():
    declared = {model._meta.label for model in admin.site._registry if hasattr(model, "scope_lookups")}
    registered = {model._meta.label for model in admin.site._registry}

    assert declared | set(SHARED) == registered
    assert declared.isdisjoint(SHARED)


def test_lookups_name_dimensions():
    for model in admin.site._registry:
        lookups = getattr(model, "scope_lookups", {})
        assert lookups is WITHOUT_SCOPE_ONLY or set(lookups) <= set(DIMENSIONS), model
