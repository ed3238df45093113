from callcentre.api.openapi import path
from callcentre.api.routers import route
from callcentre.core.errors import ErrorCode
from webhooks.api.views import EventViewSet, WebhookViewSet

path("webhook_id", "id", "Id of the webhook.", "17", ErrorCode.WEBHOOK_NOT_FOUND)

urlpatterns = [
    route("webhooks", WebhookViewSet, get="list", post="create"),
    route("webhooks/actions", WebhookViewSet, get="actions"),
    route("webhooks/:webhook_id", WebhookViewSet, get="retrieve", delete="destroy"),
    route("webhooks/:webhook_id/secret", WebhookViewSet, get="secret"),
    route("webhooks/:webhook_id/enable", WebhookViewSet, post="enable"),
    route("webhooks/:webhook_id/disable", WebhookViewSet, post="disable"),
    route("webhooks/:webhook_id/test", WebhookViewSet, post="test"),
    route("events", EventViewSet, get="list"),
]
