from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class KnowledgebaseConfig(AppConfig):
    name = "knowledgebase"
    verbose_name = _("Knowledge base")
