from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from callcentre.core.roles import RoleRights


class KnowledgebaseConfig(AppConfig):
    name = "knowledgebase"
    verbose_name = _("Knowledge base")
    # Right of the API -> permissions of the admin that stand for it (docs/decisions/0021).
    api_permissions = {
        "knowledge_base:read": ("view_catalog", "view_article"),
        "knowledge_base:write": ("change_article",),
    }
    # Role -> letters of rights -> models (callcentre/core/roles.py).
    role_rights: RoleRights = {
        "Agent": {
            "v": "article catalog category",
        },
        "Supervisor": {
            "v": "searchmiss",
        },
        "Knowledge editor": {
            "vacd": "article catalog category articleimage searchmiss",
            "v": "articleversion articlechange",
        },
    }
