"""Logs are JSON, carry the request id, and never contain a secret."""

import base64
import json
import logging
import logging.config
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from django.conf import settings as django_settings
from django.db import DataError, IntegrityError, connection

from callcentre.celery import add_headers, bind_context, clear_context
from callcentre.models import ApiUser
from callcentre.monitoring.logging import LineFormatter, logging_config

ROOT = Path(__file__).resolve().parents[2]
SECRET = "s3cret-Word.91"

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines():
    """Return the lines of the service's log; every line must be a JSON object."""
    written: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record):
            written.append(self.format(record))

    handler = Keep()
    handler.setFormatter(LineFormatter())
    logging.getLogger().addHandler(handler)
    yield lambda: [json.loads(line) for line in written]
    logging.getLogger().removeHandler(handler)


# Secrets


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Basic {base64.b64encode(f'demo:{SECRET}'.encode()).decode()}",
        f"{{'Authorization': 'Basic {base64.b64encode(f'demo:{SECRET}'.encode()).decode()}'}}",
        f"Bearer {SECRET}",
        f'{{"http_auth_password": "{SECRET}", "name": "x"}}',
        f"password={SECRET}&login=demo",
        f"cannot connect to postgresql://callcentre:{SECRET}@db/callcentre",
        f"cannot connect to redis://:{SECRET}@127.0.0.1:6379/0",
        "the key whsec_czNjcmV0LVdvcmQuOTE= is too old",
        f"Cookie: sessionid={SECRET}",
        f"duplicate key\nDETAIL:  Key (secret_hash)=({SECRET}) already exists.\nHINT: none",
        f"IntegrityError('null value\\nDETAIL:  Failing row contains (1, {SECRET}).\\n')",
        f'invalid input syntax for type integer: "{SECRET}"',
        f'date/time field value out of range: "{SECRET}"',
    ],
)
def test_a_secret_is_cut_out_of_any_text(lines, text):
    encoded = base64.b64encode(f"demo:{SECRET}".encode()).decode()

    logging.getLogger("tests").error("failed: %s", text, extra={"more": {"deep": [text]}, "other": text.encode()})

    said = json.dumps(lines())
    assert [part for part in (SECRET, encoded, "czNjcmV0") if part in said] == []


def test_a_value_under_a_secret_name_is_cut_out_and_other_text_unchanged(lines):
    given = {"http_auth_password": SECRET, "headers": {"X-Token": SECRET, "Accept": "*/*"}, "path": "/api/x", "n": 401}
    logging.getLogger("tests").warning("wrong login or secret", extra=given)

    (line,) = lines()
    hidden = {"http_auth_password": "[secret]", "headers": {"X-Token": "[secret]", "Accept": "*/*"}}
    expected = {**given, **hidden, "event": "wrong login or secret"}
    assert {name: line[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("statement", "values", "error"),
    [
        # PostgreSQL shows the failing row.
        ("INSERT INTO callcentre_apiuser (login, description) VALUES (%s, %s)", [SECRET, SECRET], IntegrityError),
        ("SELECT %s::text::integer", [SECRET], DataError),
    ],
)
def test_a_traceback_names_neither_local_variables_nor_rows_nor_parameters(statement, values, error, lines, db):
    def execute(credential):
        with connection.cursor() as cursor:
            cursor.execute(statement, values)

    try:
        execute(SECRET)
    except error as raised:
        logging.getLogger("tests").exception("failed", extra={"error": repr(raised)})

    (line,) = lines()
    assert (error.__name__ in line["exception"], "in execute" in line["exception"]) == (True, True)
    assert SECRET not in json.dumps(line)


def test_requests_are_logged_without_their_credentials_and_bodies(lines, api_client, anonymous):
    client = api_client("*")
    basic = base64.b64encode(f"demo:{SECRET}".encode()).decode()

    client.post("/api/outbounds", {"name": SECRET, "password": SECRET, "http_auth_password": SECRET})
    anonymous.get(f"/api/ping?password={SECRET}", HTTP_AUTHORIZATION=f"Basic {basic}")

    said = json.dumps(lines())
    hidden = (SECRET, basic, client.defaults["HTTP_AUTHORIZATION"].removeprefix("Basic "))
    assert [part for part in hidden if part in said] == []


def test_a_view_that_fails_logs_no_credential(lines, api, monkeypatch):
    def fail(self, request):
        password = SECRET
        raise RuntimeError(f"cannot reach https://user:{password}@example.org")

    monkeypatch.setattr("campaigns.api.views.CampaignGroupViewSet.list", fail)
    api.raise_request_exception = False
    response = api.get("/api/outbound_groups")

    failure, _ = lines()
    assert (response.status_code, failure["request_id"]) == (500, response["X-Request-Id"])
    assert "RuntimeError" in failure["exception"]
    assert SECRET not in json.dumps(lines())


def test_statements_are_not_logged_even_at_the_finest_level():
    assert logging_config("DEBUG", as_json=True)["loggers"]["django.db.backends"] == {"level": "INFO"}


# Request ids


def test_every_line_of_a_request_carries_its_id(lines, anonymous, db):
    ApiUser.objects.create(login="known", secret_hash="0" * 64)
    basic = base64.b64encode(b"known:wrong").decode()

    response = anonymous.get("/api/ping", HTTP_AUTHORIZATION=f"Basic {basic}")

    written = lines()
    assert [line["event"] for line in written] == ["wrong login or secret", "request"]
    assert {line["request_id"] for line in written} == {response["X-Request-Id"]}
    assert response.json()["request_id"] == response["X-Request-Id"]


def test_a_request_line_has_user_operation_and_status(lines, api):
    api.get("/api/ping")

    line = lines()[-1]
    expected = {"method": "GET", "path": "/api/ping", "status": 204, "address": "127.0.0.1"}
    expected |= {"api_user": "all", "level": "info"}
    assert {key: line[key] for key in expected} == expected
    assert (line["milliseconds"] > 0, line["queries"] > 0) == (True, True)


@pytest.mark.slow("serves static files")
def test_probes_and_static_files_leave_no_line(lines, client, db):
    client.get("/health/live")
    client.get("/metrics")

    assert lines() == []


def test_a_task_logs_under_the_id_of_the_request_that_started_it(lines, db):
    headers: dict[str, Any] = {}
    structlog.contextvars.bind_contextvars(request_id="53678450401cf")
    add_headers(headers=headers)
    structlog.contextvars.clear_contextvars()

    task = SimpleNamespace(name="tests.task", request=SimpleNamespace(**headers))
    bind_context(task=task, task_id="7")
    logging.getLogger("tests").info("working")
    clear_context(task=task, state="SUCCESS")
    logging.getLogger("tests").info("idle")

    working, idle = lines()
    assert (working["request_id"], working["task"], working["task_id"]) == ("53678450401cf", "tests.task", "7")
    assert "request_id" not in idle


@pytest.fixture
def environment(tmp_path):
    """Return the environment of a process that writes its log to a pipe."""
    return {
        **os.environ,
        "REDIS_URL": django_settings.REDIS_URL.rsplit("/", 1)[0] + "/9",
        "ALLOWED_HOSTS": "127.0.0.1",
        "CALLCENTRE_VAR": str(tmp_path),
        "LOG_LEVEL": "INFO",
    }


@pytest.mark.trial
@pytest.mark.slow("starts processes")
def test_a_worker_writes_json_with_the_request_id_and_no_secret(environment, tmp_path):
    program = f"""
import logging, structlog, sys
from celery import shared_task
from callcentre.celery import app

@shared_task(name="tests.fail")
def fail(pk):
    logging.getLogger("tests").info("working")
    raise RuntimeError("cannot reach redis://:{SECRET}@127.0.0.1")

@shared_task(name="tests.sweep")
def sweep():
    pass

if sys.argv[1] == "send":
    app.send_task("tests.sweep")
    structlog.contextvars.bind_contextvars(request_id="53678450401cf")
    app.send_task("tests.fail", args=[1])
else:
    app.worker_main(["-q", "worker", "-P", "solo", "-Q", "default", "--without-gossip", "--without-mingle"])
"""
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, str(tmp_path / "program.py")]
    environment["PYTHONPATH"] = str(ROOT)
    subprocess.run([*command, "send"], env=environment, check=True, cwd=ROOT)
    with (tmp_path / "log").open("wb") as log:
        worker = subprocess.Popen([*command, "work"], env=environment, stdout=log, stderr=log, cwd=ROOT)
    try:
        deadline = time.monotonic() + 100
        while "unexpected" not in (tmp_path / "log").read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        worker.terminate()
        worker.wait(60)

    written = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("{")]
    of_task = [line for line in written if line.get("task") == "tests.fail"]
    assert {line["request_id"] for line in of_task} == {"53678450401cf"}
    # A successful run, as in every second of operation.
    assert [line for line in written if line.get("task") == "tests.sweep"] == []
    assert "working" in [line["event"] for line in of_task]
    assert SECRET not in (tmp_path / "log").read_text()


def test_the_web_server_writes_its_own_lines_as_json(environment):
    configuration = json.loads((ROOT / "deploy" / "granian-logging.json").read_text())
    program = (
        "import json, logging.config, sys; logging.config.dictConfig(json.loads(sys.argv[1]));"
        "logger = logging.getLogger('_granian');"
        "logger.warning('Configuration allows spawning up to 16 Python threads, which seems quite high');"
        "logger.info('Spawning worker-1')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(configuration)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    line = json.loads(done.stderr)
    assert (line["event"], line["level"]) == ("Spawning worker-1", "info")
