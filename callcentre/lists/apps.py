from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ListsConfig(AppConfig):
    name = "callcentre.lists"
    label = "lists"
    verbose_name = _("lists")
