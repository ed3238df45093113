"""The fixture that fills the database once for many tests (tests/conftest.py)."""

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from callcentre.models import Lockout
from tests.conftest import kept_for_all


def test_a_failed_fill_leaves_no_open_transaction(committed_db: None, django_db_blocker: DjangoDbBlocker) -> None:
    with pytest.raises(ZeroDivisionError), kept_for_all(django_db_blocker, lambda: 1 / 0):
        pass

    assert not connection.in_atomic_block


def test_a_failed_test_leaves_no_filled_rows(committed_db: None, django_db_blocker: DjangoDbBlocker) -> None:
    def fill() -> None:
        Lockout.objects.create(realm="api", source="kept", until="2026-01-01T00:00Z")

    with pytest.raises(ZeroDivisionError), kept_for_all(django_db_blocker, fill):
        raise ZeroDivisionError

    assert not connection.in_atomic_block
    assert not Lockout.objects.filter(source="kept").exists()
