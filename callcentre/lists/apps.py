from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from callcentre.core.roles import RoleRights


class ListsConfig(AppConfig):
    name = "callcentre.lists"
    label = "lists"
    verbose_name = _("lists")
    # Role -> letters of rights -> models (callcentre/core/roles.py).
    role_rights: RoleRights = {"Supervisor": {"va": "listexport", "v": "listaction", "s": "savedview"}}

    def ready(self) -> None:
        from callcentre.core.deletions import personal_data_deleted
        from callcentre.lists.forgetting import forget

        personal_data_deleted.connect(forget, dispatch_uid="callcentre.lists")
