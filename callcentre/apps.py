from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CallcentreConfig(AppConfig):
    name = "callcentre"
    verbose_name = _("Access")

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in  # noqa: PLC0415  (apps load before it)

        from callcentre import checks  # noqa: F401, PLC0415  (registers the system checks)
        from callcentre.web.sessions import record_log_in  # noqa: PLC0415

        user_logged_in.connect(record_log_in)
