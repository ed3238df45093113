from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from callcentre.core.roles import RoleRights


class OverviewConfig(AppConfig):
    name = "callcentre.overview"
    label = "overview"
    verbose_name = _("overview")
    # Role -> letters of rights -> models (callcentre/core/roles.py).
    role_rights: RoleRights = {"Supervisor": {"vacd": "alarm"}}
