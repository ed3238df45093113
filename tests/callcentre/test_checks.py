"""Each system check, by its id: the settings that it refuses, and good settings."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import Tags
from django.core.checks.registry import registry
from django.core.exceptions import ImproperlyConfigured

from callcentre import checks
from callcentre.environment import database

ROOT = Path(__file__).resolve().parents[2]
BROKER = {"global_keyprefix": "cc:", "visibility_timeout": 7200}
ASTERISK = {
    "SWITCH_BACKEND": "asterisk",
    "ARI_URL": "http://pbx.example:8088/ari",
    "ARI_USER": "callcentre",
    "ARI_PASSWORD": "secret",
}


def failing(settings: Any, **values: Any) -> set[str]:
    """Return the ids of the checks that refuse good production settings with these changes."""
    production = {
        "DEBUG": False,
        "ALLOWED_HOSTS": ["callcentre.example"],
        "SECRET_KEY": "0123456789" * 5,
        "FIELD_ENCRYPTION_KEYS": ["dGhlLWtleS1vZi1hLXRlc3QtcnVuLWlzLW5vLWtleS0="],
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "LANGUAGE_COOKIE_SECURE": True,
        "TRUSTED_PROXIES": ["10.0.0.0/8", "::1"],
        "EMAIL_HOST": "mail.callcentre.example",
        "EMAIL_HOST_USER": "callcentre",
        "EMAIL_USE_TLS": True,
        "DEFAULT_FROM_EMAIL": "Help <help@callcentre.example>",
        "PUBLIC_URL": "https://callcentre.example",
    }
    for name, value in {**production, **values}.items():
        setattr(settings, name, value)
    # Those of others look at all models, pages and operations.
    ours = [check for check in registry.get_checks(include_deployment_checks=True) if _is_ours(check)]
    ids = {str(message.id) for check in ours for message in check(app_configs=None, databases=None)}
    return {name for name in ids if name.startswith("callcentre.")}


def _is_ours(check: Any) -> bool:
    return str(check.__module__) == checks.__name__ and Tags.database not in check.tags


PLAIN = dict.fromkeys(["SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "LANGUAGE_COOKIE_SECURE"], False)
PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "2001:db8::/32"]


@pytest.mark.parametrize(
    "values",
    [
        {},
        ASTERISK,
        # Cookies may be plain on loopback, and private networks are not too wide.
        {"ALLOWED_HOSTS": ["localhost", "127.0.0.1", "[::1]"], **PLAIN},
        *(
            {name: [network] for name in ("TRUSTED_PROXIES", "METRICS_ALLOWED_NETWORKS", "WEBHOOK_ALLOWED_NETWORKS")}
            for network in PRIVATE
        ),
    ],
    ids=str,
)
def test_a_good_production_passes(settings, values):
    assert failing(settings, **values) == set()


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        ("callcentre.E001", {"DEBUG": True}),
        ("callcentre.E002", {"ALLOWED_HOSTS": []}),
        ("callcentre.E002", {"ALLOWED_HOSTS": ["callcentre.example", "*"]}),
        ("callcentre.E003", {"SECRET_KEY": ""}),
        ("callcentre.E003", {"SECRET_KEY": "short"}),
        ("callcentre.E003", {"SECRET_KEY": "a" * 60}),
        ("callcentre.E004", {"FIELD_ENCRYPTION_KEYS": []}),
        ("callcentre.E004", {"FIELD_ENCRYPTION_KEYS": ["no key"]}),
        ("callcentre.E030", {"EMAIL_USE_SSL": True}),
        ("callcentre.E031", {"DEFAULT_FROM_EMAIL": "help desk"}),
        ("callcentre.E032", {"PUBLIC_URL": "callcentre.example"}),
        ("callcentre.W030", {"EMAIL_HOST": ""}),
        ("callcentre.W033", {"PUBLIC_URL": ""}),
        ("callcentre.W031", {"EMAIL_USE_TLS": False}),
        ("callcentre.W032", {"DEFAULT_FROM_EMAIL": "callcentre@localhost"}),
        ("callcentre.E005", {"SESSION_COOKIE_HTTPONLY": False}),
        ("callcentre.E005", {"CSRF_COOKIE_HTTPONLY": False}),
        ("callcentre.E005", {"LANGUAGE_COOKIE_HTTPONLY": False}),
        ("callcentre.E006", {"SESSION_COOKIE_SECURE": False}),
        ("callcentre.E006", {"LANGUAGE_COOKIE_SECURE": False}),
        ("callcentre.E006", {"CSRF_COOKIE_SECURE": False, "ALLOWED_HOSTS": ["localhost", "callcentre.example"]}),
        ("callcentre.E007", {"TRUSTED_PROXIES": ["nginx"]}),
        ("callcentre.E040", {"FIELD_ENCRYPTION_KEYS": ["ZGVidWdnaW5nLXNlc3Npb24tZmllbGQta2V5LTAwMDE="]}),
        # The same bytes in another spelling.
        ("callcentre.E040", {"FIELD_ENCRYPTION_KEYS": ["ZGVidWdnaW5nLXNlc3Npb24tZmllbGQta2V5LTAwMDF="]}),
        *(
            (code, {name: networks})
            for code, name in (
                ("callcentre.E041", "TRUSTED_PROXIES"),
                ("callcentre.E042", "METRICS_ALLOWED_NETWORKS"),
                ("callcentre.E043", "WEBHOOK_ALLOWED_NETWORKS"),
            )
            for networks in (
                ["0.0.0.0/0"],
                ["10.0.0.0/8", "::/0"],
                ["0.0.0.0/1", "128.0.0.0/1"],
                ["128.0.0.0/1"],
                ["0.0.0.0/2", "64.0.0.0/2"],
                ["2000::/3"],
                ["2002::/16"],
                ["8000::/1"],
                [f"{first}.0.0.0/8" for first in range(256)],
            )
        ),
        ("callcentre.E044", {"MIDDLEWARE": ["django.middleware.security.SecurityMiddleware"]}),
        ("callcentre.E045", {"SECURE_PROXY_SSL_HEADER": None}),
        ("callcentre.E046", {"SECURE_SSL_REDIRECT": True, "TRUSTED_PROXIES": [], "ALLOWED_HOSTS": ["localhost"]}),
        ("callcentre.W041", {"TRUSTED_PROXIES": []}),
        ("callcentre.E008", {"METRICS_ALLOWED_NETWORKS": ["10.0.0.0/33"]}),
        ("callcentre.E013", {"WEBHOOK_ALLOWED_NETWORKS": ["127.0.0.0/8", "10.0.0.0/33"]}),
        ("callcentre.E013", {"WEBHOOK_ALLOWED_NETWORKS": ["intranet"]}),
        ("callcentre.E033", {"MAILBOX_ALLOWED_NETWORKS": ["intranet"]}),
        ("callcentre.E014", {"WEBHOOK_TIMEOUT_SECONDS": 31}),
        ("callcentre.E009", {"DEFAULT_REGION": "XX"}),
        ("callcentre.E009", {"DEFAULT_REGION": ""}),
        ("callcentre.E010", {"CELERY_BROKER_URL": "amqp://rabbit"}),
        ("callcentre.E011", {"CELERY_BROKER_TRANSPORT_OPTIONS": BROKER, "CELERY_TASK_TIME_LIMIT": 7200}),
        ("callcentre.E012", {"TIME_ZONE": "Europe/Atlantis"}),
        ("callcentre.E012", {"USE_TZ": False}),
        ("callcentre.E012", {"CELERY_TIMEZONE": "Europe/Warsaw"}),
        ("callcentre.E015", {"SWITCH_BACKEND": "asterix"}),
        ("callcentre.E015", {"SWITCH_BACKEND": "telephony.switch.simulated.Nothing"}),
        ("callcentre.E016", ASTERISK | {"ARI_URL": ""}),
        ("callcentre.E016", ASTERISK | {"ARI_URL": "pbx:8088/ari"}),
        ("callcentre.E017", ASTERISK | {"ARI_USER": ""}),
        ("callcentre.E017", ASTERISK | {"ARI_PASSWORD": ""}),
        ("callcentre.E018", ASTERISK | {"ARI_APP": "call,centre"}),
        ("callcentre.E018", ASTERISK | {"TRUNK": ""}),
    ],
)
def test_an_unsafe_production_is_refused(settings, expected, values):
    zone = settings.TIME_ZONE

    found = failing(settings, **values)

    settings.TIME_ZONE = zone
    assert found == {expected}


def test_every_message_says_what_to_do(settings):
    failing(settings, ALLOWED_HOSTS=[], SECRET_KEY="", FIELD_ENCRYPTION_KEYS=[], DEFAULT_REGION="XX")

    assert [message.id for message in checks.check_settings() if not message.hint] == []


def started(*arguments: str, **environment: str) -> tuple[int, str]:
    """Return the exit code of a process with these variables, and its output, without the form of the log."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=100, check=False
    )
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    return done.returncode, done.stdout + "".join(f"{line.get('exception', line['event'])}\n" for line in lines)


@pytest.mark.walk("web")
@pytest.mark.slow("starts processes")
@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "import callcentre.asgi"],
        ["-m", "celery", "-A", "callcentre", "worker", "-P", "solo"],
        ["-m", "celery", "-A", "callcentre", "beat"],
        ["manage.py", "migrate", "--check"],
    ],
    ids=["web", "worker", "beat", "manage"],
)
def test_no_process_starts_with_unsafe_settings(arguments, tmp_path):
    code, output = started(*arguments, ALLOWED_HOSTS="*", CALLCENTRE_VAR=str(tmp_path))

    assert (code, "callcentre.E002" in output, "Traceback" in output) == (1, True, False)


PROCESSES = [
    *("manage.py migrate", "manage.py demo", "manage.py listen_to_switch", "manage.py misspelled"),
    *("-m celery -A callcentre worker", "-m celery -A callcentre beat", "-m callcentre.asgi"),
]


@pytest.mark.walk("manage.py migrate", "-m callcentre.asgi", "without Redis")
@pytest.mark.parametrize(
    ("arguments", "variable", "store"),
    [
        *((arguments.split(), "DATABASE_URL", "database") for arguments in PROCESSES),
        (["manage.py", "demo"], "REDIS_URL", "Redis"),
    ],
    ids=[*PROCESSES, "without Redis"],
)
def test_a_process_without_a_store_ends_with_a_sentence(arguments, variable, store, tmp_path):
    found = started(*arguments, **{"CALLCENTRE_VAR": str(tmp_path), variable: ""})

    assert found == (1, f"There is no {store}: start `make run` in another terminal, or set {variable}.\n")


def test_a_command_whose_database_is_down_ends_with_a_sentence(tmp_path):
    url = "postgresql://user:secret@127.0.0.1:1/name"
    down = {"DATABASE_URL": url, "CALLCENTRE_VAR": str(tmp_path), "ALLOWED_HOSTS": "localhost"}

    code, output = started("manage.py", "create_api_user", "anna", **down)
    _, traced = started("manage.py", "create_api_user", "anna", "--traceback", **down)

    assert (code, "secret" in output) == (1, False)
    assert re.fullmatch("The database cannot be used: connection failed: .*\n", output)
    assert "Traceback" in traced


@pytest.mark.parametrize("hosts", ["a:5432,b:5432", "a,b", "a,b:5432", "a:no"])
def test_an_address_with_two_hosts_is_refused_in_a_sentence(hosts):
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL: give one host"):
        database(f"postgresql://user:word@{hosts}/name")


def test_the_table_of_operations_names_every_check():
    code = (ROOT / "callcentre" / "checks.py").read_text()
    table = (ROOT / "docs" / "operations.md").read_text()

    ids = set(re.findall(r'"(?:callcentre\.)?([EW]\d{3})"', code))
    assert sorted(ids - set(re.findall(r"^\| callcentre\.([EW]\d{3}) \|", table, re.MULTILINE))) == []
