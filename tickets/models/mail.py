"""Canned replies, the endpoints of marketplaces, and addresses that got an acknowledgement."""

from datetime import datetime, timedelta
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel, TimestampedModel
from callcentre.core.encryption import EncryptedTextField
from callcentre.core.html_field import CleanHtmlField
from callcentre.core.scope import Lookups
from telephony.models import Agent
from tickets import html
from tickets.html import OWN_TEXT
from tickets.models.message import Message
from tickets.models.ticket import Source, Ticket
from tickets.models.ticket_queue import TicketQueue
from tickets.placeholders import check_placeholders, fill, values_for
from webhooks.rules import TARGET_FAULTS
from webhooks.signing import new_secret
from webhooks.transport.targets import TargetError, check_target


@audited()
class CannedReply(NamedModel):
    """A text that agents put into their replies."""

    scope_lookups: ClassVar[Lookups] = {"scope_ticket_queues": "queue_id"}

    name = models.CharField(_("name"), max_length=100, unique=True)
    # NULL: for tickets of any queue.
    queue = models.ForeignKey(
        TicketQueue,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="canned_replies",
        verbose_name=_("ticket queue"),
    )
    body = CleanHtmlField(_("text"), policy=OWN_TEXT, help_text=_("HTML."))

    class Meta:
        verbose_name = _("canned reply")
        verbose_name_plural = _("canned replies")
        ordering = ["name", "id"]

    def clean(self) -> None:
        check_placeholders(body=(self.body, ()))

    def text_for(self, ticket: Ticket, agent: Agent | None, body_type: str = Message.BodyType.HTML) -> str:
        """Return the text with its places filled, for the agent to edit; plain text for a marketplace."""
        markup = html.clean(fill(self.body, values_for(ticket, agent)))
        return markup if body_type == Message.BodyType.HTML else html.as_text(markup)


@audited(secret=("http_auth_password", "secret"))
class Marketplace(TimestampedModel):
    """The HTTP endpoint that takes replies to tickets of a marketplace, as JSON signed with `secret`."""

    source = models.CharField(_("source"), max_length=20, choices=Source, unique=True)
    url = models.URLField(_("address"), max_length=2000)
    http_auth_user = models.CharField(_("user"), max_length=200, blank=True)
    http_auth_password = EncryptedTextField(_("password"), blank=True)
    secret = EncryptedTextField(_("signing secret"), default=new_secret)
    is_active = models.BooleanField(_("active"), default=True)

    class Meta:
        verbose_name = _("marketplace")
        verbose_name_plural = _("marketplaces")
        ordering = ["source"]
        constraints = [
            models.CheckConstraint(
                name="marketplace_source_is_one",
                condition=Q(source__in=[Source.MARKETPLACE_MESSAGE, Source.MARKETPLACE_DISPUTE]),
            )
        ]

    def __str__(self) -> str:
        return self.get_source_display()

    def clean(self) -> None:
        """Refuse targets inside our own network, as webhooks do."""
        try:
            check_target(self.url)
        except TargetError as error:
            raise ValidationError({"url": str(TARGET_FAULTS[error.code].text)}) from error


class AcknowledgedAddress(models.Model):
    """The time of the last acknowledgement to an address. It keeps two machines from answering each other for ever."""

    address = models.CharField(max_length=320, unique=True)
    acknowledged_at = models.DateTimeField()

    class Meta:
        verbose_name = _("acknowledged address")
        verbose_name_plural = _("acknowledged addresses")
        ordering = ["address"]

    def __str__(self) -> str:
        return self.address

    @classmethod
    def take_turn(cls, address: str, now: datetime, span: timedelta) -> bool:
        """Claim the right to acknowledge mail of this address; return False if that was done within `span`.

        Of two simultaneous mails only one is acknowledged: only one adds the row, or finds it old.
        """
        _row, is_new = cls.objects.get_or_create(address=address.lower(), defaults={"acknowledged_at": now})
        due = cls.objects.filter(address=address.lower(), acknowledged_at__lte=now - span)
        return is_new or bool(due.update(acknowledged_at=now))
