"""An upgrade to roles and scopes: people have the rights that they had, and see what they saw."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from callcentre.core.roles import NAMES
from callcentre.models import User

pytestmark = pytest.mark.django_db

BEFORE = [("callcentre", "0005_search_functions")]


def migrate(target: list[tuple[str, str]]) -> Any:
    """Migrate to a state, and return its models. Later triggers, which the state does not have, are dropped."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(
            "SELECT format('DROP TRIGGER %%I ON %%s', tgname, tgrelid::regclass) FROM pg_trigger "
            "WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE ANY(%s)",
            [["auth%", "callcentre%"]],
        )
        for (statement,) in cursor.fetchall():
            cursor.execute(statement)
    executor = MigrationExecutor(connection)
    executor.migrate(target)
    return executor.loader.project_state(target).apps


def rights_of(users: Any) -> dict[str, set[str]]:
    return {user.username: set(user.get_all_permissions()) for user in users}


def test_an_upgrade_changes_no_right_and_narrows_nothing() -> None:
    latest = [key for key in MigrationExecutor(connection).loader.graph.leaf_nodes() if key[0] == "callcentre"]
    old = migrate(BEFORE)
    old.get_model("auth", "Group").objects.all().delete()
    old_user, permission = old.get_model("callcentre", "User"), old.get_model("auth", "Permission")
    group = old.get_model("auth", "Group").objects.create(name="Supervisor")
    group.permissions.set(permission.objects.filter(codename__in=["view_ticket", "view_agent"]))
    own = old_user.objects.create(username="own", is_staff=True)
    own.user_permissions.set(permission.objects.filter(codename="change_campaign"))
    old_user.objects.create(username="member", is_staff=True).groups.add(group)
    old_user.objects.create(username="boss", is_staff=True, is_superuser=True)
    old_user.objects.create(username="nothing")
    before = {
        "own": {"campaigns.change_campaign"},
        "member": {"tickets.view_ticket", "telephony.view_agent"},
        "nothing": set[str](),
    }

    migrate(latest)

    assert rights_of(User.objects.exclude(username="boss")) == before
    assert User.objects.get(username="boss").is_superuser
    assert all(user.scope.is_all for user in User.objects.all())
    assert set(Group.objects.get(name="Supervisor").permissions.values_list("codename", flat=True)) == {
        "view_ticket",
        "view_agent",
    }
    assert set(Group.objects.values_list("name", flat=True)) == set(NAMES)


def test_a_role_that_was_deleted_or_edited_stays_so() -> None:
    latest = [key for key in MigrationExecutor(connection).loader.graph.leaf_nodes() if key[0] == "callcentre"]
    Group.objects.get(name="Auditor").delete()
    Group.objects.get(name="Agent").permissions.clear()

    migrate(latest)

    assert not Group.objects.filter(name="Auditor").exists()
    assert not Group.objects.get(name="Agent").permissions.exists()
