from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.scope import Lookups
from callcentre.models import ApiUser, User
from tickets.file_storage import Stored, type_of
from tickets.models.message import Message


class StoredFileQuerySet(models.QuerySet["StoredFile"]):
    def usable_by(self, actor: Actor) -> "StoredFileQuerySet":
        """Return the actor's uploads that no message uses and that have not expired. Only users can upload."""
        column = {"api_user": "api_user_id", "user": "user_id"}.get(actor.kind)
        if column is None:
            return self.none()
        since = timezone.now() - settings.TEMPORARY_FILE_RETENTION
        return self.filter(message=None, created_at__gt=since, **{column: actor.id})

    def unused_since(self, instant: datetime) -> "StoredFileQuerySet":
        return self.filter(message=None, created_at__lt=instant)


class StoredFile(models.Model):
    """An attachment of a message, or an upload that is temporary until one message uses it.

    Programs name it by its token (256 random bits). Only the uploader may use a temporary file.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_ticket_queues": "message__ticket__queue_id"}

    token = models.CharField(max_length=64, unique=True)
    filename = models.CharField(_("name"), max_length=255)
    content_type = models.CharField(_("type"), max_length=100)
    size = models.BigIntegerField(_("size in bytes"))
    sha256 = models.CharField(max_length=64)
    # The path in the storage.
    path = models.CharField(max_length=200)
    # NULL while the file is temporary.
    message = models.ForeignKey(
        Message, models.CASCADE, null=True, related_name="files", verbose_name=pgettext_lazy("of a ticket", "message")
    )
    # The Content-ID of an image inside the HTML of a mail.
    content_id = models.CharField(max_length=255, blank=True)
    api_user = models.ForeignKey(ApiUser, models.SET_NULL, null=True, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(_("uploaded"), default=timezone.now)

    objects = StoredFileQuerySet.as_manager()

    class Meta:
        verbose_name = _("file")
        verbose_name_plural = _("files")
        ordering = ["id"]
        indexes = [
            models.Index(fields=["created_at"], condition=Q(message=None), name="storedfile_temporary"),
            models.Index(fields=["-created_at", "-id"], name="storedfile_created"),
        ]

    def __str__(self) -> str:
        return self.filename

    @classmethod
    def of(cls, stored: Stored, filename: str, declared_type: str = "", **owner: Any) -> "StoredFile":
        """Return an unsaved row for a file in the storage. `owner` is its uploader or its message."""
        return cls(
            token=stored.token,
            filename=filename,
            content_type=type_of(filename, declared_type),
            size=stored.size,
            sha256=stored.sha256,
            path=stored.path,
            **owner,
        )
