"""Probes and metrics for operators: /health/live, /health/ready, /health/mail, /health/dialling, /metrics.

The stores are asked in threads, each on a new connection. An answer never waits longer than TIMEOUT_SECONDS for them.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import redis
from django.apps import apps
from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from django.db.models import DurationField, ExpressionWrapper, F, Value
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.module_loading import autodiscover_modules
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from callcentre.core import free_space, replica
from callcentre.core.broker_queues import waiting_tasks
from callcentre.core.due_work import DueWork
from callcentre.core.file_store import check_folder
from callcentre.core.heartbeats import SILENCES, missing
from callcentre.core.monitoring import NotReadyError, database_figures, gauge, gauges, one_connection, probes, query
from callcentre.core.network import client_address, is_in_networks

logger = logging.getLogger(__name__)
autodiscover_modules("monitoring")

Answer = TypeVar("Answer")
TIMEOUT_SECONDS = 2.0
# A store that hangs can occupy these threads until the system closes the connections. Probes then fail at once.
_threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="health")


def live(request: HttpRequest) -> HttpResponse:
    """Answer without asking the stores: this process is alive."""
    return JsonResponse({"status": "ok"})


def ready(request: HttpRequest) -> HttpResponse:
    """Answer 200 if database, broker, migrations and files allow work, else 503, with one entry per check."""
    checks = _outcomes(CHECKS)
    is_ready = all(check["status"] == "ok" for check in checks.values())
    return _no_store({"status": "ok" if is_ready else "failed", "checks": checks})


def probe(request: HttpRequest, name: str) -> HttpResponse:
    """Answer 200 if an app's own check passes, else 503. The web server needs no restart because of a 503."""
    return _no_store(_outcomes({name: probes[name]})[name])


def _no_store(body: dict[str, Any]) -> HttpResponse:
    return JsonResponse(body, status=200 if body["status"] == "ok" else 503, headers={"Cache-Control": "no-store"})


def _ask(questions: Mapping[str, Callable[[], Answer]]) -> dict[str, Callable[[], Answer]]:
    """Ask all questions at once. Return a function per question that waits for its answer; all share one deadline."""
    deadline = time.monotonic() + TIMEOUT_SECONDS

    def wait(future: Future[Answer]) -> Answer:
        return future.result(timeout=max(deadline - time.monotonic(), 0))

    return {name: partial(wait, _threads.submit(question)) for name, question in questions.items()}


def _outcomes(checks: Mapping[str, Callable[[], object]]) -> dict[str, dict[str, Any]]:
    waits = _ask({name: partial(_milliseconds, check) for name, check in checks.items()})
    return {name: _outcome(name, wait) for name, wait in waits.items()}


def _milliseconds(check: Callable[[], object]) -> float:
    started = time.perf_counter()
    check()
    return round((time.perf_counter() - started) * 1000, 1)


def _outcome(name: str, wait: Callable[[], float]) -> dict[str, Any]:
    try:
        return {"status": "ok", "milliseconds": wait()}
    except NotReadyError as error:
        reason = str(error)
    except TimeoutError:
        reason = f"No answer within {TIMEOUT_SECONDS:g} seconds."
    except Exception as error:
        reason = f"{type(error).__name__}: see the log."
        logger.warning("check failed", extra={"check": name}, exc_info=error)
    return {"status": "failed", "error": reason}


# Checks


def _broker() -> redis.Redis:
    return redis.Redis.from_url(
        settings.CELERY_BROKER_URL,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=None,
    )


def _check_broker() -> None:
    with _broker() as broker:
        broker.ping()


def check_migrations() -> None:
    """Raise NotReadyError unless the database has all migrations of this code."""
    known = MigrationLoader(None, ignore_no_migrations=True).disk_migrations or {}
    applied = set(query("SELECT app, name FROM django_migrations"))
    missing = [
        f"{app}.{name}"
        for (app, name), migration in sorted(known.items())
        if not applied.issuperset(migration.replaces or [(app, name)])
    ]
    if missing:
        raise NotReadyError(f"Migrations are not applied: {', '.join(missing)}.")


def _check_space() -> None:
    if low := [name for name, volume in free_space.volumes().items() if volume.is_low]:
        raise NotReadyError(f"Little space is left on: {', '.join(low)}.")


CHECKS: dict[str, Callable[[], object]] = {
    "database": partial(query, "SELECT 1"),
    "broker": _check_broker,
    "migrations": check_migrations,
    "files": check_folder,
}


def _check_processes() -> None:
    if dead := missing({kind: seconds for kind, seconds, _count in query(SILENCES)}):
        raise NotReadyError(f"No heartbeat from: {', '.join(dead)}.")


def _check_replica() -> None:
    """No part of the readiness: the primary answers in its place."""
    if replica.REPLICA in settings.DATABASES and (found := replica.lag()).is_too_long:
        raise NotReadyError(f"The replica is {found.seconds:.0f} seconds behind.")


probes.update(space=_check_space, processes=_check_processes, replica=_check_replica)


# Metrics


def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with the counts of all processes and the figures of the stores, for operators' networks only."""
    if not _is_operator(request):
        return HttpResponse("Not Found\n", status=404, content_type="text/plain; charset=utf-8")
    counted = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        counted = CollectorRegistry()
        MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
    own = CollectorRegistry()
    own.register(SpaceCollector())
    own.register(StoresCollector())
    return HttpResponse(generate_latest(counted) + generate_latest(own), content_type=CONTENT_TYPE_LATEST)


def _is_operator(request: HttpRequest) -> bool:
    """Return whether the client is in an allowed network. A proxy that is not trusted hides the client's address."""
    is_forwarded = "HTTP_X_FORWARDED_FOR" in request.META or "HTTP_FORWARDED" in request.META
    if is_forwarded and not is_in_networks(request.META.get("REMOTE_ADDR") or "", settings.TRUSTED_PROXIES):
        return False
    return is_in_networks(client_address(request.META), settings.METRICS_ALLOWED_NETWORKS)


class SpaceCollector(Collector):
    """The space of the volumes of this machine."""

    def collect(self) -> Iterator[Metric]:
        volumes = free_space.volumes()
        for part, text in (("free", "Free space of the volume"), ("total", "Size of the volume")):
            sizes = {name: getattr(volume, part) for name, volume in volumes.items()}
            yield gauges(f"callcentre_volume_{part}_bytes", text, "volume", sizes)


class StoresCollector(Collector):
    """Figures that the stores give at each scrape. Those of a store that does not answer are absent."""

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("callcentre_up", "Whether the store answers", labels=["store"])
        stores: dict[str, Callable[[], list[Metric]]] = {"broker": _broker_metrics, "database": _database_metrics}
        if replica.REPLICA in settings.DATABASES:
            text = "How far the replica is behind"
            stores["replica"] = lambda: [gauge("callcentre_replica_lag_seconds", text, replica.lag().seconds)]
        for store, wait in _ask(stores).items():
            try:
                yield from wait()
                up.add_metric([store], 1)
            except Exception as error:  # noqa: BLE001  (an error of one store must not hide the other's figures)
                logger.warning("store does not answer", extra={"store": store, "error": type(error).__name__})
                up.add_metric([store], 0)
        yield up


def _broker_metrics() -> list[Metric]:
    """Read the waiting tasks, and those that workers have: unacknowledged ones, by time, as kombu keeps them."""
    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS.get("global_keyprefix", "")
    with _broker() as broker, broker.pipeline(transaction=False) as pipeline:
        waiting = waiting_tasks(broker)
        pipeline.hlen(f"{prefix}unacked").zrange(f"{prefix}unacked_index", 0, 0, withscores=True).info("memory")
        unacknowledged, earliest, memory = pipeline.execute()
    now = time.time()
    delivered_at = earliest[0][1] if earliest else now
    return [
        gauges(
            "callcentre_queue_tasks",
            "Tasks that wait in the queue",
            "queue",
            {queue: tasks.count for queue, tasks in waiting.items()},
        ),
        gauges(
            "callcentre_queue_oldest_seconds",
            "Age of the task that has waited longest; 0 for none",
            "queue",
            {queue: tasks.oldest_seconds for queue, tasks in waiting.items()},
        ),
        gauge("callcentre_unacknowledged_tasks", "Tasks that workers have and have not finished", unacknowledged),
        gauge(
            "callcentre_unacknowledged_oldest_seconds",
            "Since when the longest of them is with a worker",
            max(now - delivered_at, 0),
        ),
        gauge("callcentre_broker_memory_bytes", "Memory that the broker uses", memory["used_memory"]),
    ]


_DATABASE = """
SELECT pg_database_size(current_database()),
       count(*) FILTER (WHERE state = 'active'),
       count(*),
       LEAST(
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
         (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database()) - count(*)
       ),
       GREATEST(EXTRACT(epoch FROM now() - min(xact_start) FILTER (WHERE pid <> pg_backend_pid())), 0)::float8
FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
"""


def _oldest_due_work() -> dict[str, float]:
    """Return the model of due work -> the seconds since its oldest row is due, 0 for none.

    Deliveries, which no sweep of the rows enqueues, have a figure of their own (webhooks/monitoring.py).
    """
    models = {each._meta.label: each for each in apps.get_models() if issubclass(each, DueWork) and each.task}
    age = ExpressionWrapper(Now() - F("next_attempt_at"), DurationField())
    first, *others = (
        model._base_manager.filter(model.waits, next_attempt_at__lte=Now())
        .order_by("next_attempt_at")
        .values_list(Value(label), age)[:1]
        for label, model in models.items()
    )
    ages = query(*first.union(*others, all=True).query.sql_with_params())
    return dict.fromkeys(models, 0.0) | {label: age.total_seconds() for label, age in ages}


@one_connection()
def _database_metrics() -> list[Metric]:
    ((size, active, connections, left, oldest),) = query(_DATABASE)
    beats = query(SILENCES)
    dead = dict.fromkeys(missing({kind: seconds for kind, seconds, _count in beats}), 0)
    return [
        gauges(
            "callcentre_processes",
            "Processes of this kind, or workers of this queue, that are alive",
            "process",
            {**dead, **{kind: count for kind, _seconds, count in beats}},
        ),
        *(metric for figures in database_figures for metric in figures()),
        gauge("callcentre_database_bytes", "Size of the database", size),
        gauge("callcentre_database_connections", "Connections to the database", connections),
        gauge("callcentre_database_connections_left", "Connections that the server still allows", left),
        gauge("callcentre_database_active_connections", "Connections that run a statement", active),
        gauge("callcentre_database_oldest_transaction_seconds", "Age of the oldest open transaction", oldest),
        gauges(
            "callcentre_due_work_oldest_seconds",
            "Since when the oldest row that no worker has taken is due; 0 for none",
            "model",
            _oldest_due_work(),
        ),
    ]
