from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CampaignsConfig(AppConfig):
    name = "campaigns"
    verbose_name = _("Campaigns")

    def ready(self) -> None:
        from callcentre.deletions import register_remarks  # noqa: PLC0415  (models are not there before)
        from campaigns import deletions  # noqa: PLC0415

        register_remarks("customer", deletions.remarks)
