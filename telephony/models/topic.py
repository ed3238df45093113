"""The topics of a queue, the fields that go with them, and the topic of a connection."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel, TimestampedModel
from callcentre.core.errors import ErrorCode
from callcentre.core.parsing import Reject, parse_boolean, parse_date, parse_text
from callcentre.core.scope import Lookups
from telephony.models.agent import Agent
from telephony.models.connection import Connection
from telephony.models.queue import Queue

# The most characters of a comment, and of a long text.
LONGEST_TEXT = 10_000
FIELDS_KEY = "custom_fields"
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?\Z")


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value of a field as it was sent, and its position; None for an unreadable value."""

    position: int
    field_id: int
    value: str | None


@audited()
class TopicGroup(NamedModel):
    """Topics of a queue that are shown together. An unused group is made inactive, because calls refer to it."""

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id"}

    queue = models.ForeignKey(Queue, models.PROTECT, related_name="topic_groups", verbose_name=_("queue"))
    name = models.CharField(_("name"), max_length=100)
    is_active = models.BooleanField(pgettext_lazy("of a group", "active"), default=True)
    order = models.PositiveIntegerField(_("order"), default=50)

    class Meta:
        verbose_name = _("topic group")
        verbose_name_plural = _("topic groups")
        ordering = ["order", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["queue", "name"],
                name="topicgroup_name_is_unique",
                violation_error_message=_("The queue already has a group of this name."),
            )
        ]


class TopicQuerySet(models.QuerySet["Topic"]):
    def active(self) -> "TopicQuerySet":
        """Topics to choose from: the topic and its group are active."""
        return self.filter(is_active=True, group__is_active=True)


@audited(part_of="group")
class Topic(NamedModel):
    """A subject of calls. An unused topic is made inactive, never deleted, because calls refer to it."""

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "group__queue_id"}

    group = models.ForeignKey(TopicGroup, models.PROTECT, related_name="topics", verbose_name=_("group"))
    name = models.CharField(_("name"), max_length=200)
    is_active = models.BooleanField(_("active"), default=True)
    show_custom_fields = models.BooleanField(
        _("with fields"), default=False, help_text=_("Agents fill in the fields of the queue along with this topic.")
    )
    order = models.PositiveIntegerField(_("order"), default=50)

    objects = TopicQuerySet.as_manager()

    class Meta:
        verbose_name = _("topic")
        verbose_name_plural = _("topics")
        ordering = ["order", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["group", "name"],
                name="topic_name_is_unique",
                violation_error_message=_("The group already has a topic of this name."),
            )
        ]


class TopicFieldQuerySet(models.QuerySet["TopicField"]):
    def active(self) -> "TopicFieldQuerySet":
        return self.filter(is_active=True)


@audited()
class TopicField(NamedModel):
    """A field that agents fill in for calls of this queue. The values of every type are stored as text."""

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id"}

    class Type(models.TextChoices):
        TEXT = "TEXT", _("text")
        LONG_TEXT = "LONG_TEXT", _("long text")
        NUMBER = "NUMBER", _("number")
        DATE = "DATE", _("date")
        BOOLEAN = "BOOLEAN", _("yes or no")

    queue = models.ForeignKey(Queue, models.PROTECT, related_name="topic_fields", verbose_name=_("queue"))
    name = models.CharField(_("name"), max_length=100)
    type = models.CharField(_("type"), max_length=10, choices=Type, default=Type.TEXT)
    is_required = models.BooleanField(_("required"), default=False)
    is_active = models.BooleanField(pgettext_lazy("of a field", "active"), default=True)
    order = models.PositiveIntegerField(_("order"), default=50)

    objects = TopicFieldQuerySet.as_manager()

    class Meta:
        verbose_name = _("field of calls")
        verbose_name_plural = _("fields of calls")
        ordering = ["order", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["queue", "name"],
                name="topicfield_name_is_unique",
                violation_error_message=_("The queue already has a field of this name."),
            )
        ]

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: calls have values of the field."""
        raise ValidationError(_("A field is made inactive, not deleted: calls have values of it."))

    def read(self, text: str) -> str:
        """Return the value as it is stored; "" for an empty one. Raises Reject."""
        text = parse_text(text, LONGEST_TEXT if self.type == self.Type.LONG_TEXT else 255)
        if not text:
            return ""
        match self.type:
            case self.Type.NUMBER if not _NUMBER.match(text):
                raise Reject(ErrorCode.NOT_NUMBER)
            case self.Type.DATE:
                return parse_date(text).isoformat()
            case self.Type.BOOLEAN:
                return "true" if parse_boolean(text) else "false"
        return text


@audited(part_of="connection", secret=("comment", "fields"))
class ConnectionTopic(TimestampedModel):
    """The topic of a connection, its agent, comment and values of fields. Setting it again replaces it."""

    connection = models.OneToOneField(
        Connection, models.CASCADE, primary_key=True, related_name="topic", verbose_name=_("call")
    )
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="+", verbose_name=_("topic"))
    # The agent of the call, not the sender of the request.
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("agent")
    )
    comment = models.TextField(_("comment"), blank=True)
    # [{"field_id": 3, "value": "…"}, …] for the fields that have a value.
    fields = models.JSONField(_("fields"), default=list)
    set_by = models.CharField(_("set by"), max_length=150)

    class Meta:
        verbose_name = _("topic of a call")
        verbose_name_plural = _("topics of calls")
        ordering = ["-connection_id"]

    def __str__(self) -> str:
        return f"{self.connection_id}: {self.topic}"
