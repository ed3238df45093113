from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from callcentre.core.roles import RoleRights


class WebhooksConfig(AppConfig):
    name = "webhooks"
    verbose_name = _("Webhooks")
    # Right of the API -> permissions of the admin that stand for it (docs/decisions/0021).
    api_permissions = {
        "webhooks:read": ("view_event", "change_webhook"),
        "webhooks:write": ("add_webhook", "change_webhook", "delete_webhook"),
    }
    # No role beside administrators and auditors has rights here (callcentre/core/roles.py).
    role_rights: RoleRights = {}
