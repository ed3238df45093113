import logging

from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)


def wake(task: str, pk: int | str) -> None:
    """Send the task its row's primary key once the surrounding transaction has committed.

    A broker that is down costs a warning, not the caller's request: the row says what is due, and the task's sweep
    finds it.
    """
    transaction.on_commit(lambda: _send(task, pk), robust=True)


def _send(task: str, pk: int | str) -> None:
    try:
        current_app.send_task(task, args=[pk])
    except Exception as error:  # noqa: BLE001  (whatever kombu or the transport raises: the row is saved, the sweep will find it)
        logger.warning("task not published, left to its sweep", extra={"task": task, "error": repr(error)})
