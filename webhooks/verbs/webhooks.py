"""Register, edit, enable, disable, test and remove webhooks; rotate and show their secrets."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import record
from callcentre.core.changes import actor_columns, change_columns, differences, store, store_edit
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, Outdated
from webhooks.event_types import TEST_ACTION
from webhooks.models import Delivery, Event, Resend, Webhook, WebhookChange
from webhooks.models.delivery import DeliveryQuerySet
from webhooks.signing import new_secret

FAILING_FOR = timedelta(days=5)
# The health of a receiver that nothing has been sent to.
UNTRIED = {"failing_since": None, "open_until": None, "failures_in_a_row": 0}
# The history says that these changed, and hides their values.
SECRETS = ("http_auth_user", "http_auth_password")
MASK = "***"


def create_webhook(actor: Actor, faults: Sequence[Fault] = (), **values: Any) -> Webhook:
    if faults:
        raise Invalid(faults)
    with transaction.atomic():
        webhook = Webhook.objects.create(**values)
        _log(webhook, actor, "create", {name: [None, values.get(name)] for name in ("subscription_url", "actions")})
    return webhook


def edit_webhook(webhook: Webhook, actor: Actor, faults: Sequence[Fault] = (), **values: Any) -> None:
    """Change what is sent, and where. A new address starts with the health of an untried receiver.

    A stored password was entered for the old address, so a new address needs it again.
    """
    if faults:
        raise Invalid(faults)
    with transaction.atomic():
        locked = _lock(webhook)
        changes = differences(locked, values)
        if "subscription_url" in changes and locked.http_auth_password and "http_auth_password" not in values:
            raise Invalid([Fault(ErrorCode.PASSWORD_AGAIN, "http_auth_password")])
        if not changes:
            return
        store_edit(webhook, **values, **(UNTRIED if "subscription_url" in changes else {}))
        for name in changes.keys() & set(SECRETS):
            changes[name] = [value and MASK for value in changes[name]]
        _log(webhook, actor, "edit", changes)
        enqueue("webhooks.deliver", webhook.pk)


def remove_webhook(webhook: Webhook, actor: Actor) -> None:
    """Send nothing more, and let a task delete the rows. If the webhook is removed already, do nothing."""
    with transaction.atomic():
        if _lock_registered(webhook) is None:
            return
        store_edit(
            webhook,
            is_active=False,
            deleted_at=timezone.now(),
            notice_due_at=None,
            http_auth_user="",
            http_auth_password="",
            previous_secret="",
        )
        record(actor, "delete", webhook, name=webhook.subscription_url)
        enqueue("webhooks.purge", webhook.pk)


def enable_webhook(webhook: Webhook, actor: Actor) -> None:
    """Send to the webhook again, beginning with the deliveries that wait."""
    with transaction.atomic():
        _lock(webhook)
        store_edit(webhook, is_active=True, disabled_because="", disabled_at=None, notice_due_at=None, **UNTRIED)
        _log(webhook, actor, "enable")
        enqueue("webhooks.deliver", webhook.pk)


def disable_webhook(webhook: Webhook, actor: Actor, reason: str = Webhook.Reason.PERSON) -> None:
    """Send nothing until the webhook is enabled; deliveries wait. If the webhook is removed, do nothing."""
    with transaction.atomic():
        if _lock_registered(webhook) is None:
            return
        now = timezone.now()
        is_notice_due = reason != Webhook.Reason.PERSON
        store_edit(
            webhook,
            is_active=False,
            disabled_because=reason,
            disabled_at=now,
            notice_due_at=now if is_notice_due else None,
        )
        _log(webhook, actor, f"disable: {reason}")
        if is_notice_due:
            enqueue("webhooks.notify_disabled", webhook.pk)


def disable_if_given_up(webhook: Webhook, actor: Actor, *, is_gone: bool) -> None:
    """Disable a receiver that answered 410, or has failed for five days. Supervisors get a mail."""
    now = Webhook.objects.active().filter(pk=webhook.pk).first()
    has_failed_long = now and now.failing_since and timezone.now() - now.failing_since > FAILING_FOR
    if now and (is_gone or has_failed_long):
        disable_webhook(webhook, actor, Webhook.Reason.GONE if is_gone else Webhook.Reason.FAILING)


def rotate_secret(webhook: Webhook, actor: Actor, overlap: timedelta = timedelta(hours=24), version: str = "") -> str:
    """Return a new secret. The old one signs as well until the overlap is over.

    Raises Outdated if the webhook has another version by now: after two rotations at once, one of the two new secrets
    would be invalid. Raises Conflict if it was removed.
    """
    with transaction.atomic():
        locked = _lock(webhook)
        if version and version != locked.version:
            raise Outdated
        store_edit(
            webhook,
            previous_secret=locked.secret,
            previous_secret_expires_at=timezone.now() + overlap,
            secret=new_secret(),
        )
        _log(webhook, actor, "rotate_secret")
    return str(webhook.secret)


def show_secret(webhook: Webhook, actor: Actor) -> str:
    """Return the secret, and log who saw it: once an hour, because a program may ask before each verification."""
    an_hour_ago = timezone.now() - timedelta(hours=1)
    seen = webhook.history.filter(action="show_secret", at__gt=an_hour_ago, **change_columns(actor))
    if not seen.exists():
        _log(webhook, actor, "show_secret")
    return str(webhook.secret)


def send_test(webhook: Webhook, actor: Actor) -> None:
    """Send a test event to this webhook alone, at once even if its receiver is paused."""
    with transaction.atomic():
        _lock(webhook)
        event = Event.objects.create(
            event_id=uuid4(),
            action=TEST_ACTION,
            subject=f"webhook:{webhook.pk}",
            payload={"webhook_id": webhook.pk, "requested_by": actor.name},
        )
        webhook.deliveries.create(event=event, next_attempt_at=Now())
        end_pause(webhook.pk)


def end_pause(webhook_id: int) -> None:
    """Send due deliveries without waiting for the end of a pause."""
    with transaction.atomic():
        Webhook.objects.filter(pk=webhook_id, open_until__gt=Now()).update(open_until=Now())
        enqueue("webhooks.deliver", webhook_id)


def _lock(webhook: Webhook) -> Webhook:
    """Lock the row and return its current state. Raises Conflict if the webhook was removed meanwhile."""
    if (locked := _lock_registered(webhook)) is None:
        raise Conflict(ErrorCode.CONFLICT)
    return locked


def _lock_registered(webhook: Webhook) -> Webhook | None:
    return Webhook.objects.registered().select_for_update(no_key=True).filter(pk=webhook.pk).first()


def _log(webhook: Webhook, actor: Actor, action: str, changes: dict[str, Any] | None = None) -> None:
    webhook.history.create(action=action, changes=changes or {}, **change_columns(actor))


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
        store(
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
    finished = {"finished_at__gte": resend.since, "finished_at__lte": resend.created_at}
    failed = deliveries.failed().filter(**finished).order_by("finished_at")
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
