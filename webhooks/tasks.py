from celery import shared_task
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils import timezone

from callcentre.core.enqueue import enqueue
from webhooks import delivery_worker, retention, supervisor_mail
from webhooks.models import Delivery, Resend, Webhook
from webhooks.verbs.webhooks import resend_piece


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
    """Tell supervisors that the service disabled a webhook."""
    supervisor_mail.tell_supervisors(webhook_id)


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
