from typing import ClassVar, NamedTuple

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited

# The names of the installed statuses. People read them in their language, until a status gets another name. Programs
# and system comments use the name itself.
_INSTALLED = {
    "New": pgettext_lazy("name of a status", "New"),
    "Waiting for customer": pgettext_lazy("name of a status", "Waiting for customer"),
    "Postponed": pgettext_lazy("name of a status", "Postponed"),
    "Merged": pgettext_lazy("name of a status", "Merged"),
    "In progress": pgettext_lazy("name of a status", "In progress"),
    "Closed": pgettext_lazy("name of a status", "Closed"),
}


def full_name(status: "TicketStatus", substatus: "TicketSubstatus | None") -> str:
    return f"{status.name} - {substatus.name}" if substatus else status.name


def as_read(full_name: str) -> str:
    """Return the full name of a status, which a system comment has, in the language of the reader."""
    name, dash, substatus = full_name.partition(" - ")
    return f"{_INSTALLED.get(name, name)}{dash}{substatus}"


class Meaning(NamedTuple):
    """The meaning of a kind of statuses: how the service treats tickets of such a status."""

    # Of the label.
    colour: str
    # Whether the tickets wait for an agent: they are listed as open, and a reply moves them on.
    is_open: bool = False
    # Whether the time is no working time of the queue's targets.
    stops_clock: bool = False
    # Whether a ticket is done with.
    is_over: bool = False
    # Whether people may choose the status.
    is_choice: bool = True


@audited()
class TicketStatus(models.Model):
    """A status that tickets can have. What the service does with them goes by `kind`; a kind may have several.

    Of a kind's statuses the one with the lowest order is what a ticket gets when it moves by itself.
    """

    class Kind(models.TextChoices):
        NEW = "new", pgettext_lazy("of a ticket", "new")
        WAITING_FOR_CUSTOMER = "waiting_for_customer", _("waiting for customer")
        POSTPONED = "postponed", _("postponed")
        MERGED = "merged", pgettext_lazy("of a ticket", "merged")
        IN_PROGRESS = "in_progress", _("in progress")
        CLOSED = "closed", pgettext_lazy("of a ticket", "closed")

    MEANINGS: ClassVar[dict[str, Meaning]] = {
        Kind.NEW: Meaning("danger", is_open=True),
        Kind.WAITING_FOR_CUSTOMER: Meaning("info", stops_clock=True),
        Kind.POSTPONED: Meaning("info"),
        Kind.MERGED: Meaning("success", is_over=True, is_choice=False),
        Kind.IN_PROGRESS: Meaning("warning", is_open=True),
        Kind.CLOSED: Meaning("success", is_over=True),
    }

    name = models.CharField(_("name"), max_length=100, unique=True)
    kind = models.CharField(_("kind"), max_length=25, choices=Kind)
    order = models.PositiveIntegerField(_("order"), default=50)

    class Meta:
        verbose_name = _("status")
        verbose_name_plural = _("statuses")
        ordering = ["order", "id"]

    def __str__(self) -> str:
        return str(_INSTALLED.get(self.name, self.name))

    @property
    def meaning(self) -> Meaning:
        return self.MEANINGS[self.kind]


OPEN_KINDS = [kind for kind, meaning in TicketStatus.MEANINGS.items() if meaning.is_open]


@audited(part_of="status")
class TicketSubstatus(models.Model):
    """A finer word for a status: "Closed - Refused". Cleared when the ticket moves to another status."""

    status = models.ForeignKey(
        TicketStatus, models.CASCADE, related_name="substatuses", verbose_name=_("status"), db_index=False
    )
    name = models.CharField(_("name"), max_length=100)
    order = models.PositiveIntegerField(_("order"), default=50)

    class Meta:
        verbose_name = _("sub-status")
        verbose_name_plural = _("sub-statuses")
        ordering = ["order", "id"]
        constraints = [models.UniqueConstraint(fields=["status", "name"], name="ticketsubstatus_name_is_unique")]

    def __str__(self) -> str:
        return f"{self.status} - {self.name}"


class _Named(models.Model):
    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(_("active"), default=True)

    class Meta:
        abstract = True
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


@audited()
class TicketCategory(_Named):
    """A category of tickets, as the company names it."""

    class Meta(_Named.Meta):
        verbose_name = _("category")
        verbose_name_plural = _("categories")


@audited()
class TicketType(_Named):
    """A type of tickets, as the company names it: a question, a complaint, an order."""

    class Meta(_Named.Meta):
        verbose_name = _("type of tickets")
        verbose_name_plural = _("types of tickets")
