from django.apps import AppConfig, apps
from django.contrib.admin import apps as admin_apps
from django.utils.translation import gettext_lazy as _

from callcentre.core.roles import RoleRights


class AdminConfig(admin_apps.AdminConfig):
    default = False
    default_site = "callcentre.web.admin_site.AdminSite"


class CallcentreConfig(AppConfig):
    default = True
    name = "callcentre"
    verbose_name = _("Access")
    # No role beside administrators and auditors has rights here (callcentre/core/roles.py).
    role_rights: RoleRights = {}
    api_permissions = {
        "personal_data:read": ("view_deletion",),
        "personal_data:write": ("delete_personal_data",),
    }

    def ready(self) -> None:
        from django.db.models.signals import post_migrate, pre_migrate

        # The Celery app, which tasks find by themselves, and the system checks.
        from callcentre import celery, checks, personal_data  # noqa: F401
        from callcentre.core import audit_schema
        from callcentre.web import sessions  # noqa: F401

        personal_data.register_all()
        # Signals come in the order of the apps; the roof's overview is the last of ours.
        pre_migrate.connect(audit_schema.prepare, sender=apps.get_app_config("overview"))
        post_migrate.connect(audit_schema.install, sender=apps.get_app_config("overview"))
