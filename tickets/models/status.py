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
    def is_over(self) -> bool:
        """Whether a ticket of this status is done with: closed, or merged into another."""
        return self.kind in (self.Kind.CLOSED, self.Kind.MERGED)


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


@audited()
class TicketCategory(models.Model):
    """A category of tickets, as the company names it."""

    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(_("active"), default=True)

    class Meta:
        verbose_name = _("category")
        verbose_name_plural = _("categories")
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name
