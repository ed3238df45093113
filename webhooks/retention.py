"""Delete old events and the rows of removed webhooks, in short transactions.

Deliveries are deleted before their attempts: a worker that stores an attempt locks its delivery, so no attempt can be
stored afterwards.
"""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from webhooks.models import Webhook

PIECE = 5_000


def prune(now: datetime) -> None:
    """Delete events older than the retention, with their deliveries and attempts."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM webhooks_event WHERE created_at < %s ORDER BY created_at DESC, id DESC LIMIT 1",
            [now - settings.EVENT_RETENTION],
        )
        found = cursor.fetchone()
    while found and _prune_piece(found[0]):
        pass


def _prune_piece(last: int) -> bool:
    """Delete one piece. Return whether there was one."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT max(id) FROM (SELECT id FROM webhooks_event WHERE id <= %s ORDER BY id LIMIT %s) AS piece",
            [last, PIECE],
        )
        (upto,) = cursor.fetchone()
        if upto is None:
            return False
        _delete_deliveries(cursor, "event_id <= %s", [upto])
        cursor.execute("DELETE FROM webhooks_event WHERE id <= %s", [upto])
    return True


def purge(webhook_id: int) -> None:
    """Delete what was sent to a removed webhook, then the webhook. Its history stays."""
    if not Webhook.objects.purgeable().filter(pk=webhook_id).exists():
        return
    while _purge_piece(webhook_id):
        pass
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM webhooks_resend WHERE webhook_id = %s", [webhook_id])
        cursor.execute("DELETE FROM webhooks_webhook WHERE id = %s", [webhook_id])


def _purge_piece(webhook_id: int) -> bool:
    with transaction.atomic(), connection.cursor() as cursor:
        piece = "id IN (SELECT id FROM webhooks_delivery WHERE webhook_id = %s ORDER BY id DESC LIMIT %s)"
        return _delete_deliveries(cursor, piece, [webhook_id, PIECE]) > 0


def _delete_deliveries(cursor: Any, condition: str, parameters: list[Any]) -> int:
    cursor.execute(f"DELETE FROM webhooks_delivery WHERE {condition} RETURNING id", parameters)  # noqa: S608  (ours)
    ids = [row[0] for row in cursor.fetchall()]
    if ids:
        cursor.execute("DELETE FROM webhooks_attempt WHERE delivery_id = ANY(%s)", [ids])
    return len(ids)
