from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from callcentre.core.roles import RoleRights


class ReportsConfig(AppConfig):
    name = "reports"
    verbose_name = _("reports")
    # Right of the API -> permissions of the admin that stand for it (docs/decisions/0021).
    api_permissions = {"reports:read": ("view_export",), "reports:write": ("add_export",)}
    # Role -> letters of rights -> models (callcentre/core/roles.py).
    role_rights: RoleRights = {"Supervisor": {"va": "export", "vacd": "schedule"}}
