"""The delivery of due events to one webhook: claim a batch, send it, store the results."""

import random
import statistics
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from celery.worker import state
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models.functions import Now

from callcentre.core.actor import SYSTEM
from callcentre.core.due_work import LEASE
from callcentre.core.statements import rows_of
from webhooks.models import Delivery
from webhooks.models.event import message
from webhooks.models.webhook import Webhook
from webhooks.signing import sign
from webhooks.slots import Receiver, Slots
from webhooks.transport.sender import Outcome, Sender, encode
from webhooks.transport.targets import TargetError, parse_target
from webhooks.verbs.webhooks import disable_if_given_up

BATCH = 200
# After this long a batch ends, so that its results are stored. Unsent deliveries are released.
BATCH_SECONDS = 5.0
# After this long a webhook with more to send goes to the end of the queue.
TURN_SECONDS = 2.0
# Failures of the receiver in a row after which it is paused for a while.
FAILURES_TO_OPEN = 5
LONGEST_PAUSE_SECONDS = 300
GONE = 410
# The answers of 4xx that concern the receiver. Any other is the answer to one event.
OVERLOADED = (408, 429)
# With these answers `Retry-After` holds for all requests; with others, for the event of the request.
TOO_MUCH = (429, 503)

# Untried events go first, so that a screen-pop does not wait behind the retries of yesterday. Both kinds have an
# index; retries are read only if untried events do not fill the batch. The limits are constants: with computed ones the
# planner expects so many rows that it reads all events. A claim does not wait for the disk: if PostgreSQL crashes and
# loses it, the deliveries have no results either and are sent again.
_CLAIM = """
WITH untried AS MATERIALIZED (
  SELECT id, is_retry, next_attempt_at FROM webhooks_delivery
  WHERE webhook_id = %(webhook)s AND state = 'waiting' AND NOT is_retry AND next_attempt_at <= now()
  ORDER BY next_attempt_at, id LIMIT %(size)s FOR UPDATE SKIP LOCKED
), retries AS MATERIALIZED (
  SELECT id, is_retry, next_attempt_at FROM webhooks_delivery
  WHERE webhook_id = %(webhook)s AND state = 'waiting' AND is_retry AND next_attempt_at <= now()
    AND (SELECT count(*) FROM untried) < %(size)s
  ORDER BY next_attempt_at, id LIMIT %(size)s FOR UPDATE SKIP LOCKED
), without_waiting AS MATERIALIZED (
  SELECT set_config('synchronous_commit', 'off', true)
), due AS MATERIALIZED (
  SELECT id FROM (SELECT * FROM untried UNION ALL SELECT * FROM retries) AS both_queues
  ORDER BY is_retry, next_attempt_at, id LIMIT %(size)s
), claimed AS (
  UPDATE webhooks_delivery d
  SET next_attempt_at = now() + %(lease)s
  FROM due WHERE d.id = due.id
  RETURNING d.id, d.event_id, d.is_retry, d.attempt_count, d.next_attempt_at
)
SELECT c.id, c.attempt_count + 1, c.next_attempt_at, e.event_id, e.id, e.action, e.payload::text, e.created_at
FROM claimed c JOIN webhooks_event e ON e.id = c.event_id, without_waiting ORDER BY c.is_retry, e.id
"""
# Pruned deliveries get no attempts. A success counts even if another worker has claimed the delivery since; a failure
# counts only for the worker that still holds it. An attempt counts when its result is known, so a worker that dies
# during a batch uses up no attempt. The receiver's health is stored in the same statement.
_STORE = """
WITH given AS MATERIALIZED (
  SELECT g.*, d.next_attempt_at AS held_until, d.state AS current_state
  FROM json_to_recordset(%(results)s::json)
    AS g(id bigint, claimed_until timestamptz, state text, next_attempt_at timestamptz, finished_at timestamptz,
         started_at timestamptz, milliseconds int, status smallint, error text, answer text)
  JOIN webhooks_delivery d ON d.id = g.id ORDER BY d.id FOR NO KEY UPDATE OF d
), attempts AS (
  INSERT INTO webhooks_attempt (delivery_id, webhook_id, started_at, milliseconds, status, error, answer)
  SELECT id, %(webhook)s, started_at, milliseconds, status, error, answer FROM given
), stored AS (
  UPDATE webhooks_delivery d
  SET state = g.state, next_attempt_at = g.next_attempt_at, finished_at = g.finished_at, is_retry = true,
      attempt_count = d.attempt_count + 1
  FROM given g
  WHERE d.id = g.id AND g.current_state = 'waiting'
  AND (g.state = 'succeeded' OR g.claimed_until = g.held_until)
  RETURNING d.id
)
UPDATE webhooks_webhook SET
  last_success_at = CASE WHEN %(has_succeeded)s THEN now() ELSE last_success_at END,
  failing_since = CASE WHEN %(is_last_success)s THEN NULL WHEN %(has_succeeded)s THEN now()
                  ELSE COALESCE(failing_since, now()) END,
  failures_in_a_row = %(failures)s,
  open_until = now() + NULLIF(%(pause)s::float, 0) * interval '1 second'
FROM (SELECT count(*) FROM stored) AS after_deliveries
WHERE id = %(webhook)s
"""

sender = Sender()
slots = Slots()


class Claimed(NamedTuple):
    id: int
    # Including this attempt.
    attempt_count: int
    claimed_until: datetime
    event_id: UUID
    sequence: int
    action: str
    fields: str
    created_at: datetime

    @property
    def payload(self) -> dict[str, Any]:
        return message(self.action, self.created_at, orjson.loads(self.fields), self.event_id, self.sequence)


@dataclass(frozen=True, slots=True)
class Result:
    delivery: Claimed
    started_at: datetime
    outcome: Outcome

    @property
    def is_success(self) -> bool:
        return self.outcome.status is not None and 200 <= self.outcome.status < 300

    @property
    def is_last(self) -> bool:
        return self.outcome.status == GONE or self.delivery.attempt_count > len(Delivery.delays)

    @property
    def is_outage(self) -> bool:
        """Whether the receiver failed: it gave no answer, or one that does not concern this event."""
        status = self.outcome.status
        return not self.is_success and (status is None or not 400 <= status < 500 or status in OVERLOADED)

    @property
    def ends_batch(self) -> bool:
        """Whether after this failure nothing more is sent to the receiver for now."""
        return self.outcome.status is None or self.outcome.status == GONE or self.outcome.status in TOO_MUCH

    @property
    def row(self) -> dict[str, Any]:
        now = datetime.now(UTC)
        is_over = self.is_success or self.is_last
        state = "succeeded" if self.is_success else "failed" if self.is_last else "waiting"
        return {
            "id": self.delivery.id,
            "claimed_until": self.delivery.claimed_until,
            "state": state,
            "next_attempt_at": None if is_over else now + self._delay,
            "finished_at": now if is_over else None,
            "started_at": self.started_at,
            "milliseconds": round(self.outcome.seconds * 1000),
            "status": self.outcome.status,
            "error": self.outcome.error[:200],
            "answer": self.outcome.answer.decode(errors="replace").replace("\0", "\ufffd"),
        }

    @property
    def _delay(self) -> timedelta:
        planned = Delivery.delays[self.delivery.attempt_count - 1] * random.uniform(1, 1.1)  # noqa: S311  (jitter)
        return max(planned, timedelta(seconds=self.outcome.retry_after or 0))


def deliver(webhook_id: int) -> list[int]:
    """Send what is due to this webhook, for one turn. Return the webhooks whose turn is next."""
    following = [webhook_id] if _deliver(webhook_id) else []
    waiting = slots.pop_next()
    return following if waiting is None or waiting in following else [waiting, *following]


def _deliver(webhook_id: int) -> bool:
    """Send for one turn. Return whether more deliveries may be due."""
    webhook = _sendable(webhook_id)
    if webhook is None:
        return False
    receiver = Receiver(webhook_id, _origin(webhook), webhook.is_suspect)
    with slots.acquire(receiver) as has_slot:
        if not has_slot:
            return False
        may_be_more = _take_turn(webhook, receiver.origin)
    # A slow receiver waits for the next sweep, so that it does not keep its slot for ever.
    return may_be_more and not slots.is_slow(receiver.origin)


def _origin(webhook: Webhook) -> str:
    try:
        return parse_target(webhook.subscription_url).origin
    except TargetError:  # Nothing is sent to such an address.
        return webhook.subscription_url


def _take_turn(webhook: Webhook, origin: str) -> bool:
    """Send batches until the turn ends. Return whether more deliveries may be due."""
    current: Webhook | None = webhook
    ends_at = time.monotonic() + TURN_SECONDS
    while time.monotonic() < ends_at and not _is_stopping():
        # The webhook is read again for each batch: it may have been disabled, removed, or got another secret.
        if current is None:
            return False
        if not _deliver_batch(current, origin) and not slots.pop_waiting(webhook.pk):
            return False
        if slots.is_slow(origin):
            return True
        current = _sendable(webhook.pk)
    return True


def _sendable(webhook_id: int) -> Webhook | None:
    webhook = Webhook.objects.active().filter(pk=webhook_id).first()
    return None if webhook is None or webhook.is_paused else webhook


def _is_stopping() -> bool:
    """Return whether this worker was asked to stop. It then releases unsent deliveries before their lease ends."""
    return state.should_stop is not None or state.should_terminate is not None


def _deliver_batch(webhook: Webhook, origin: str) -> bool:
    """Send a batch. Return whether more deliveries may be due; those recorded later enqueue a task of their own."""
    batch = _claim(webhook)
    results: list[Result] = []
    left = list(batch)
    ends_at = time.monotonic() + BATCH_SECONDS
    failures = webhook.failures_in_a_row
    try:
        while left and time.monotonic() < ends_at and not _is_stopping():
            result = _send(webhook, left.pop(0))
            results.append(result)
            failures = failures + 1 if result.is_outage else 0
            if result.ends_batch or failures >= FAILURES_TO_OPEN:
                break
    finally:
        # If sending raises, the results of the deliveries before must still be stored, or they would be sent twice.
        if batch:
            _store_surely(webhook, results, left, failures)
    if results:
        slots.measure(origin, statistics.fmean(result.outcome.seconds for result in results))
    return bool(left) or len(batch) == _batch_size(webhook)


def _batch_size(webhook: Webhook) -> int:
    """Return the size of a batch: one for a failing receiver."""
    return 1 if webhook.failures_in_a_row else BATCH


def _claim(webhook: Webhook) -> list[Claimed]:
    if not webhook.failures_in_a_row:
        return _claim_batch(webhook)
    with transaction.atomic():
        # If several threads find the pause of a failing receiver over, only one may try.
        over = Webhook.objects.unpaused().filter(pk=webhook.pk)
        if not over.update(open_until=Now() + timedelta(seconds=settings.WEBHOOK_TIMEOUT_SECONDS + 5)):
            return []
        claimed = _claim_batch(webhook)
        # Without a delivery to try, the pause must not be extended.
        transaction.set_rollback(not claimed)
    return claimed


def _claim_batch(webhook: Webhook) -> list[Claimed]:
    given = {"webhook": webhook.pk, "size": _batch_size(webhook), "lease": LEASE}
    return [Claimed._make(row) for row in rows_of(_CLAIM, given)]


def _send(webhook: Webhook, delivery: Claimed) -> Result:
    content_type, body = encode(delivery.payload, webhook.format)
    now = datetime.now(UTC)
    timestamp = int(now.timestamp())
    message_id = str(delivery.event_id)
    headers = {
        "Content-Type": content_type,
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(webhook.signing_secrets, message_id, timestamp, body),
    }
    auth = (webhook.http_auth_user, webhook.http_auth_password) if webhook.http_auth_user else None
    return Result(delivery, now, sender.send(webhook.subscription_url, headers, body, auth))


def _store_surely(webhook: Webhook, results: Sequence[Result], left: Sequence[Claimed], failures: int) -> None:
    """Store the results; wait for a restarting database as long as the lease lasts.

    Without stored results the deliveries would be sent twice.
    """
    ends_at = time.monotonic() + LEASE.total_seconds() / 2
    while True:
        try:
            return _store(webhook, results, left, failures)
        except (OperationalError, InterfaceError):
            connection.close()
            if time.monotonic() > ends_at or connection.in_atomic_block:
                raise
            time.sleep(0.5)


def _store(webhook: Webhook, results: Sequence[Result], left: Sequence[Claimed], failures: int) -> None:
    """Store attempts, deliveries and the receiver's health, and release unsent deliveries, in one transaction."""
    is_one_statement = bool(results) and results[-1].is_success and not left
    with nullcontext() if is_one_statement else transaction.atomic(), connection.cursor() as cursor:
        if left:
            # The end of the lease shows whether this worker still holds the deliveries. All of a batch have the same.
            held = Delivery.objects.waiting().filter(next_attempt_at=left[0].claimed_until)
            held.filter(pk__in=[delivery.id for delivery in left]).update(next_attempt_at=Now())
        if not results:
            return
        last = results[-1]
        values: dict[str, Any] = {
            "results": orjson.dumps([result.row for result in results]).decode(),
            "webhook": webhook.pk,
            "has_succeeded": any(result.is_success for result in results),
            "is_last_success": last.is_success,
            "failures": failures,
            "pause": _pause(last, failures),
        }
        cursor.execute(_STORE, values)
        if not last.is_success:
            disable_if_given_up(webhook, SYSTEM, is_gone=last.outcome.status == GONE)


def _pause(last: Result, failures: int) -> float:
    """Return the length of the receiver's pause: at once without an answer, else after a few failures."""
    if not failures:
        return 0.0
    asked = (last.outcome.retry_after or 0.0) if last.outcome.status in TOO_MUCH else 0.0
    if last.outcome.status is not None and failures < FAILURES_TO_OPEN:
        return asked
    beyond = failures - (FAILURES_TO_OPEN if last.outcome.status is not None else 1)
    return max(asked, float(min(5 * 2 ** min(beyond, 10), LONGEST_PAUSE_SECONDS)))
