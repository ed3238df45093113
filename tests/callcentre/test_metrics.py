import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
import redis
from celery import current_app
from celery.exceptions import WorkerLostError
from django.test import Client
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from callcentre.celery import bind_context, clear_context, count_loss
from callcentre.monitoring import health
from tests.serving import free_port

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def broker(settings):
    """Yield the real broker, with empty queues."""
    store = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    store.delete(*(f"cc:{name}" for name in (*settings.CELERY_TASK_QUEUE_NAMES, "unacked", "unacked_index")))
    return store


def scraped(client: Client, **headers: Any) -> dict[tuple[str, ...], float]:
    """Return (name, label values…) -> value of all lines of /metrics."""
    text = client.get("/metrics", **headers).content.decode()
    # The buckets, of which all tests together have made thousands, take most of the time.
    text = re.sub(r"^\w+_bucket\{.*\n", "", text, flags=re.MULTILINE)
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.slow("reads all metrics of the process")
def test_requests_and_queries_are_counted(api, client):
    before = scraped(client)

    api.get("/api/ping")

    after = scraped(client)
    counted = ("callcentre_request_seconds_count", "GET", "ping", "204")
    assert after[counted] - before.get(counted, 0) == 1
    assert after[("callcentre_queries_total",)] - before[("callcentre_queries_total",)] >= 1
    assert ("callcentre_limits_let_through_total",) in after


@pytest.mark.slow("reads all metrics of the process")
def test_waiting_tasks_are_counted_with_the_age_of_the_oldest(client, broker, monkeypatch):
    now = time.time()
    for age in (90, 30):
        with monkeypatch.context() as past:
            past.setattr(time, "time", lambda age=age: now - age)
            current_app.send_task("reports.nothing", args=[1])

    found = scraped(client)

    assert found[("callcentre_queue_tasks", "reports")] == 2
    assert found[("callcentre_queue_tasks", "calls")] == 0
    assert 90 <= found[("callcentre_queue_oldest_seconds", "reports")] < 90 + 60
    assert found[("callcentre_queue_oldest_seconds", "calls")] == 0
    broker.delete("cc:reports")


@pytest.mark.slow("reads all metrics of the process")
def test_unacknowledged_tasks_are_counted_and_a_message_that_is_not_ours_has_no_age(client, broker):
    broker.hset("cc:unacked", "tag", "{}")
    broker.zadd("cc:unacked_index", {"tag": time.time() - 50})
    broker.lpush("cc:mail", orjson.dumps({"headers": {}}), b"no json")

    found = scraped(client)

    assert found[("callcentre_unacknowledged_tasks",)] == 1
    assert 50 <= found[("callcentre_unacknowledged_oldest_seconds",)] < 50 + 60
    assert found[("callcentre_queue_tasks", "mail")] == 2
    assert found[("callcentre_queue_oldest_seconds", "mail")] == 0
    broker.delete("cc:unacked", "cc:unacked_index", "cc:mail")


@pytest.mark.slow("reads all metrics of the process")
def test_without_a_store_metrics_still_answer(client, settings, monkeypatch):
    def up():
        return found[("callcentre_up", "database")], found[("callcentre_up", "broker")]

    def fail(sql):
        raise ConnectionError(sql)

    found = scraped(client)
    assert (up(), found[("callcentre_database_bytes",)] > 1_000_000) == ((1, 1), True)

    with monkeypatch.context() as patch:
        patch.setattr(health, "query", fail)
        found = scraped(client)
    assert (up(), ("callcentre_queries_total",) in found) == ((0, 1), True)

    settings.CELERY_BROKER_URL = f"redis://127.0.0.1:{free_port()}/0"
    found = scraped(client)
    assert (up(), ("callcentre_queue_tasks", "calls") in found) == ((1, 0), False)


@pytest.mark.slow("reads all metrics of the process")
def test_unknown_methods_are_one_series(client):
    before = {labels for labels in scraped(client) if labels[0] == "callcentre_request_seconds_count"}

    for number in range(50):
        client.generic(f"METHOD{number}", "/health/live")

    after = {labels for labels in scraped(client) if labels[0] == "callcentre_request_seconds_count"}
    new = [labels for labels in after - before if "live" in labels]
    assert len(new) <= 1
    assert all("other" in labels for labels in new)


@pytest.mark.slow("reads all metrics of the process")
@pytest.mark.parametrize(
    ("status", "headers", "networks"),
    [
        (200, {"REMOTE_ADDR": "127.0.0.1"}, []),
        (200, {"REMOTE_ADDR": "::1"}, []),
        (404, {"REMOTE_ADDR": "10.1.2.3"}, []),
        # A proxy on this machine that is not trusted hides the client's address.
        (404, {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "127.0.0.1"}, []),
        (200, {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "10.1.2.3"}, ["10.0.0.0/8"]),
        (404, {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "203.0.113.9"}, ["10.0.0.0/8"]),
    ],
)
def test_metrics_are_for_operators(client, status, headers, networks, settings):
    if networks:
        settings.METRICS_ALLOWED_NETWORKS, settings.TRUSTED_PROXIES = networks, ["127.0.0.1"]

    assert client.get("/metrics", **headers).status_code == status


def sample(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0


@pytest.mark.slow("reads all metrics of the process")
def test_a_task_is_counted_with_its_outcome_and_its_wait_or_as_lost():
    task = SimpleNamespace(name="tests.counted", request=SimpleNamespace(published_at=time.time() - 3))

    bind_context(task=task, task_id="1")
    clear_context(task=task, state="SUCCESS")
    count_loss(sender=task, exception=WorkerLostError("killed"))
    count_loss(sender=task, exception=ValueError("an ordinary failure, counted when the task ends"))

    for outcome in ("SUCCESS", "LOST"):
        assert sample("callcentre_task_seconds_count", task="tests.counted", outcome=outcome) == 1
    assert 3 <= sample("callcentre_task_wait_seconds_sum", task="tests.counted") < 4


# A forked process counts apart from its parent, which lives on.
COUNT = """
import os
from callcentre.monitoring.metrics import queries
queries.inc(2)
if os.fork():
    os.wait()
else:
    queries.inc(3)
"""


@pytest.mark.slow("starts processes")
def test_processes_add_up_in_one_folder_and_continue_the_files_of_those_that_ended(tmp_path):
    folder = tmp_path / "metrics"
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
    for _ in range(3):
        subprocess.run([sys.executable, "-c", COUNT], cwd=ROOT, env=environment, check=True)

    read = (
        "from prometheus_client import CollectorRegistry, generate_latest, multiprocess as m;"
        "r = CollectorRegistry(); m.MultiProcessCollector(r); print(generate_latest(r).decode())"
    )
    said = subprocess.run(
        [sys.executable, "-c", read], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )

    assert "callcentre_queries_total 15.0" in said.stdout
    assert len(list(folder.glob("counter_*.db"))) == 2
