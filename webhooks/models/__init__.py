from webhooks.models.delivery import Attempt, Delivery
from webhooks.models.event import Event
from webhooks.models.resend import Resend
from webhooks.models.webhook import Webhook, WebhookChange

__all__ = ["Attempt", "Delivery", "Event", "Resend", "Webhook", "WebhookChange"]
