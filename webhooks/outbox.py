"""The outbox: other apps record events here, in the transaction of the change itself."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import orjson
from django.db import connection, models
from django.db.models import Func, Value

from callcentre.core.enqueue import enqueue
from callcentre.core.statements import row_of
from webhooks.event_types import EventType
from webhooks.models import Attempt, Event
from webhooks.models.event import LOCK_SPACE

# The lock is taken once a transaction. Its key holds a lower bound of the ids of its events: see Event.settled(). An
# event_id is a UUID of version 7: it begins with the time, so that new ones stand beside each other in their index.
_STATEMENT = """
WITH {changes}lock AS MATERIALIZED (
  SELECT pg_advisory_xact_lock_shared(%(lock_space)s | last_value), set_config('callcentre.recording', '1', true)
  FROM webhooks_event_id_seq WHERE COALESCE(current_setting('callcentre.recording', true), '') <> '1'
), events AS (
  INSERT INTO webhooks_event (event_id, action, subject, payload)
  SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING
           substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
         ), 52, 1), 53, 1), 'hex')::uuid, %(action)s, e.subject, e.payload
  FROM (SELECT count(*) FROM lock) AS locked, {source}
  RETURNING id
), deliveries AS (
  INSERT INTO webhooks_delivery (event_id, webhook_id, state, attempt_count, next_attempt_at)
  SELECT events.id, w.id, 'waiting', 0, now()
  FROM events, webhooks_webhook w
  WHERE w.is_active AND w.deleted_at IS NULL AND w.actions @> ARRAY[%(action)s]::varchar[]
  RETURNING webhook_id
)
SELECT (SELECT array_agg(DISTINCT webhook_id) FROM deliveries), {result}
"""
_GIVEN = "json_to_recordset(%(events)s::json) AS e(subject text, payload jsonb)"
_RECORD = _STATEMENT.format(changes="", source=_GIVEN, result="NULL")


def record(action: EventType, subject: str, payload: Mapping[str, Any]) -> None:
    """Record one event. The caller has locked the subject's row, so that its events keep their order."""
    record_many(action, [(subject, payload)])


def record_many(action: EventType, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Record events of one action, each with its subject, in one statement, and enqueue their deliveries."""
    if events or not connection.in_atomic_block:
        rows = [{"subject": subject, "payload": payload} for subject, payload in events]
        _execute(action, _RECORD, {"events": orjson.dumps(rows).decode()})


def record_from_query(
    action: EventType,
    query: str,
    parameters: Mapping[str, Any] = MappingProxyType({}),
    *,
    changes: str = "",
    result: str = "NULL",
) -> Any:
    """Record an event for each row of a query that returns subject and payload (jsonb) in the order of the events.

    The rows do not pass through Python. `changes` are WITH queries of the same statement, whose rows the query may
    read; so may the expression `result`, whose value is returned. A statement with changes needs no transaction around
    it. The feed hides later events of others until the transaction ends, so a long transaction calls this last.
    """
    source = f"({query}) AS e(subject, payload)"
    statement = _STATEMENT.format(changes=f"{changes}, " if changes else "", source=source, result=result)
    return _execute(action, statement, parameters, is_with_change=bool(changes))


def redact(subjects: Sequence[str], blanks: Mapping[str, Any]) -> None:
    """Blank personal fields of the stored events of these subjects, and the answers of receivers to these events.

    Only this deletion of a person's data changes a stored event. A waiting delivery sends the other fields.
    """
    events = Event.objects.filter(subject__in=subjects, payload__has_any_keys=list(blanks))
    Attempt.objects.filter(delivery__event__in=events).exclude(answer="").update(answer="")
    for name, blank in blanks.items():
        blanked = Func("payload", Value({name: blank}, models.JSONField()), function="jsonb_concat")
        events.filter(payload__has_key=name).update(payload=blanked)


def _execute(action: EventType, statement: str, parameters: Mapping[str, Any], *, is_with_change: bool = False) -> Any:
    if not (is_with_change or connection.in_atomic_block):
        raise RuntimeError(f"{action} is recorded outside the transaction of its change")
    webhook_ids, result = row_of(statement, {**parameters, "lock_space": LOCK_SPACE, "action": action})
    for webhook_id in webhook_ids or ():
        enqueue("webhooks.deliver", webhook_id)
    return result
