"""The history of webhooks."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import localize
from django.utils.translation import gettext_lazy as _

from callcentre.admin import ChangeMixin, ReadOnlyAdmin, UncountedMixin
from webhooks.models import Webhook, WebhookChange

ACTIONS = {
    "enable": _("enabled"),
    "disable: person": _("disabled"),
    "disable: gone": _("disabled: the receiver answered 410"),
    "disable: failing": _("disabled: nothing but failures for five days"),
    "show_secret": _("secret shown"),
    "resend": _("failed deliveries sent again"),
}
NAMES = {
    "since": _("failed since"),
    "deliveries": _("deliveries"),
    "http_auth_user": _("user of Basic authentication"),
    "http_auth_password": _("password of Basic authentication"),
}


def changes_of(change: WebhookChange) -> list[tuple[Any, Any, Any]]:
    """Return name, old value and new value of each change, in words."""
    return [(_name(name), _plain(name, old), _plain(name, new)) for name, (old, new) in sorted(change.changes.items())]


def _name(name: str) -> Any:
    return NAMES.get(name) or {field.name: field.verbose_name for field in Webhook._meta.fields}.get(name, name)


def _plain(name: str, value: Any) -> str:
    if name == "since" and value and (instant := parse_datetime(value)):
        return str(localize(timezone.localtime(instant)))
    return ", ".join(value) if isinstance(value, list) else "" if value is None else str(value)


@admin.register(WebhookChange)
class WebhookChangeAdmin(ChangeMixin, UncountedMixin, ReadOnlyAdmin):
    """The history of all webhooks, with the people who saw a secret."""

    list_filter = ("actor_kind",)
    action_labels = ACTIONS
    changes_of = staticmethod(changes_of)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("webhook")  # no join: it may be deleted
