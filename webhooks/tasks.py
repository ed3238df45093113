import logging
from datetime import timedelta
from urllib.parse import urlsplit

from celery import shared_task
from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils import timezone

from callcentre.core.enqueue import enqueue
from callcentre.core.times import zone
from webhooks import delivery_worker, retention
from webhooks.models import Delivery, Resend, Webhook
from webhooks.verbs.webhooks import resend_piece

logger = logging.getLogger(__name__)

# The delay before the next try if the mail server does not answer.
TRY_AGAIN_AFTER = timedelta(minutes=5)

_WHY = {
    Webhook.Reason.GONE: "the receiver answered 410, which means that it wants no more",
    Webhook.Reason.FAILING: "nothing but failures came of it for five days",
}


def _text(webhook: Webhook) -> str:
    at = webhook.disabled_at.astimezone(zone()).strftime("%Y-%m-%d %H:%M") if webhook.disabled_at else "now"
    waiting = webhook.deliveries.waiting().count()
    return (
        f"The service sends nothing more to\n\n    {webhook.subscription_url}\n\n"
        f"since {at}: {_WHY[Webhook.Reason(webhook.disabled_because)]}.\n\n"
        f"Its actions: {', '.join(webhook.actions)}.\n"
        f"{waiting} deliveries wait for it. Events that happen meanwhile are not kept for it; a program can read them"
        f" with GET /api/events.\n\n"
        f"Once the receiver works again, enable the webhook in the admin or with"
        f" POST /api/webhooks/{webhook.pk}/enable.\n"
    )


@shared_task(name="webhooks.deliver")
def deliver(webhook_id: int) -> None:
    """Send due deliveries to one webhook."""
    for following in delivery_worker.deliver(webhook_id):
        enqueue("webhooks.deliver", following)


@shared_task(name="webhooks.sweep")
def sweep() -> None:
    """Enqueue webhooks with due deliveries, because a message was lost or a pause is over, and due notices.

    The order is random, so that each webhook gets a chance if there are too few slots.
    """
    due = Exists(Delivery.objects.due().filter(webhook=OuterRef("pk")))
    for webhook_id in Webhook.objects.active().unpaused().filter(due).order_by("?").values_list("pk", flat=True):
        enqueue("webhooks.deliver", webhook_id)
    for webhook_id in Webhook.objects.filter(notice_due_at__lte=Now()).values_list("pk", flat=True):
        enqueue("webhooks.notify_disabled", webhook_id)


@shared_task(name="webhooks.notify_disabled")
def notify_disabled(webhook_id: int) -> None:
    """Tell supervisors that a webhook was disabled, in the log and by mail; again only if a mail could not be sent."""
    owed = Webhook.objects.filter(pk=webhook_id, notice_due_at__lte=Now())
    # Only one of two workers updates the row. If it dies, the sweep finds the notice due again.
    if not owed.update(notice_due_at=Now() + TRY_AGAIN_AFTER):
        return
    webhook = Webhook.objects.get(pk=webhook_id)
    # Log only the host: the path may hold a receiver's password.
    host = urlsplit(webhook.subscription_url).hostname
    logger.error("webhook disabled", extra={"webhook": webhook.pk, "host": host, "reason": webhook.disabled_because})
    if settings.SUPERVISOR_EMAILS:
        send_mail(f"Webhook {webhook.pk} was disabled", _text(webhook), None, settings.SUPERVISOR_EMAILS)
    Webhook.objects.filter(pk=webhook_id, disabled_at=webhook.disabled_at).update(notice_due_at=None)


@shared_task(name="webhooks.prune")
def prune() -> None:
    """Delete events older than the retention, and removed webhooks whose message was lost."""
    retention.prune(timezone.now())
    for webhook_id in Webhook.objects.purgeable().values_list("pk", flat=True):
        retention.purge(webhook_id)


@shared_task(name="webhooks.purge")
def purge(webhook_id: int) -> None:
    """Delete all rows of a removed webhook."""
    retention.purge(webhook_id)


@shared_task(name="webhooks.resend")
def resend(resend_id: int) -> None:
    """Make failed deliveries due, piece by piece."""
    for job in Resend.objects.filter(pk=resend_id):
        while resend_piece(job):
            pass


@shared_task(name="webhooks.sweep_resends")
def sweep_resends() -> None:
    """Continue resends whose message or worker was lost."""
    for resend_id in Resend.objects.due().values_list("pk", flat=True):
        enqueue("webhooks.resend", resend_id)
