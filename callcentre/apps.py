from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CallcentreConfig(AppConfig):
    name = "callcentre"
    verbose_name = _("Access")

    def ready(self) -> None:
        from callcentre import checks  # noqa: F401, PLC0415  (registers the system checks)
