"""The Celery app. Tasks carry the id of the request that enqueued them, and log it."""

import os
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import structlog
from celery import Celery
from celery.apps import worker
from celery.signals import (
    before_task_publish,
    import_modules,
    setup_logging,
    task_failure,
    task_postrun,
    task_prerun,
    worker_before_create_process,
    worker_init,
    worker_ready,
)
from django.db import Error, close_old_connections, connection, connections

from callcentre.core.heartbeats import INTERVAL_SECONDS, Pulse
from callcentre.core.request_id import current_request_id
from callcentre.environment import read_settings
from callcentre.monitoring import metrics
from callcentre.monitoring.logging import line_of

read_settings()
# Celery writes text when it gets a signal, in whose handler no logger may be used.
_worker: Any = worker
_worker.safe_say = lambda text, *_: os.write(sys.stderr.fileno(), line_of(text).encode())
# Celery would run Django's checks in each worker, and ignore their result. That costs a tenth of a second and 10 MB.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("callcentre")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@before_task_publish.connect
def add_headers(headers: dict[str, Any], **kwargs: Any) -> None:
    headers["published_at"] = time.time()
    headers["request_id"] = current_request_id()


@worker_init.connect
def keep_connections(**kwargs: Any) -> None:
    """Keep a thread's or child's database connection from task to task, and check it before each task.

    Celery closes it after each task (settings.CELERY_DB_REUSE_MAX). A new connection costs ten times a small task, so
    only `make run` does likewise, by DATABASE_CONN_MAX_AGE=0.
    """
    connections.close_all()
    for parameters in connections.settings.values():
        parameters["CONN_HEALTH_CHECKS"] = True


@worker_ready.connect
def show_life(sender: Any, **kwargs: Any) -> None:
    """Renew the heartbeats of this worker's queues as long as its main process lives. Look at the folder of files."""
    from callcentre.core.file_store import mark_folder  # noqa: PLC0415  (Django is set up only now)

    mark_folder()
    pulse = Pulse(*sender.app.amqp.queues.consume_from)
    threading.Thread(target=_beat, args=[pulse], name="heartbeat", daemon=True).start()


def _beat(pulse: Pulse) -> None:
    while True:
        # While the database is away, its own alert tells more.
        with suppress(Error), connection.cursor() as cursor:
            pulse.beat(cursor.execute)
        connection.close()
        time.sleep(INTERVAL_SECONDS)


@worker_before_create_process.connect
def load_dictionary(**kwargs: Any) -> None:
    """Load the Polish dictionary once for all processes of a pool. Each of them would take 40 MB for its own."""
    from knowledgebase.polish import load  # noqa: PLC0415  (Django is set up only now)

    load()


@task_prerun.connect
def bind_context(task: Any, task_id: str, **kwargs: Any) -> None:
    close_old_connections()
    request_id = getattr(task.request, "request_id", "") or ""
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id, task=task.name, task_id=task_id)
    metrics.observe_task_start(task)


@task_postrun.connect
def clear_context(task: Any, state: str | None = None, **kwargs: Any) -> None:
    metrics.observe_task_end(task, state or "UNKNOWN")
    close_old_connections()
    structlog.contextvars.clear_contextvars()


@task_failure.connect
def count_loss(sender: Any, exception: BaseException | None = None, **kwargs: Any) -> None:
    metrics.observe_task_loss(sender, exception)


@import_modules.connect
def refuse_unsafe_settings(**kwargs: Any) -> None:
    """Refuse unsafe settings: the signal is sent once by a worker and by beat, before they do anything."""
    from callcentre.checks import refuse_unsafe_settings as refuse  # noqa: PLC0415  (Django is set up only now)

    refuse()


@setup_logging.connect
def keep_our_logging(**kwargs: Any) -> None:
    """Receive the signal, so that Celery leaves the logging of the settings unchanged."""
