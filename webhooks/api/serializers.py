from typing import Any

from callcentre.api.fields import ChoiceField, ListField, TextField
from callcentre.api.serializers import Input
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.parsing import Reject
from webhooks.event_types import EventType
from webhooks.models import Event, Webhook
from webhooks.rules import faults_of


class ActionField(TextField):
    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if name not in EventType.values:
            raise Reject(ErrorCode.ACTION_UNKNOWN, name=name)
        return name


class WebhookInput(Input):
    actions = ListField(child=ActionField(max_length=50), max_length=100)
    subscription_url = TextField(max_length=2000)
    http_auth_user = TextField(required=False, max_length=255)
    http_auth_password = TextField(required=False, max_length=255, trim_whitespace=False)
    secret = TextField(required=False, max_length=100)
    format = ChoiceField(choices=Webhook.Format.values, required=False)

    @classmethod
    def read(cls, data: Any, *, is_partial: bool = False) -> tuple[dict[str, Any], list[Fault]]:
        values, faults = super().read(data, is_partial=is_partial)
        if "actions" in values:
            values["actions"] = list(dict.fromkeys(values["actions"]))
        if not values.get("secret"):
            # The model makes one.
            values.pop("secret", None)
        return values, faults + faults_of(values)


def webhook_data(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.pk,
        "actions": webhook.actions,
        "subscription_url": webhook.subscription_url,
        "http_auth_user": webhook.http_auth_user,
        "http_auth_password": webhook.http_auth_password,
    }


def registration_data(webhook: Webhook) -> dict[str, Any]:
    """Return a webhook with the fields that the interface does not have."""
    return {
        **webhook_data(webhook),
        "format": webhook.format,
        "active": webhook.is_active,
        "disabled_because": webhook.disabled_because,
    }


def event_data(event: Event) -> dict[str, Any]:
    payload = event.message
    return {
        "id": event.pk,
        "event_id": payload["event_id"],
        "action": event.action,
        "date": payload["date"],
        "payload": payload,
    }
