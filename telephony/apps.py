from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TelephonyConfig(AppConfig):
    name = "telephony"
    verbose_name = _("Telephony")

    def ready(self) -> None:
        from telephony import deletions  # noqa: PLC0415  (models are not there before)

        deletions.register_kinds()
