from celery import shared_task
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from callcentre.core.enqueue import enqueue
from webhooks import delivery_worker, retention, supervisor_mail
from webhooks.models import Resend, Webhook
from webhooks.verbs.resends import resend_piece

_DUE = """
SELECT w.id FROM webhooks_webhook w
WHERE w.is_active AND w.deleted_at IS NULL AND COALESCE(w.open_until <= now(), true) AND EXISTS (
  SELECT FROM webhooks_delivery d
  WHERE d.webhook_id = w.id AND d.state = 'waiting' AND d.next_attempt_at <= now()
)
ORDER BY random()
"""


@shared_task(name="webhooks.deliver")
def deliver(webhook_id: int) -> None:
    """Send what is due to one webhook."""
    for following in delivery_worker.deliver(webhook_id):
        enqueue("webhooks.deliver", following)


@shared_task(name="webhooks.sweep")
def sweep() -> None:
    """Wake those whose message was lost, whose pause is over, or whose next attempt has come; and owed supervisor_mail.

    In any order: should there be fewer places than they are, each has its chance.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DUE)
        for (webhook_id,) in cursor.fetchall():
            enqueue("webhooks.deliver", webhook_id)
    for webhook_id in Webhook.objects.filter(notice_due_at__lte=Now()).values_list("pk", flat=True):
        enqueue("webhooks.notify_disabled", webhook_id)


@shared_task(name="webhooks.notify_disabled")
def notify_disabled(webhook_id: int) -> None:
    """Tell supervisors of a webhook that was given up."""
    supervisor_mail.tell_supervisors(webhook_id)


@shared_task(name="webhooks.prune")
def prune() -> None:
    """Forget what is older than the retention, a little at a time, and what lost purges have left."""
    retention.prune(timezone.now())
    for webhook_id in Webhook.objects.purgeable().values_list("pk", flat=True):
        retention.purge(webhook_id)


@shared_task(name="webhooks.purge")
def purge(webhook_id: int) -> None:
    """Clear away what a removed webhook has left."""
    retention.purge(webhook_id)


@shared_task(name="webhooks.resend")
def resend(resend_id: int) -> None:
    """Make due again what failed, piece by piece; a worker that takes over goes on where another was killed."""
    for job in Resend.objects.filter(pk=resend_id):
        while resend_piece(job):
            pass


@shared_task(name="webhooks.sweep_resends")
def sweep_resends() -> None:
    """Go on with resends whose message or worker was lost."""
    for resend_id in Resend.objects.due().values_list("pk", flat=True):
        enqueue("webhooks.resend", resend_id)
