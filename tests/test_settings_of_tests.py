"""Tests set only settings that production can have, so that they show its behaviour."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SETTINGS = TESTS.parent / "callcentre" / "settings.py"
READERS = {"env", "env_bool", "env_choice", "env_int", "env_list", "env_url", "env_zone"}
# Settings that settings.py computes or fixes, with the reason why a test may set them.
REASONS = {
    "CELERY_BROKER_URL": "is REDIS_URL",
    "CSRF_COOKIE_NAME": "has a prefix where SECURE_COOKIES is on",
    "CSRF_COOKIE_SECURE": "is SECURE_COOKIES",
    "EMAIL_BACKEND": "follows EMAIL_HOST",
    "EMAIL_FILE_PATH": "lies in CALLCENTRE_VAR",
    "IDEMPOTENCY_WAIT_SECONDS": "a test that waits for it need not wait ten seconds",
    "LANGUAGE_COOKIE_NAME": "has a prefix where SECURE_COOKIES is on",
    "LANGUAGE_COOKIE_SECURE": "is SECURE_COOKIES",
    "PASSWORD_HASHERS": "a third of a second a password; tests of the hash itself leave it",
    "SESSION_COOKIE_NAME": "has a prefix where SECURE_COOKIES is on",
    "SESSION_COOKIE_SECURE": "is SECURE_COOKIES",
    "STATIC_ROOT": "lies in CALLCENTRE_VAR; a run of the tests collects into a folder of its own",
    "STORAGES": "lie in CALLCENTRE_VAR; pages are made without collectstatic",
}


def read_from_environment() -> set[str]:
    """Return the settings that are read from the environment."""
    found = set()
    for statement in ast.parse(SETTINGS.read_text()).body:
        if not isinstance(statement, ast.Assign):
            continue
        calls = (node.func for node in ast.walk(statement.value) if isinstance(node, ast.Call))
        if any(isinstance(name, ast.Name) and name.id in READERS for name in calls):
            found |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return found


def set_by_tests() -> Iterator[tuple[str, str]]:
    """Yield each setting that a test sets, and the test's file."""
    for file in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "settings":
                        yield part.attr, file.name


@pytest.mark.slow("reads the whole code")
def test_tests_set_only_settings_of_production() -> None:
    known = read_from_environment() | set(REASONS)

    assert {(name, file) for name, file in set_by_tests() if name not in known} == set()


@pytest.mark.slow("reads the whole code")
def test_every_exception_is_needed() -> None:
    assert set(REASONS) - {name for name, _file in set_by_tests()} == set()
    assert set(REASONS) & read_from_environment() == set()
