"""Send deliveries again: chosen ones at once, or all failed ones of a webhook in the background."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.changes import actor_columns, change_columns
from callcentre.core.enqueue import enqueue
from webhooks.models import Delivery, Resend, Webhook, WebhookChange
from webhooks.models.delivery import DeliveryQuerySet
from webhooks.verbs.webhooks import end_pause

# Deliveries in one transaction. It is short, so that workers which send to the webhook hardly wait.
PIECE = 1_000
# Without a sign of life for this long, the message or the worker was lost.
LEASE = timedelta(seconds=30)


def resend_deliveries(deliveries: DeliveryQuerySet, actor: Actor) -> int:
    """Send deliveries again, whether they succeeded, failed or wait for a later attempt. Return their number.

    Leave out those that a worker is about to send, and those of removed webhooks.
    """
    with transaction.atomic():
        chosen = deliveries.filter(webhook__in=Webhook.objects.registered()).order_by()
        finished = chosen.exclude(state=Delivery.State.WAITING)
        ids = {
            pk
            for some in (finished, chosen.put_off())
            for pk in some.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True)
        }
        again = Delivery.objects.filter(pk__in=ids)
        _make_due(again)
        for webhook_id, count in again.order_by().values_list("webhook").annotate(Count("pk")):
            WebhookChange.objects.create(
                webhook_id=webhook_id,
                action="resend",
                changes={"deliveries": [None, count]},
                **change_columns(actor),
            )
            end_pause(webhook_id)
    return len(ids)


def start_resend(webhook: Webhook, actor: Actor, since: datetime, *, includes_waiting: bool = False) -> Resend:
    """Start to send again what has failed since then; if asked for, also what waits for a later attempt.

    Raises IntegrityError if another resend of this webhook is not finished.
    """
    with transaction.atomic():
        resend = Resend.objects.create(
            webhook=webhook,
            since=since,
            includes_waiting=includes_waiting,
            leased_until=timezone.now() + LEASE,
            **actor_columns(actor),
        )
        webhook.history.create(action="resend", changes={"since": [None, since.isoformat()]}, **change_columns(actor))
        enqueue("webhooks.resend", resend.pk)
    resend.refresh_from_db(fields=["created_at"])
    return resend


def resend_piece(resend: Resend) -> bool:
    """Make one piece of the deliveries due. Return whether there are more."""
    with transaction.atomic():
        # The lock makes two workers with the same resend take turns.
        resend.refresh_from_db(from_queryset=Resend.objects.select_for_update(no_key=True))
        if resend.is_finished:
            return False
        if resend.total_count is None:
            resend.total_count = sum(deliveries.count() for deliveries in _remaining(resend))
        done = next((count for deliveries in _remaining(resend) if (count := _make_piece_due(deliveries))), 0)
        resend.done_count += done
        # A delivery that waited and failed again meanwhile is found again, so there can be more than were counted.
        is_over = not done or (resend.includes_waiting and resend.done_count >= resend.total_count)
        _set(
            resend,
            state=Resend.State.FINISHED if is_over else Resend.State.RUNNING,
            finished_at=timezone.now() if is_over else None,
            leased_until=timezone.now() + LEASE,
            total_count=resend.done_count if is_over else max(resend.total_count, resend.done_count),
            done_count=resend.done_count,
        )
        if done:
            end_pause(resend.webhook_id)
    return not is_over


def _remaining(resend: Resend) -> list[QuerySet[Delivery]]:
    deliveries = Delivery.objects.filter(webhook_id=resend.webhook_id)
    failed = deliveries.failed_between(resend.since, resend.created_at).order_by("finished_at")
    waiting = deliveries.put_off().order_by("next_attempt_at", "id")
    return [failed, waiting] if resend.includes_waiting else [failed]


def _make_piece_due(deliveries: QuerySet[Delivery]) -> int:
    locked = deliveries.select_for_update(skip_locked=True).values_list("pk", flat=True)[:PIECE]
    return _make_due(Delivery.objects.filter(pk__in=list(locked)))


def _make_due(deliveries: QuerySet[Delivery]) -> int:
    """Make deliveries due now, with all their attempts ahead. The caller has locked them."""
    return deliveries.update(
        state=Delivery.State.WAITING, next_attempt_at=Now(), attempt_count=0, finished_at=None, is_retry=True
    )


def _set(resend: Resend, **values: Any) -> None:
    for name, value in values.items():
        setattr(resend, name, value)
    resend.save(update_fields=values)
