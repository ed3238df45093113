"""Tell supervisors that a webhook was disabled: in the log, and by mail if addresses are configured."""

import logging
from datetime import timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import send_mail
from django.db.models.functions import Now

from callcentre.core.times import zone
from webhooks.models import Webhook

logger = logging.getLogger(__name__)

# The delay before the next try if the mail server does not answer.
TRY_AGAIN_AFTER = timedelta(minutes=5)

_WHY = {
    Webhook.Reason.GONE: "the receiver answered 410, which means that it wants no more",
    Webhook.Reason.FAILING: "nothing but failures came of it for five days",
}


def tell_supervisors(webhook_id: int) -> None:
    """Tell supervisors once that a webhook was disabled; again only if the mail could not be sent."""
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
