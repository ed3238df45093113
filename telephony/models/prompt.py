"""Menus before queues, prompts, and the step of each caller who hears them."""

from datetime import datetime
from typing import Any, ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel
from callcentre.core.file_removals import FileRemoval
from callcentre.core.scope import Lookups
from telephony.models.connection import Connection
from telephony.models.queue import LANGUAGE, NUMBER, Queue


@audited()
class Menu(NamedModel):
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


@audited(part_of="menu")
class MenuEntry(models.Model):
    """Where a key of a menu leads. Of several entries with one key the first counts whose condition holds."""

    KEYS = [(key, key) for key in "1234567890*#"]

    menu = models.ForeignKey(Menu, models.CASCADE, related_name="entries")
    key = models.CharField(_("key"), max_length=1, choices=KEYS)
    while_open = models.ForeignKey(
        Queue, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("only while this queue is open")
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
            )
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


@audited()
class Prompt(models.Model):
    """A recorded sentence for the callers of a queue or of a menu, in one language.

    `number` chooses among sentences of one kind: of those for a place or an estimated wait the caller hears the one
    with the highest number that is not above the caller's own.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id"}

    class Kind(models.TextChoices):
        GREETING = "greeting", _("greeting")
        PLACE = "place", _("place among the callers")
        WAIT = "wait", _("estimated wait in minutes")
        CLOSED = "closed", _("the queue is closed or full")
        VOICEMAIL = "voicemail", _("leave a message")
        CALLBACK = "callback", _("the caller is called back")
        CHOICES = "choices", _("choices of the menu")
        WRONG = "wrong", _("no such choice")
        INFORMATION = "information", _("information")

    OF_QUEUE = (Kind.GREETING, Kind.PLACE, Kind.WAIT, Kind.CLOSED, Kind.VOICEMAIL, Kind.CALLBACK)
    OF_MENU = (Kind.CHOICES, Kind.WRONG, Kind.INFORMATION)

    queue = models.ForeignKey(
        Queue, models.CASCADE, null=True, related_name="prompts", verbose_name=_("queue"), db_index=False
    )
    menu = models.ForeignKey(
        Menu, models.CASCADE, null=True, related_name="prompts", verbose_name=_("menu"), db_index=False
    )
    kind = models.CharField(_("kind"), max_length=12, choices=Kind)
    language = models.CharField(_("language"), max_length=2, validators=[LANGUAGE])
    number = models.PositiveSmallIntegerField(
        _("from number"), default=0, help_text=_("Of a place or of minutes: heard from this number on.")
    )
    file = models.FileField(_("sound"), upload_to="prompts/")
    seconds = models.FloatField(_("length in s"), default=0)

    class Meta:
        verbose_name = _("prompt")
        verbose_name_plural = _("prompts")
        ordering = ["kind", "language", "number", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["queue", "menu", "kind", "language", "number"],
                name="prompt_is_unique",
                nulls_distinct=False,
                violation_error_message=_("There is such a prompt already."),
            ),
            models.CheckConstraint(
                name="prompt_has_one_owner",
                condition=Q(
                    queue__isnull=False,
                    menu__isnull=True,
                    kind__in=["greeting", "place", "wait", "closed", "voicemail", "callback"],
                )
                | Q(queue__isnull=True, menu__isnull=False, kind__in=["choices", "wrong", "information"]),
            ),
        ]

    def __str__(self) -> str:
        number = f" {self.number}" if self.number else ""
        return f"{self.get_kind_display()}{number} ({self.language})"

    @property
    def owner(self) -> Queue | Menu | None:
        return self.queue or self.menu

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        FileRemoval.add([str(self.file.name)])
        return super().delete(*args, **kwargs)


class CallerStep(models.Model):
    """Where a caller without an agent stands: what is heard, and when the listener goes on by itself.

    One row for each call that has heard a prompt. `due_at` is the time of the next prompt of a queue, the end of the
    wait for a key, or the time by which a sound or a message is over, in case that its end is not reported; NULL if
    nothing is due, as in a talk.
    """

    # The steps CLOSED, VOICEMAIL and CALLBACK are named like their prompts.
    class Kind(models.TextChoices):
        QUEUE = "queue", _("waits in a queue")
        CLOSED = "closed", _("hears that the queue is closed")
        VOICEMAIL = "voicemail", _("is asked for a message")
        CALLBACK = "callback", _("hears that we call back")
        RECORDING = "recording", _("leaves a message")
        MENU = "menu", _("in a menu")

    connection = models.OneToOneField(Connection, models.CASCADE, primary_key=True, related_name="caller_step")
    kind = models.CharField(max_length=10, choices=Kind)
    menu = models.ForeignKey(Menu, models.PROTECT, null=True, related_name="+")
    # Wrong keys and time-outs in this menu, and everything that was heard or pressed in menus.
    tries = models.PositiveSmallIntegerField(default=0)
    steps = models.PositiveSmallIntegerField(default=0)
    # A sound is played: the one with this count.
    is_playing = models.BooleanField(default=False)
    play_count = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        ordering = ["connection"]
        indexes = [models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="callerstep_due")]

    def __str__(self) -> str:
        return f"{self.connection_id}: {self.kind}"
