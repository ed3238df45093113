from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OverviewConfig(AppConfig):
    name = "callcentre.overview"
    label = "overview"
    verbose_name = _("overview")
