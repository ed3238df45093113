"""Rules, which act on tickets by themselves, and macros, which people use: conditions and actions of the vocabulary."""

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar
from uuid import UUID, uuid4

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel
from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups
from callcentre.core.statements import Statement, rows_of
from tickets.models.custom_field import CustomField
from tickets.models.ticket import Ticket

T = TypeVar("T")


class Happening(models.TextChoices):
    """The events of a ticket. Automatic messages, such as notes of absence, are none."""

    OPENED = "opened", _("a ticket is opened")
    RECEIVED = "received", _("the customer writes")
    REPLIED = "replied", _("an agent replies")
    COMMENTED = "commented", _("a comment is written")
    CHANGED = "changed", _("a ticket is changed")


class Anchor(models.TextChoices):
    """The time of a ticket from which a rule counts."""

    CREATED = "created_at", pgettext_lazy("time of a ticket", "it was opened")
    UPDATED = "updated_at", pgettext_lazy("time of a ticket", "it last changed")
    AWAITING = "awaiting_since", pgettext_lazy("time of a ticket", "the customer waits for a response")
    WAITING = "waiting_since", pgettext_lazy("time of a ticket", "it waits for the customer")
    POSTPONED = (
        "postponed_until",
        pgettext_lazy("time of a ticket", "it comes back after being postponed"),
    )
    CLOSED = "closed_at", pgettext_lazy("time of a ticket", "it was closed")
    RESPONSE = "response_due_at", pgettext_lazy("time of a ticket", "its response is due")
    RESOLUTION = "resolution_due_at", pgettext_lazy("time of a ticket", "its resolution is due")


# Ten years.
_MOST_MINUTES = 5_256_000


def check_minutes(row: models.Model, *names: str) -> None:
    """Raise ValidationError for more minutes than a calendar knows."""
    for name in names:
        if (minutes := getattr(row, name)) is not None:
            try:
                MaxValueValidator(_MOST_MINUTES)(abs(minutes))
            except ValidationError as error:
                raise ValidationError({name: error.messages}) from error


class Conditional(NamedModel):
    """The columns of what holds for the tickets that meet conditions."""

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    name = models.CharField(_("name"), max_length=100, unique=True)
    order = models.PositiveIntegerField(_("order"), default=50)
    is_active = models.BooleanField(_("active"), default=True)
    # Conditions that must all hold (tickets/models/vocabulary.py).
    conditions = models.JSONField(_("conditions"), default=list, blank=True)

    class Meta:
        abstract = True
        ordering = ["order", "id"]


class Automation(Conditional):
    """The columns that rules and macros share."""

    # Name -> value (tickets/models/vocabulary.py).
    actions = models.JSONField(_("actions"), default=dict, blank=True)

    class Meta(Conditional.Meta):
        abstract = True


@audited(ignored=("trouble", "since"))
class Rule(Automation):
    """A rule runs after a change of a ticket, or some time after one of its times.

    All rules of one change see the ticket as the change left it, and run in their order, each at most once. What a rule
    does starts other rules only if it says so.
    """

    events = ArrayField(
        models.CharField(max_length=20, choices=Happening),
        default=list,
        blank=True,
        verbose_name=_("when"),
    )
    anchor = models.CharField(pgettext_lazy("of a rule", "since"), max_length=20, choices=Anchor, blank=True)
    # Before the due times if it is negative.
    after_minutes = models.IntegerField(_("minutes after"), null=True, blank=True)
    starts_others = models.BooleanField(
        _("starts other rules"),
        default=False,
        help_text=_("Other rules then run because of what this one has changed."),
    )
    # A rule of time takes no ticket whose time came before this.
    since = models.DateTimeField(db_default=Now(), editable=False)
    # Why it could not do all that it says at its last run; "" if it could.
    trouble = models.CharField(_("last error"), max_length=500, blank=True, default="", editable=False)

    def clean(self) -> None:
        check_minutes(self, "after_minutes")

    class Meta(Automation.Meta):
        verbose_name = _("rule of tickets")
        verbose_name_plural = _("rules of tickets")
        constraints = [
            models.CheckConstraint(
                name="rule_has_one_start",
                condition=Q(anchor="", after_minutes=None) & ~Q(events=[])
                | ~Q(anchor="") & Q(after_minutes__isnull=False, events=[]),
                violation_error_message=_("Choose what happens, or a time with its minutes, not both."),
            )
        ]


@audited()
class Macro(Automation):
    """Several actions that a person does to a ticket in one click."""

    class Meta(Automation.Meta):
        verbose_name = _("macro")
        verbose_name_plural = _("macros")


class RuleRun(models.Model):
    """A rule of time has run for a ticket and this time of it. It runs again once that time has changed."""

    rule = models.ForeignKey(Rule, models.CASCADE, related_name="runs")
    ticket = models.ForeignKey(Ticket, models.CASCADE, related_name="+")
    anchored_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["rule", "ticket"], name="rulerun_one_of_ticket")]

    def __str__(self) -> str:
        return f"{self.rule_id}: #{self.ticket_id}"


class AutomationState(models.Model):
    """The states of all rules and of all service levels: one row with tokens, which each change of them replaces.

    A process that has read them compares the token before it uses them.
    """

    token = models.UUIDField(default=uuid4)
    levels_token = models.UUIDField(default=uuid4)
    # The token of the levels by which the due times of all open tickets were computed.
    computed_token = models.UUIDField(null=True)

    class Meta:
        ordering = ["id"]
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.token)

    @classmethod
    def replace(cls, name: str) -> None:
        cls.objects.update_or_create(pk=1, defaults={name: uuid4()})


@receiver((post_save, post_delete), sender=Rule)
def replace_token(**kwargs: Any) -> None:
    AutomationState.replace("token")


@receiver(post_save, sender=CustomField)
def replace_tokens(**kwargs: Any) -> None:
    AutomationState.replace("token")
    AutomationState.replace("levels_token")


class Kept(Generic[T]):
    """The rules or the service levels as this process has read them, and the token that they had."""

    def __init__(self, column: str, read: Callable[[], T], nothing: T) -> None:
        self._statement = Statement("SELECT {column} FROM tickets_automationstate").of(column=column)
        self._read, self._nothing = read, nothing
        # One object: another thread may replace it at any time.
        self._kept: tuple[UUID | None, T] = (None, nothing)

    def get(self) -> T:
        """Return what there is now. If nothing was changed since, that takes one statement."""
        rows = rows_of(self._statement)
        token = rows[0][0] if rows else None
        kept = self._kept
        if token != kept[0]:
            self._kept = kept = (token, self._read() if token else self._nothing)
        return kept[1]
