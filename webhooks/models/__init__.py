from webhooks.models.delivery import Attempt, Delivery, Resend
from webhooks.models.event import Event
from webhooks.models.webhook import Webhook, WebhookChange
