from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, actor_of, never
from tickets.models import BlockedSender
from tickets.verbs.received_mails import block_sender


@admin.register(BlockedSender)
class BlockedSenderAdmin(Admin):
    """The addresses and domains whose mail is kept apart as spam."""

    list_display = ("entry", "blocked_by", "blocked_at")
    search_fields = ("entry",)
    search_help_text = _("A part of the address or domain")
    fields = ("entry",)
    has_change_permission = never  # a person blocks another one and deletes this one

    def save_model(self, request: HttpRequest, obj: BlockedSender, form: Any, change: bool) -> None:
        obj.pk = block_sender(obj.entry, actor_of(request)).pk
