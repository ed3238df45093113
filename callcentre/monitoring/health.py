"""Probes and metrics for operators: /health/live, /health/ready, /health/mail, /metrics.

Nothing here waits longer than TIMEOUT_SECONDS, whatever the stores do: each question to a store is asked in a thread,
on a connection of its own, and answered for without it when the time is up.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import orjson
import psycopg
import redis
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from callcentre.core.network import client_address, is_in_networks
from telephony.leader_election import CONNECTED, HOLDERS, LEADER
from telephony.models import AgentState

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 2.0
# A mail that has waited longer is one that somebody should know of.
MAIL_LATE_SECONDS = 900
# A store that hangs may hold some of these threads until the system gives up; then probes fail without asking.
_threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="health")


class NotReadyError(Exception):
    """Something is wrong that operators may be told in these words."""


def live(request: HttpRequest) -> HttpResponse:
    """This process answers; the stores are not asked."""
    return JsonResponse({"status": "ok"})


def ready(request: HttpRequest) -> HttpResponse:
    """Database, broker and migrations allow work: 200; else 503. One entry a check."""
    checks = {name: _outcome(name, wait) for name, wait in _ask(CHECKS).items()}
    is_ready = all(check["status"] == "ok" for check in checks.values())
    body = {"status": "ok" if is_ready else "failed", "checks": checks}
    return JsonResponse(body, status=200 if is_ready else 503, headers={"Cache-Control": "no-store"})


def mail(request: HttpRequest) -> HttpResponse:
    """Nothing that is to be sent has waited for long, and every mailbox is read: 200; else 503.

    Nobody is to be restarted because of it.
    """
    (outcome,) = [_outcome(name, wait) for name, wait in _ask({"mail": _check_mail}).items()]
    status = 200 if outcome["status"] == "ok" else 503
    return JsonResponse(outcome, status=status, headers={"Cache-Control": "no-store"})


def _ask(questions: dict[str, Callable[[], Any]]) -> dict[str, Callable[[], Any]]:
    """Ask all at once; each value waits for its answer, until the time is up for all of them."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    futures = {name: _threads.submit(question) for name, question in questions.items()}

    def wait(future: Future[Any]) -> Any:
        return future.result(timeout=max(deadline - time.monotonic(), 0))

    return {name: lambda future=future: wait(future) for name, future in futures.items()}  # type: ignore[misc]


def _outcome(name: str, wait: Callable[[], Any]) -> dict[str, Any]:
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


# Stores


def _query(sql: str) -> list[tuple[Any, ...]]:
    """On a connection of its own: the one of the request may be the one that hangs."""
    limits: dict[str, Any] = {"connect_timeout": 2, "tcp_user_timeout": 2000, "application_name": "callcentre health"}
    with psycopg.connect(**{**connection.get_connection_params(), **limits}) as own, own.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 2000")
        cursor.execute(sql.encode())
        return list(cursor.fetchall())


def _broker() -> redis.Redis:
    return redis.Redis.from_url(
        settings.CELERY_BROKER_URL,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=None,
    )


def _timed(check: Callable[[], Any]) -> float:
    started = time.perf_counter()
    check()
    return round((time.perf_counter() - started) * 1000, 1)


def _check_database() -> float:
    return _timed(lambda: _query("SELECT 1"))


def _check_broker() -> float:
    with _broker() as broker:
        return _timed(broker.ping)


# Messages on their way out, by the way that they take, in the terms of tickets.Dispatch. Where one was taken for some
# of its recipients, mail leaves, whoever else is waited for.
_MAIL_FACTS = """
SELECT CASE WHEN source = 'email' THEN 'mail' ELSE 'marketplace' END,
       count(*) FILTER (WHERE state = 'queued'),
       GREATEST(EXTRACT(epoch FROM now() - min(queued_at) FILTER (WHERE state = 'queued' AND accepted = '{}')), 0)
         ::float8,
       count(*) FILTER (WHERE state = 'failed')
FROM tickets_dispatch WHERE state IN ('queued', 'failed') GROUP BY 1
"""


# Mailboxes that are read: their queue, and for how long they were not, in the terms of tickets.TicketQueue.
_MAILBOX_FACTS = """
SELECT id, GREATEST(EXTRACT(epoch FROM now() - COALESCE(read_at, created_at)), 0)::float8
FROM tickets_ticketqueue WHERE is_active AND imap_host <> ''
"""
_RECEIVED_FACTS = """
SELECT count(*) FILTER (WHERE outcome = 'quarantined'), count(*) FILTER (WHERE outcome = 'received')
FROM tickets_receivedmail WHERE outcome IN ('received', 'quarantined')
"""


def _check_mail() -> float:
    started = time.perf_counter()
    oldest = max((age for _way, _waiting, age, _failed in _query(_MAIL_FACTS)), default=0.0)
    if oldest > MAIL_LATE_SECONDS:
        raise NotReadyError(f"A message has waited for {oldest / 60:.0f} minutes to be sent.")
    # Anybody may ask; which mailbox it is stands in /metrics and in the admin.
    unread = max((age for _queue, age in _query(_MAILBOX_FACTS)), default=0.0)
    if unread > MAIL_LATE_SECONDS:
        raise NotReadyError(f"A mailbox was not read for {unread / 60:.0f} minutes.")
    return round((time.perf_counter() - started) * 1000, 1)


class _Migrations:
    """Whether the database has all migrations of this code. Once it has, it is not asked again."""

    are_applied = False

    def check(self) -> float:
        return 0.0 if self.are_applied else _timed(self._compare)

    def _compare(self) -> None:
        known = MigrationLoader(None, ignore_no_migrations=True).disk_migrations or {}
        applied = set(_query("SELECT app, name FROM django_migrations"))
        missing = [
            f"{app}.{name}"
            for (app, name), migration in sorted(known.items())
            if (app, name) not in applied and not (migration.replaces and applied.issuperset(migration.replaces))
        ]
        if missing:
            raise NotReadyError(f"Migrations are not applied: {', '.join(missing)}.")
        self.are_applied = True


migrations = _Migrations()
CHECKS: dict[str, Callable[[], Any]] = {
    "database": _check_database,
    "broker": _check_broker,
    "migrations": migrations.check,
}


# Metrics


def metrics(request: HttpRequest) -> HttpResponse:
    """What all processes counted, and what the stores say, in Prometheus' text form. For operators' networks only."""
    if not _is_operator(request):
        return HttpResponse("Not Found\n", status=404, content_type="text/plain; charset=utf-8")
    counted = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        counted = CollectorRegistry()
        MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
    stores = CollectorRegistry()
    stores.register(StoresCollector())
    return HttpResponse(generate_latest(counted) + generate_latest(stores), content_type=CONTENT_TYPE_LATEST)


def _is_operator(request: HttpRequest) -> bool:
    """The client is in an allowed network. Behind a proxy that is not trusted nobody knows where a client is."""
    is_forwarded = "HTTP_X_FORWARDED_FOR" in request.META or "HTTP_FORWARDED" in request.META
    if is_forwarded and not is_in_networks(request.META.get("REMOTE_ADDR") or "", settings.TRUSTED_PROXIES):
        return False
    return is_in_networks(client_address(request.META), settings.METRICS_ALLOWED_NETWORKS)


class StoresCollector(Collector):
    """Asks the stores when it is scraped. What does not answer is down, and its numbers are absent."""

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("callcentre_up", "Whether the store answers", labels=["store"])
        for store, wait in _ask({"broker": _broker_metrics, "database": _database_metrics}).items():
            try:
                yield from wait()
                up.add_metric([store], 1)
            except Exception as error:  # noqa: BLE001  (whatever it is, the other numbers are worth having)
                logger.warning("store does not answer", extra={"store": store, "error": type(error).__name__})
                up.add_metric([store], 0)
        yield up


def _broker_metrics() -> Iterable[Metric]:
    """Queues as kombu keeps them: a list a queue, new messages on the left; unacknowledged ones by time of delivery."""
    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS.get("global_keyprefix", "")
    queues = settings.CELERY_TASK_QUEUE_NAMES
    with _broker() as broker, broker.pipeline(transaction=False) as pipeline:
        for queue in queues:
            pipeline.llen(f"{prefix}{queue}").lindex(f"{prefix}{queue}", -1)
        pipeline.hlen(f"{prefix}unacked").zrange(f"{prefix}unacked_index", 0, 0, withscores=True).info("memory")
        *answers, unacknowledged, earliest, memory = pipeline.execute()
    now = time.time()
    waiting = GaugeMetricFamily("callcentre_queue_tasks", "Tasks that wait in the queue", labels=["queue"])
    age = GaugeMetricFamily(
        "callcentre_queue_oldest_seconds", "Age of the task that has waited longest; 0 for none", labels=["queue"]
    )
    for queue, length, oldest in zip(queues, answers[::2], answers[1::2], strict=True):
        waiting.add_metric([queue], length)
        age.add_metric([queue], _age(oldest, now))
    delivered_at = earliest[0][1] if earliest else now
    return [
        waiting,
        age,
        _gauge("callcentre_unacknowledged_tasks", "Tasks that workers have and have not finished", unacknowledged),
        _gauge(
            "callcentre_unacknowledged_oldest_seconds",
            "Since when the longest of them is with a worker",
            max(now - delivered_at, 0),
        ),
        _gauge("callcentre_broker_memory_bytes", "Memory that the broker uses", memory["used_memory"]),
    ]


def _age(message: bytes | None, now: float) -> float:
    if message is None:
        return 0.0
    try:
        return max(now - float(orjson.loads(message)["headers"]["published_at"]), 0)
    except (ValueError, KeyError, TypeError):  # not published by us
        return 0.0


_DATABASE_FACTS = """
SELECT pg_database_size(current_database()),
       count(*) FILTER (WHERE state = 'active'),
       count(*),
       GREATEST(EXTRACT(epoch FROM now() - min(xact_start) FILTER (WHERE pid <> pg_backend_pid())), 0)::float8
FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
"""
_CALL_FACTS = """
SELECT state, count(*), GREATEST(EXTRACT(epoch FROM now() - min(created_at) FILTER (
  -- A call that waits for its agent's phone is not late.
  WHERE state <> 'queued' OR NOT EXISTS (
    SELECT FROM telephony_leg l WHERE l.agent_id = telephony_connection.agent_id AND l.ended_at IS NULL
  )
)), 0)::float8
FROM telephony_connection WHERE state <> 'ended' GROUP BY state
"""
_WAITING_FACTS = """
SELECT q.name, count(c.id), GREATEST(EXTRACT(epoch FROM now() - min(c.waiting_since)), 0)::float8
FROM telephony_queue q LEFT JOIN telephony_connection c ON c.queue_id = q.id AND c.state = 'waiting'
WHERE q.is_active OR c.id IS NOT NULL GROUP BY q.id
"""
_AGENT_FACTS = "SELECT kind, count(*) FROM telephony_agentstate WHERE ended_at IS NULL GROUP BY kind"


def _call_metrics() -> Iterable[Metric]:
    held = dict(_query(HOLDERS))
    calls = {state: (count, age) for state, count, age in _query(_CALL_FACTS)}
    going_on = GaugeMetricFamily("callcentre_open_calls", "Calls that are not over", labels=["state"])
    for state in ("queued", "originating", "dialling", "waiting", "talking"):
        going_on.add_metric([state], calls.get(state, (0, 0))[0])
    waiting = GaugeMetricFamily("callcentre_waiting_callers", "Callers who wait in the queue", labels=["queue"])
    longest = GaugeMetricFamily(
        "callcentre_longest_wait_seconds", "Since when the first of them waits; 0 for none", labels=["queue"]
    )
    for queue, count, seconds in _query(_WAITING_FACTS):
        waiting.add_metric([queue], count)
        longest.add_metric([queue], seconds)
    agents = GaugeMetricFamily("callcentre_agents", "Agents who are logged in or paused", labels=["state"])
    doing = dict(_query(_AGENT_FACTS))
    for state in AgentState.Kind.values:
        agents.add_metric([state], doing.get(state, 0))
    return [
        _gauge("callcentre_listener_up", "Whether a process listens to the switch", LEADER in held),
        _gauge("callcentre_switch_heard", "Whether it is connected to the PBX", CONNECTED in held),
        *(
            [_gauge("callcentre_listener_silent_seconds", "Since when it has not looked round", max(held[LEADER], 0))]
            if LEADER in held
            else []
        ),
        going_on,
        waiting,
        longest,
        agents,
        _gauge(
            "callcentre_queued_call_oldest_seconds",
            "Age of the call that has waited longest to be placed; 0 for none",
            calls.get("queued", (0, 0.0))[1],
        ),
    ]


def _mail_metrics() -> Iterable[Metric]:
    facts = {way: rest for way, *rest in _query(_MAIL_FACTS)}
    waiting = GaugeMetricFamily("callcentre_messages_waiting", "Messages that are to be sent", labels=["way"])
    oldest = GaugeMetricFamily(
        "callcentre_message_oldest_seconds", "Age of the one that has waited longest; 0 for none", labels=["way"]
    )
    failed = GaugeMetricFamily("callcentre_messages_failed", "Messages that a person has to look at", labels=["way"])
    for way in ("mail", "marketplace"):
        for family, value in zip((waiting, oldest, failed), facts.get(way, (0, 0.0, 0)), strict=True):
            family.add_metric([way], value)
    unread = GaugeMetricFamily(
        "callcentre_mailbox_unread_seconds", "Since when the queue's mailbox was not read", labels=["queue"]
    )
    for queue, age in _query(_MAILBOX_FACTS):
        unread.add_metric([str(queue)], age)
    ((quarantined, undecided),) = _query(_RECEIVED_FACTS)
    return [
        *(waiting, oldest, failed, unread),
        _gauge("callcentre_mails_quarantined", "Received mails that a person has to look at", quarantined),
        _gauge("callcentre_mails_undecided", "Received mails that are still to become messages", undecided),
    ]


def _database_metrics() -> Iterable[Metric]:
    size, active, connections, oldest = _query(_DATABASE_FACTS)[0]
    return [
        *_call_metrics(),
        *_mail_metrics(),
        _gauge("callcentre_database_bytes", "Size of the database", size),
        _gauge("callcentre_database_connections", "Connections to the database", connections),
        _gauge("callcentre_database_active_connections", "Connections that run a statement", active),
        _gauge("callcentre_database_oldest_transaction_seconds", "Age of the oldest open transaction", oldest),
    ]


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)
