from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SigninConfig(AppConfig):
    name = "callcentre.signin"
    label = "signin"
    verbose_name = _("log-ins")
