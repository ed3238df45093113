"""Prompts, and the step of each caller who hears them."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.deletions import FileRemoval
from callcentre.core.scope import Lookups
from telephony.models.connection import Connection
from telephony.models.menu import Menu
from telephony.models.queue import LANGUAGE, Queue


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


def chosen(prompts: Iterable[Prompt], kind: str, languages: Iterable[str], number: int = 0) -> Prompt | None:
    """Return the prompt of this kind in the first of the languages that has one; in any language without these."""
    fitting = [prompt for prompt in prompts if prompt.kind == kind and prompt.number <= number]
    for language in (*languages, *sorted({prompt.language for prompt in fitting})):
        if of_language := [prompt for prompt in fitting if prompt.language == language]:
            return max(of_language, key=lambda prompt: prompt.number)
    return None


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
