"""Reads on a replica. benchmarks.machines has a real one; here the database is its own."""

from datetime import datetime, timedelta
from io import TextIOWrapper
from tempfile import NamedTemporaryFile
from typing import IO, Any

import pytest
from django.db import OperationalError, connections
from django.utils import timezone

from callcentre.core import replica
from callcentre.core.exporting.builds import written_once
from callcentre.core.monitoring import NotReadyError
from callcentre.core.replica import Lag, read
from callcentre.core.replica import lag as measured
from callcentre.core.statements import row_of
from callcentre.lists.models import ListExport

pytestmark = pytest.mark.usefixtures("committed_db")


@pytest.fixture
def lag(settings, monkeypatch):
    """Return a function that sets the lag of the replica: seconds, or an error."""
    monkeypatch.setitem(settings.DATABASES, "replica", settings.DATABASES["default"])
    # Tests refuse connections of other names.
    connections["replica"] = connections["default"].copy()
    monkeypatch.setattr(replica, "_rests_until", 0)

    def set_lag(found: Any) -> None:
        def measure(*_args: Any) -> Lag:
            if isinstance(found, Exception):
                raise found
            return Lag(timezone.now() - timedelta(seconds=found), found)

        monkeypatch.setattr(replica, "lag", measure)

    set_lag(0)
    yield set_lag
    connections["replica"].close()
    del connections["replica"]


def where() -> str:
    return "replica" if connections["default"] is connections["replica"] else "primary"


def place(as_of: datetime) -> tuple[str, int]:
    """Return where the work reads, and how old its data are."""
    return where(), round((timezone.now() - as_of).total_seconds())


@pytest.mark.parametrize(
    ("seconds", "asked", "found"),
    [
        (0, {}, ("replica", 0)),
        (20, {}, ("replica", 20)),
        (31, {}, ("primary", 0)),
        (0, {"is_exact": True}, ("replica", 0)),
        (1, {"is_exact": True}, ("primary", 0)),
        (5, {"since": 10}, ("replica", 5)),
        (15, {"since": 10}, ("primary", 0)),
        (OperationalError("refused"), {}, ("primary", 0)),
    ],
)
def test_the_replica_is_read_if_it_is_fresh_enough(lag, seconds, asked, found):
    lag(seconds)
    if "since" in asked:
        asked = {"since": timezone.now() - timedelta(seconds=asked["since"])}

    assert read(place, **asked) == found
    assert where() == "primary"


def test_a_statement_that_the_replica_cancels_is_repeated_on_the_primary(lag):
    tried = []

    def work(as_of: datetime) -> str:
        tried.append(where())
        row_of("SELECT 1")
        if len(tried) == 1:
            raise OperationalError("canceling statement due to conflict with recovery")
        return where()

    assert read(work) == "primary"
    assert tried == ["replica", "primary"]


@pytest.mark.usefixtures("lag")
def test_an_export_that_the_replica_breaks_off_is_begun_anew():
    def write(file: IO[bytes], as_of: datetime) -> int:
        text = TextIOWrapper(file)
        text.write(where())
        if where() == "replica":
            raise OperationalError("terminating connection due to conflict with recovery")
        text.close()
        return 1

    with NamedTemporaryFile() as output:
        assert written_once(ListExport(created_at=timezone.now() - timedelta(seconds=5)), output, write) == 1
        assert output.read() == b"primary"


def test_a_replica_that_does_not_answer_is_left_alone_for_a_while(lag, monkeypatch):
    lag(OperationalError("refused"))
    assert read(place)[0] == "primary"
    lag(0)
    assert read(place)[0] == "primary"
    monkeypatch.setattr(replica, "_rests_until", 0)
    assert read(place)[0] == "replica"


@pytest.mark.usefixtures("lag")
def test_the_primary_itself_is_no_replica():
    with pytest.raises(NotReadyError):
        measured()
