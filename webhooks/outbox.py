"""The app's one door for others: record what happened, in the transaction of the change itself."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import orjson
from django.db import connection, transaction

from callcentre.wake import wake
from webhooks.event_types import EventType
from webhooks.models.event import LOCK_SPACE

# The lock (once a transaction) names an id that the transaction's events will not be below: see Event.settled().
_RECORD = """
WITH lock AS MATERIALIZED (
  SELECT pg_advisory_xact_lock_shared(%s | last_value), set_config('callcentre.recording', '1', true)
  FROM webhooks_event_id_seq WHERE COALESCE(current_setting('callcentre.recording', true), '') <> '1'
), events AS (
  INSERT INTO webhooks_event (event_id, action, subject, payload)
  SELECT e.event_id, %s, e.subject, e.payload
  FROM (SELECT count(*) FROM lock) AS locked,
       json_to_recordset(%s::json) AS e(event_id uuid, subject text, payload jsonb)
  RETURNING id
), deliveries AS (
  INSERT INTO webhooks_delivery (event_id, webhook_id, state, attempt_count, next_attempt_at)
  SELECT events.id, w.id, 'waiting', 0, now()
  FROM events, webhooks_webhook w WHERE w.is_active AND w.deleted_at IS NULL AND w.actions @> ARRAY[%s]::varchar[]
  RETURNING webhook_id
)
SELECT DISTINCT webhook_id FROM deliveries
"""


def record(action: EventType, subject: str, payload: Mapping[str, Any]) -> None:
    """Record one event. The caller's transaction has locked the subject's row, so that its events keep their order."""
    record_many(action, [(subject, payload)])


def record_many(action: EventType, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Record events of one kind, each with its subject, in one statement; wake the workers of those who want them."""
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(f"{action} is recorded outside the transaction of its change")
    if not events:
        return
    rows = [{"event_id": str(uuid4()), "subject": subject, "payload": payload} for subject, payload in events]
    with connection.cursor() as cursor:
        cursor.execute(_RECORD, [LOCK_SPACE, action, orjson.dumps(rows).decode(), action])
        for (webhook_id,) in cursor.fetchall():
            wake("webhooks.deliver", webhook_id)
