"""Menus before queues: the caller presses a key."""

from datetime import datetime

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import TimestampedModel
from telephony.models.queue import LANGUAGE, NUMBER, Queue


@audited()
class Menu(TimestampedModel):
    """A menu that callers of its number, or of an entry of another menu, hear first.

    It ends for each caller: by a key that leads out of it, or after the tries. An unused menu is made inactive.
    """

    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(pgettext_lazy("of a menu", "active"), default=True)
    number = models.CharField(
        _("number"),
        max_length=40,
        blank=True,
        validators=[NUMBER],
        help_text=_("Calls to this number hear the menu, also if a queue has the same number."),
    )
    prompt_language = models.CharField(
        _("language"),
        max_length=2,
        blank=True,
        validators=[LANGUAGE],
        help_text=_("Of callers in whose language there is no prompt, two letters such as pl."),
    )
    key_seconds = models.PositiveSmallIntegerField(
        _("wait for a key in s"), default=6, validators=[MinValueValidator(1), MaxValueValidator(60)]
    )
    most_tries = models.PositiveSmallIntegerField(
        _("tries"), default=3, validators=[MinValueValidator(1), MaxValueValidator(10)]
    )
    end_queue = models.ForeignKey(
        Queue, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("afterwards to the queue")
    )
    end_number = models.CharField(
        _("afterwards to the number"),
        max_length=40,
        blank=True,
        validators=[NUMBER],
        help_text=_("Where callers go who have pressed no key of the menu; empty: they are disconnected."),
    )

    class Meta:
        verbose_name = pgettext_lazy("of callers", "menu")
        verbose_name_plural = pgettext_lazy("of callers", "menus")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["number"],
                name="menu_number_is_unique",
                condition=~Q(number=""),
                violation_error_message=_("Another menu has this number."),
            ),
            models.CheckConstraint(
                name="menu_ends_in_one_place",
                condition=Q(end_queue__isnull=True) | Q(end_number=""),
                violation_error_message=_("A menu ends in a queue or at a number, not both."),
            ),
        ]

    def __str__(self) -> str:
        return self.name


@audited(part_of="menu")
class MenuEntry(models.Model):
    """Where a key of a menu leads. Of several entries with one key the first counts whose condition holds."""

    KEYS = [(key, key) for key in "1234567890*#"]

    menu = models.ForeignKey(Menu, models.CASCADE, related_name="entries")
    key = models.CharField(_("key"), max_length=1, choices=KEYS)
    while_open = models.ForeignKey(
        Queue,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("only while this queue is open"),
    )
    to_menu = models.ForeignKey(
        Menu, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("to the menu")
    )
    queue = models.ForeignKey(
        Queue, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("to the queue")
    )
    number = models.CharField(_("to the number"), max_length=40, blank=True, validators=[NUMBER])
    information = models.PositiveSmallIntegerField(
        _("to the information"), null=True, blank=True, help_text=_("The number of a prompt; then the menu again.")
    )

    class Meta:
        verbose_name = _("key of a menu")
        verbose_name_plural = _("keys of a menu")
        ordering = ["key", "id"]
        constraints = [
            models.CheckConstraint(
                name="menuentry_leads_to_one_place",
                condition=Q(to_menu__isnull=False, queue=None, number="", information=None)
                | Q(to_menu=None, queue__isnull=False, number="", information=None)
                | (Q(to_menu=None, queue=None, information=None) & ~Q(number=""))
                | Q(to_menu=None, queue=None, number="", information__isnull=False),
                violation_error_message=_("A key leads to one place: a menu, a queue, a number or an information."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key} → {self.place}"

    @property
    def place(self) -> str:
        if self.information is not None:
            return f"{_('information')} {self.information}"
        return str(self.to_menu or self.queue or self.number)

    def holds(self, at: datetime) -> bool:
        return self.while_open is None or self.while_open.is_open(at)
