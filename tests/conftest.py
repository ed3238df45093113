"""Fixtures for all tests: API clients per right, a clean Redis, callbacks of committed transactions."""

import base64
import gc
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import redis
from _pytest import runner
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.management import call_command
from django.db import connections, transaction
from django.http import HttpResponse
from django.template.response import SimpleTemplateResponse
from django.test import Client, TransactionTestCase, override_settings
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis
from pytest_django import DjangoDbBlocker
from pytest_django.plugin import blocking_manager_key

from callcentre import rate_limits
from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.data_stack import with_room
from callcentre.launch.embedded import Stores, temporary_stores
from callcentre.models import ApiUser
from callcentre.overview import snapshot
from callcentre.web import error_pages, menu
from tests import network_guard
from tests.migrated import copy_into, default_database, migrated_database
from tests.pristine import Pristine
from tests.processes import heard_switch
from tests.serving import WebServer, web_servers

ACTOR = Actor("user", 1, "tester")
# Fixtures of tests that mostly wait, or that start processes for many tests.
WAITING = ("chromium", "spare_stores", "servers")

# The time of an example, or of making one, depends only on the machine.
hypothesis.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis.load_profile("unhurried")

# A hash of the service takes a quarter of a second.
PBKDF2PasswordHasher.iterations = 1_000


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that mostly wait, for a browser or for killed processes.

    One process of the run takes them one after another, while the others use the processors; and none of these long
    tests is left for the end. Those of a fixture stand together, so that one Chromium or two web servers serve them.
    """
    items.sort(key=lambda item: [name not in getattr(item, "fixturenames", ()) for name in WAITING])


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave the modules and the collected tests out of garbage collection: a fifth of the processor time.

    All views are loaded first: otherwise the first test with a request would load them, and seem to be slow.
    """
    import_module(settings.ROOT_URLCONF)
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, Any, Any]:
    """Migrate a database while the processes of the run collect their tests: else two of them wait for the third."""
    if session.config.pluginmanager.has_plugin("dsession"):
        with session.config.stash[blocking_manager_key].unblock(), migrated_database():
            pass
    return (yield)


class ApiClient(Client):
    """A client of the API: JSON in, JSON out, with the credentials of an API user."""

    def __init__(self, login: str = "", secret: str = "", **defaults: Any) -> None:
        super().__init__(**defaults)
        self.login_name = login
        if login:
            token = base64.b64encode(f"{login}:{secret}".encode()).decode()
            self.defaults["HTTP_AUTHORIZATION"] = f"Basic {token}"

    def post(self, path: str, data: Any = None, **rest: Any) -> Any:  # type: ignore[override]
        rest.setdefault("content_type", "application/json")
        return super().post(path, {} if data is None else data, **rest)

    def put(self, path: str, data: Any = None, **rest: Any) -> Any:  # type: ignore[override]
        rest.setdefault("content_type", "application/json")
        return super().put(path, {} if data is None else data, **rest)


@lru_cache(maxsize=1)
def _redis() -> redis.Redis:
    """Return a patient Redis client. The service's own gives up after 100 ms, which a busy machine may need."""
    return redis.Redis.from_url(settings.REDIS_URL)


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each test without counts, and wait for Redis, so that everything is counted."""
    store: Any = _redis()
    if keys := [key for key in store.keys("cc:*") if key.startswith((b"cc:fail:", b"cc:rate:", b"cc:overview:"))]:
        store.delete(*keys)
    monkeypatch.setattr(rate_limits, "client", _redis)
    monkeypatch.setattr(rate_limits._Script, "paused_until", 0.0)


network_guard.install()
# Tests run deep in the frames of pytest.
runner.runtestprotocol = with_room(runner.runtestprotocol)


@pytest.fixture(autouse=True)
def _network() -> Iterator[None]:
    """Fail a test in which a transaction used the network, also if the code caught the guard's error."""
    network_guard.refused.clear()
    yield
    assert not network_guard.refused


@pytest.fixture(autouse=True)
def _overview(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the overview show each change of a test at once."""
    monkeypatch.setattr(snapshot, "FRESH_SECONDS", 0)


@pytest.fixture(autouse=True)
def _language() -> None:
    """Reset the language: a test without a request would keep that of the request before."""
    translation.deactivate()


@pytest.fixture
def api_client(db: None) -> Callable[..., ApiClient]:
    """Return a function that makes a client with the given rights."""

    def make(*rights: str, login: str = "", **values: Any) -> ApiClient:
        login = login or f"api{ApiUser.objects.count() + 1}"
        _, secret = ApiUser.create(SYSTEM, login, rights=list(rights), **values)
        return ApiClient(login, secret)

    return make


@pytest.fixture
def api(api_client: Callable[..., ApiClient]) -> ApiClient:
    """Return a client with all rights."""
    return api_client("*", login="all")


@pytest.fixture
def anonymous() -> ApiClient:
    return ApiClient()


@pytest.fixture
def admin_user(db: None) -> Any:
    """Return a superuser. That of pytest-django costs a slow hash of a password."""
    from tests.callcentre.factories import UserFactory

    return UserFactory(admin=True, username="admin")


@pytest.fixture(scope="session")
def django_db_setup(request: pytest.FixtureRequest, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Copy the migrated database, and undo what a test commits: the next test finds the rows of the migrations only."""
    with django_db_blocker.unblock(), migrated_database() as name:
        connections["default"].settings_dict["TEST"]["TEMPLATE"] = name
        request.getfixturevalue("django_db_setup")  # the one of pytest-django
    with django_db_blocker.unblock():
        pristine = Pristine()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda self: pristine.restore())
        patch.setattr(TransactionTestCase, "_should_reload_connections", lambda self: not _is_as_new())
        yield
    pristine.close()


def _is_as_new() -> bool:
    """Return whether a test has left the connection usable. A new one costs PostgreSQL 25 ms."""
    connection = connections["default"]
    return connection.is_usable() and connection.get_autocommit()


@contextmanager
def kept_for_all(blocker: DjangoDbBlocker, fill: Callable[[], Any]) -> Iterator[None]:
    """Keep the rows that `fill` writes for many tests. Each test rolls back its own changes; the end rolls back all.

    The transaction is also rolled back if `fill` fails: left open, it would break every test after it.
    """
    with blocker.unblock(), ExitStack() as filling:
        of_tests = transaction.atomic()
        of_tests._from_testcase = True  # type: ignore[attr-defined]  # as Django marks those of its tests
        filling.enter_context(of_tests)
        fill()
        # Otherwise the end of each test would check the deferred constraints of all these rows again.
        connections["default"].check_constraints()
        filled = filling.pop_all()
    try:
        yield
    finally:
        with blocker.unblock():
            transaction.set_rollback(True)
            filled.close()


@pytest.fixture(scope="module")
def listener(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Hold the locks of a listener during the tests of the module: each connection takes 7 ms."""
    with django_db_blocker.unblock(), heard_switch():
        yield


@pytest.fixture
def switch_that_answers(listener: None, settings: Any) -> None:
    """Let calls be placed: a listener hears the switch."""
    settings.SWITCH_BACKEND = "tests.telephony.doubles.RecordingSwitch"


@pytest.fixture
def committed_db(transactional_db: None) -> None:
    """A database with real transactions, for threads and other processes."""


@pytest.fixture
def credential(committed_db: None) -> str:
    """Return `login:secret` of an API user with all rights, in the committed database."""
    _, secret = ApiUser.create(SYSTEM, "committed", rights=["*"])
    return f"committed:{secret}"


@pytest.fixture(scope="session")
def servers(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Generator[list[WebServer]]:
    """Run two web servers, each in a process of its own, which wait for locks as long as a busy machine needs."""
    folder = tmp_path_factory.mktemp("servers")
    with django_db_blocker.unblock(), web_servers(2, folder, DATABASE_LOCK_TIMEOUT="60") as running:
        yield running


def plain_storages() -> Any:
    """Return settings that serve static files under their own names: pages are made without collectstatic."""
    backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
    return override_settings(STORAGES=settings.STORAGES | {"staticfiles": {"BACKEND": backend}})


@pytest.fixture
def plain_static() -> Iterator[None]:
    with plain_storages():
        yield


def leave_out_menu(patch: pytest.MonkeyPatch) -> None:
    """Leave the menu out of pages. A group without pages stays: without one the theme lists all models instead."""
    patch.setattr(menu, "menu", lambda request: [{"title": "", "items": []}])


@pytest.fixture(autouse=True)
def _menu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the menu out of pages, as it takes a quarter of their time, unless the test uses `with_menu`."""
    if "with_menu" not in request.fixturenames:
        leave_out_menu(monkeypatch)


@pytest.fixture
def with_menu() -> None:
    """Pages have their menu."""


@pytest.fixture
def bare_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pages of refusals unrendered, for a test that looks at their status only."""
    monkeypatch.setattr(error_pages, "render", lambda request, name, context, status: HttpResponse(status=status))


@pytest.fixture
def unrendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave pages unrendered, for a test that reads the `context_data` of many pages."""
    monkeypatch.setattr(SimpleTemplateResponse, "rendered_content", "")


@pytest.fixture
def quick_hashes(settings: Any) -> None:
    """Hash passwords quickly: every wrong log-in would cost a slow hash of a quarter of a second."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def own_storage(settings: Any, tmp_path: Path) -> Path:
    """Keep the files of the storage in a folder of the test, and return it.

    A process with `environment(tmp_path)` has the same storage.
    """
    folder = tmp_path / "files"
    folder.mkdir()
    options = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(folder)}}
    settings.STORAGES = settings.STORAGES | {"default": options}
    return folder


@pytest.fixture
def plain_http(settings: Any) -> None:
    """Set cookies as with SECURE_COOKIES=0, so that a browser takes them without HTTPS."""
    settings.CSRF_COOKIE_SECURE = settings.SESSION_COOKIE_SECURE = settings.LANGUAGE_COOKIE_SECURE = False
    settings.CSRF_COOKIE_NAME = settings.CSRF_COOKIE_NAME.removeprefix("__Host-")
    settings.SESSION_COOKIE_NAME = settings.SESSION_COOKIE_NAME.removeprefix("__Host-")
    settings.LANGUAGE_COOKIE_NAME = settings.LANGUAGE_COOKIE_NAME.removeprefix("__Host-")


@pytest.fixture(scope="session")
def static_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the collected static files, made once per test process."""
    folder = tmp_path_factory.mktemp("static")
    # Compressing takes longer than all other steps.
    with override_settings(STATIC_ROOT=folder, WHITENOISE_SKIP_COMPRESS_EXTENSIONS=("css", "js", "map", "svg", "txt")):
        call_command("collectstatic", interactive=False, verbosity=0)
    return folder


@pytest.fixture
def collected_static(settings: Any, static_folder: Path) -> None:
    """Name static files by the manifest: a page with the name of a missing file cannot be made."""
    settings.STATIC_ROOT = static_folder


# Stores that tests with processes of their own may kill


@pytest.fixture(scope="session")
def spare_stores(django_db_blocker: DjangoDbBlocker) -> Generator[Stores]:
    with ExitStack() as context:
        with pytest.MonkeyPatch.context() as patch:
            # The stores of the test run must not be killed.
            for name in ("DATABASE_URL", "REDIS_URL"):
                patch.delenv(name, raising=False)
            running = context.enter_context(temporary_stores(durable=True))
        with django_db_blocker.unblock():
            copy_into(running)
        yield running


@pytest.fixture(scope="session")
def pristine_stores(spare_stores: Stores, django_db_blocker: DjangoDbBlocker) -> Pristine:
    """Bring the database of `stores` back to its state after the migrations."""
    with django_db_blocker.unblock(), default_database(spare_stores.environment["DATABASE_URL"]):
        return Pristine()


@pytest.fixture(scope="module")
def stores(spare_stores: Stores, pristine_stores: Pristine, django_db_blocker: DjangoDbBlocker) -> Generator[Stores]:
    """A PostgreSQL and a Valkey of their own; `default` is this database during the tests of the module."""
    with django_db_blocker.unblock(), default_database(spare_stores.environment["DATABASE_URL"]):
        yield spare_stores
