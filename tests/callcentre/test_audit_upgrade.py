"""The audit log during an upgrade: migrations may alter what its view reads, and its page says so meanwhile."""

import threading
from typing import Any

import pytest
from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db import connection
from django.db.migrations import Migration

from callcentre.core import audit_schema
from callcentre.core.audit import AuditLog
from telephony.models import Pause
from tests.callcentre.factories import UserFactory

PLAN = [(Migration("0001_initial", "telephony"), False)]
ALTER = "ALTER TABLE campaigns_recordchange ALTER COLUMN action TYPE varchar(60)"
RESTORE = "ALTER TABLE campaigns_recordchange ALTER COLUMN action TYPE varchar(30)"


def executed(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone() if cursor.description else None


def migrated(*statements: str, plan: Any = PLAN) -> None:
    """Send what `migrate` sends before and after it applies migrations."""
    emit_pre_migrate_signal(0, False, "default", plan=plan)
    for statement in statements:
        executed(statement)
    emit_post_migrate_signal(0, False, "default", plan=plan)


@pytest.fixture
def upgrade(committed_db):
    """The time between the beginning and the end of `migrate`."""
    emit_pre_migrate_signal(0, False, "default", plan=PLAN)
    yield
    audit_schema.install()


@pytest.mark.django_db
def test_a_migration_alters_a_column_that_the_view_reads_and_without_migrations_the_view_stays():
    oid = "SELECT to_regclass('callcentre_auditlog')::oid"
    before = executed(oid)
    Pause.objects.create(name="Lunch")

    migrated(plan=[])
    assert executed(oid) == before

    migrated(ALTER)
    assert AuditLog.objects.get().object_name == "Lunch"
    migrated(RESTORE)


@pytest.mark.usefixtures("plain_static", "upgrade")
@pytest.mark.parametrize("address", ["", "callcentre.auditentry-1/change/", "?q=anna", "?object=telephony.pause:1"])
def test_the_page_answers_503_during_an_upgrade(client, address):
    client.force_login(UserFactory(is_staff=True, is_superuser=True))

    answer = client.get(f"/admin/callcentre/auditlog/{address}")

    assert (answer.status_code, answer["Retry-After"]) == (503, "60")
    assert "The service is being upgraded" in answer.content.decode()


@pytest.mark.usefixtures("upgrade")
def test_another_migrate_makes_the_view_after_the_end_of_this_one():
    def install():
        audit_schema.install()
        connection.close()

    other = threading.Thread(target=install)
    other.start()
    other.join(1)
    assert other.is_alive()
    executed(ALTER)
    executed(RESTORE)
    audit_schema.install()

    other.join(30)
    assert not other.is_alive()
    assert AuditLog.objects.count() >= 0
