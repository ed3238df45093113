"""Forgetting old events and what removed webhooks leave, in small transactions that hold nobody up."""

from datetime import datetime

from django.conf import settings
from django.db import connection

PIECE = 5_000


def prune(now: datetime) -> None:
    """Events older than the retention, their deliveries and attempts."""
    before = now - settings.EVENT_RETENTION
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(id) FROM webhooks_event WHERE created_at < %s", [before])
        last = cursor.fetchone()[0]
        if last is None:
            return
        while True:
            cursor.execute(
                "SELECT max(id) FROM (SELECT id FROM webhooks_event WHERE id <= %s ORDER BY id LIMIT %s) AS piece",
                [last, PIECE],
            )
            upto = cursor.fetchone()[0]
            if upto is None:
                return
            cursor.execute(
                "DELETE FROM webhooks_attempt a USING webhooks_delivery d"
                " WHERE a.delivery_id = d.id AND d.event_id <= %s",
                [upto],
            )
            cursor.execute("DELETE FROM webhooks_delivery WHERE event_id <= %s", [upto])
            cursor.execute("DELETE FROM webhooks_event WHERE id <= %s", [upto])


def purge(webhook_id: int) -> None:
    """Attempts and deliveries of a removed webhook, then the webhook."""
    with connection.cursor() as cursor:
        for table in ("webhooks_attempt", "webhooks_delivery"):
            rows = PIECE
            while rows == PIECE:
                cursor.execute(
                    f"DELETE FROM {table} WHERE id IN"  # noqa: S608  (names of ours)
                    f" (SELECT id FROM {table} WHERE webhook_id = %s ORDER BY id LIMIT %s)",
                    [webhook_id, PIECE],
                )
                rows = cursor.rowcount
        cursor.execute("DELETE FROM webhooks_resend WHERE webhook_id = %s", [webhook_id])
        cursor.execute("DELETE FROM webhooks_webhookchange WHERE webhook_id = %s", [webhook_id])
        cursor.execute("DELETE FROM webhooks_webhook WHERE id = %s AND deleted_at IS NOT NULL", [webhook_id])
