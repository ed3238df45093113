from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Func, Q, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel, languages
from callcentre.core.encryption import EncryptedTextField
from callcentre.core.html_field import CleanHtmlField
from callcentre.core.scope import Lookups
from tickets.addresses import is_address
from tickets.html import OWN_TEXT
from tickets.models.mail_login import SERVERS, MailLogin
from tickets.models.team import Team
from tickets.placeholders import check_placeholders
from tickets.reasons import translated


class _NextQueueId(Func):
    """The next id of the sequence that call queues and ticket queues share, so that a report can name either."""

    function = "nextval"
    output_field = models.BigIntegerField()

    def __init__(self) -> None:
        super().__init__(Value("telephony_queue_id_seq"))


class TicketQueueQuerySet(models.QuerySet["TicketQueue"]):
    def active(self) -> "TicketQueueQuerySet":
        return self.filter(is_active=True)

    def polled(self) -> "TicketQueueQuerySet":
        """Return active queues that have a mailbox."""
        return self.active().exclude(imap_host="")

    def with_tokens(self) -> "TicketQueueQuerySet":
        """Return active queues whose mail servers get tokens instead of a password."""
        return self.polled().exclude(imap_login=MailLogin.PASSWORD)

    def unable_to_send(self) -> "TicketQueueQuerySet":
        """Return active queues whose own SMTP server could not be used at the last attempt."""
        return self.active().exclude(smtp_host="").exclude(smtp_failing_since=None)

    def unread(self, since: datetime) -> "TicketQueueQuerySet":
        """Return queues whose mailbox cannot be read, or was not read after this instant."""
        last_read = Coalesce("read_at", "created_at")
        is_unread = Q(failing_since__isnull=False) | Q(last_read__lt=since)
        return self.polled().alias(last_read=last_read).filter(is_unread)


@audited(
    ignored=(
        "imap_validity",
        "imap_last_uid",
        "imap_pending",
        "imap_stuck_uid",
        "imap_stuck_count",
        "polled_at",
        "read_at",
        "failing_since",
        "poll_error",
        "smtp_failing_since",
        "smtp_failed_at",
        "smtp_error",
        "smtp_minute",
        "smtp_count",
    ),
    secret=("imap_password", "smtp_password", "unlimited_senders"),
)
class TicketQueue(NamedModel):
    """A queue of tickets of one kind, with its mail address, mailbox and signature.

    Mail to `address` (read from the IMAP mailbox, or handed in) becomes tickets of the queue; replies are sent from
    it. A queue that is no longer wanted is made inactive, never deleted, because tickets are in it.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_ticket_queues": "id"}

    id = models.BigIntegerField(primary_key=True, db_default=_NextQueueId(), editable=False)
    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(pgettext_lazy("of a queue", "active"), default=True)

    team = models.ForeignKey(
        Team,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="queues",
        verbose_name=_("team"),
        help_text=_("New tickets of the queue, and tickets without an agent that are moved into it, get this team."),
    )

    address = models.EmailField(_("e-mail address"), blank=True, help_text=_("Replies are sent from it."))
    sender_name = models.CharField(_("sender's name"), max_length=100, blank=True)
    signature = CleanHtmlField(_("signature"), policy=OWN_TEXT, blank=True, help_text=_("HTML that ends every reply."))
    template = models.TextField(
        _("template"), blank=True, help_text=_("HTML around a reply; {{ body }} and {{ signature }} stand in it.")
    )
    language = models.CharField(
        _("language"),
        max_length=10,
        choices=languages,
        default=settings.LANGUAGE_CODE,
        help_text=_("Of what the service itself writes to customers."),
    )
    asks_for_rating = models.BooleanField(
        _("asks for ratings"), default=False, help_text=_("Each reply ends with a link by which it is rated.")
    )
    acknowledges = models.BooleanField(_("acknowledges new mail"), default=False)
    acknowledgement = CleanHtmlField(
        _("acknowledgement"), policy=OWN_TEXT, blank=True, help_text=_("HTML of that mail.")
    )

    imap_login = models.CharField(
        _("log-in"),
        max_length=20,
        choices=MailLogin,
        default=MailLogin.PASSWORD,
        db_default=MailLogin.PASSWORD,
        help_text=_("With Google and Microsoft 365 the servers are theirs, and the user is the mailbox's address."),
    )
    imap_host = models.CharField(_("IMAP server"), max_length=200, blank=True)
    imap_port = models.PositiveIntegerField(
        _("IMAP port"), default=993, validators=[MinValueValidator(1), MaxValueValidator(65535)]
    )
    imap_uses_tls = models.BooleanField(
        _("TLS"), default=True, help_text=_("From the first byte on, usually on port 993; without it STARTTLS, on 143.")
    )
    imap_allows_plain = models.BooleanField(
        _("no encryption"),
        default=False,
        db_default=False,
        help_text=_(
            "User, password and mails can be read on the way. Only for servers within MAILBOX_ALLOWED_NETWORKS."
        ),
    )
    imap_user = models.CharField(_("IMAP user"), max_length=200, blank=True)
    imap_password = EncryptedTextField(_("IMAP password"), blank=True)
    imap_folder = models.CharField(_("folder"), max_length=200, default="INBOX")
    # The position in the mailbox: its UIDVALIDITY (RFC 9051) and the last UID that was read.
    imap_validity = models.BigIntegerField(null=True, editable=False)
    imap_last_uid = models.BigIntegerField(default=0, editable=False)
    # UIDs to fetch besides those after the last one.
    imap_pending = ArrayField(models.BigIntegerField(), default=list, blank=True, editable=False)
    # The mail at which polls fail, and how many polls in a row have failed. After some of them it is skipped.
    imap_stuck_uid = models.BigIntegerField(null=True, editable=False)
    imap_stuck_count = models.PositiveSmallIntegerField(default=0, editable=False)
    # The last poll, the last one without an error, and since when and why polls fail.
    polled_at = models.DateTimeField(_("last polled"), null=True, editable=False)
    read_at = models.DateTimeField(_("last read"), null=True, editable=False)
    failing_since = models.DateTimeField(_("failing since"), null=True, editable=False)
    poll_error = models.CharField(_("last error"), max_length=500, blank=True, editable=False)

    smtp_host = models.CharField(
        _("SMTP server"),
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=_("It sends the mail of this queue. Empty: the server of the service (EMAIL_HOST)."),
    )
    smtp_port = models.PositiveIntegerField(
        _("SMTP port"), default=587, db_default=587, validators=[MinValueValidator(1), MaxValueValidator(65535)]
    )
    smtp_uses_tls = models.BooleanField(
        _("TLS"),
        default=False,
        db_default=False,
        help_text=_("From the first byte on, usually on port 465; without it STARTTLS, on 587."),
    )
    smtp_allows_plain = models.BooleanField(
        _("no encryption"),
        default=False,
        db_default=False,
        help_text=_(
            "User, password and mails can be read on the way. Only for servers within MAILBOX_ALLOWED_NETWORKS."
        ),
    )
    smtp_uses_mailbox = models.BooleanField(
        _("log in as to the mailbox"),
        default=False,
        db_default=False,
        help_text=_("With the mailbox's account at Google or Microsoft 365, to their server."),
    )
    smtp_user = models.CharField(_("SMTP user"), max_length=200, blank=True, default="", db_default="")
    smtp_password = EncryptedTextField(_("SMTP password"), blank=True, default="", db_default="")
    smtp_limit = models.PositiveIntegerField(
        _("mails a minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Further ones wait for the next minute. Empty: no limit."),
    )
    # Since when, and at the last attempt, the server cannot be reached or refuses the log-in, and why.
    smtp_failing_since = models.DateTimeField(null=True, editable=False)
    smtp_failed_at = models.DateTimeField(null=True, editable=False)
    smtp_error = models.CharField(max_length=500, blank=True, default="", db_default="", editable=False)
    # The last minute in which it got mails, and how many.
    smtp_minute = models.DateTimeField(null=True, editable=False)
    smtp_count = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    sender_limit = models.PositiveIntegerField(
        _("mails of one sender within an hour"),
        null=True,
        blank=True,
        default=50,
        db_default=50,
        validators=[MinValueValidator(1)],
        help_text=_("Further ones go to quarantine: another machine may be answering ours. Empty: no limit."),
    )
    unlimited_senders = models.TextField(
        _("senders without that limit"),
        blank=True,
        default="",
        db_default="",
        help_text=_("One address (shop@partner.example) or domain (partner.example) a line."),
    )

    objects = TicketQueueQuerySet.as_manager()

    class Meta:
        verbose_name = _("ticket queue")
        verbose_name_plural = _("ticket queues")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["address"],
                condition=~Q(address=""),
                name="ticketqueue_address_is_unique",
                violation_error_message=_("Another queue has this address."),
            )
        ]

    @property
    def active_team(self) -> Team | None:
        """The team that new tickets get."""
        return self.team if self.team and self.team.is_active else None

    @property
    def login(self) -> MailLogin:
        return MailLogin(self.imap_login)

    @property
    def why_not_sent(self) -> str:
        """Why its SMTP server takes no mail, in the language of the reader."""
        return translated(self.smtp_error)

    @property
    def why_not_read(self) -> str:
        """The last error, in the language of the reader."""
        return translated(self.poll_error)

    def may_send_more(self, sender: str, count: int) -> bool:
        """Return whether a sender with `count` mails within the hour may send another one."""
        if self.sender_limit is None or count < self.sender_limit:
            return True
        address = sender.lower()
        return not {address, address.rpartition("@")[2]}.isdisjoint(self.unlimited_senders.lower().split())

    def clean(self) -> None:
        for entry in self.unlimited_senders.split():
            if not is_address(entry if "@" in entry else f"x@{entry}"):
                wrong = _("%(entry)s is neither an address nor a domain.") % {"entry": entry}
                raise ValidationError({"unlimited_senders": wrong})
        self._check_servers()
        check_placeholders(
            signature=(self.signature, ()),
            acknowledgement=(self.acknowledgement, ()),
            template=(self.template, ("body", "signature")),
        )

    def _check_servers(self) -> None:
        """Set the servers of the provider, which alone get its tokens, or check those that were entered."""
        provider = self.login.provider
        if provider:
            self.imap_host, self.imap_port = SERVERS[provider].imap_host, SERVERS[provider].imap_port
            self.imap_uses_tls, self.imap_allows_plain = True, False
            if not is_address(self.imap_user):
                raise ValidationError({"imap_user": _("Enter the address of the mailbox.")})
        if self.smtp_uses_mailbox:
            if not provider:
                wrong = _("Only for a mailbox at Google or Microsoft 365: enter user and password here instead.")
                raise ValidationError({"smtp_uses_mailbox": wrong})
            self.smtp_host, self.smtp_port = SERVERS[provider].smtp_host, SERVERS[provider].smtp_port
            self.smtp_uses_tls, self.smtp_allows_plain = False, False
        for name in ("imap", "smtp"):
            if getattr(self, f"{name}_uses_tls") and getattr(self, f"{name}_allows_plain"):
                raise ValidationError({f"{name}_allows_plain": _("Choose TLS or no encryption, not both.")})
        if self.smtp_host and not self.address:
            raise ValidationError({"address": _("The SMTP server of a queue sends from the queue's own address.")})
