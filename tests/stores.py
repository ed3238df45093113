"""A pytest plug-in that starts stores for the tests before Django reads its settings.

All workers of a run share one pair; DATABASE_URL and REDIS_URL each replace one. No process is left after the tests,
even if they are killed.
"""

import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

from callcentre.launch.embedded import temporary_stores
from callcentre.launch.servers import StoreError

# jsonschema would make a grammar of addresses (`format: iri`, which no schema has) for seconds in each process.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    # A wrapper, because pytest-django imports the settings in this same hook.
    if not (os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL")):
        context = ExitStack()
        try:
            stores = context.enter_context(temporary_stores())
        except StoreError as error:
            raise pytest.UsageError(str(error)) from None
        early_config.add_cleanup(context.close)
        os.environ |= stores.environment
    if "PYTEST_XDIST_WORKER" not in os.environ:
        # tests.migrated makes this database when the first test needs one. The name is new in each run: a killed run
        # may leave its database on a server that is given.
        os.environ["MIGRATED_DATABASE"] = f"migrated_{uuid4().hex}"
        early_config.add_cleanup(_drop_migrated)
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        # Each worker uses a Redis database of its own, as pytest-django gives it one of PostgreSQL.
        url = urlsplit(os.environ["REDIS_URL"])
        os.environ["REDIS_URL"] = url._replace(path=f"/{1 + int(worker.removeprefix('gw')) % 15}").geturl()
    # The tests never use the stores or the data folder of a service that runs beside them.
    folder = tempfile.TemporaryDirectory(prefix="callcentre-tests-")
    early_config.add_cleanup(folder.cleanup)
    os.environ["CALLCENTRE_VAR"] = folder.name
    os.environ["SECRET_KEY"] = "the-key-of-a-test-run-is-no-secret-and-long-enough"
    os.environ["FIELD_ENCRYPTION_KEYS"] = "dGhlLWtleS1vZi1hLXRlc3QtcnVuLWlzLW5vLWtleS0="
    return (yield)


def _drop_migrated() -> None:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
        for name in ("", "_draft"):
            server.execute(f"DROP DATABASE IF EXISTS {os.environ['MIGRATED_DATABASE']}{name}")
