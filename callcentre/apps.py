from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CallcentreConfig(AppConfig):
    name = "callcentre"
    verbose_name = _("Access")

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in  # noqa: PLC0415  (apps load before it)

        # The Celery app, which tasks find by themselves, and the system checks.
        from callcentre import celery, checks  # noqa: F401, PLC0415
        from callcentre.web.sessions import record_log_in  # noqa: PLC0415

        user_logged_in.connect(record_log_in)
