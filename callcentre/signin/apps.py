from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from callcentre.core.roles import RoleRights


class SigninConfig(AppConfig):
    name = "callcentre.signin"
    label = "signin"
    verbose_name = _("log-ins")
    # Administrators have all rights over the groups at the provider.
    role_rights: RoleRights = {}
