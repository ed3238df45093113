from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from reports.periods import Level
from telephony.models import Agent


class Rollup(models.Model):
    """An agent's row of the report for one whole hour, day, week, month or year: all that is over, summed.

    Written by the worker from the ledgers, and thrown away whenever one of them changes; never edited. `queue_id` 0
    is everything, with the agent's own time; other rows are what came by one queue, of calls, chats or tickets.
    """

    level = models.PositiveSmallIntegerField(_("period"), choices=Level)
    queue_id = models.BigIntegerField(_("queue"))
    agent = models.ForeignKey(
        Agent, models.CASCADE, related_name="+", db_constraint=False, db_index=False, verbose_name=_("agent")
    )
    started_at = models.DateTimeField(_("from"))
    # Of an hour: which one of the day.
    hour = models.PositiveSmallIntegerField()
    # The agent's own time is in it: he was logged in, paused, or wrapped something up.
    has_time = models.BooleanField()

    offered = models.IntegerField()
    answered = models.IntegerField()
    transferred = models.IntegerField()
    talk_seconds = models.IntegerField()
    wait_seconds = models.IntegerField()
    chats_closed = models.IntegerField()
    chats_answered = models.IntegerField()
    tickets_closed = models.IntegerField()
    tickets_answered = models.IntegerField()
    replies = models.IntegerField()
    login_seconds = models.IntegerField()
    free_count = models.IntegerField()
    free_seconds = models.IntegerField()
    wrap_up_seconds = models.IntegerField()
    first_login_at = models.DateTimeField(null=True)
    last_logout_at = models.DateTimeField(null=True)
    pause_ids = ArrayField(models.BigIntegerField())
    pause_counts = ArrayField(models.IntegerField())
    pause_seconds = ArrayField(models.IntegerField())

    # Outbound calls that were talked, and those that were not.
    talked_count = models.IntegerField()
    talked_seconds = models.IntegerField()
    silent_count = models.IntegerField()
    # The lengths of their talks, ascending, 0 among them; up to each of them, how many calls and how many seconds.
    call_lengths = ArrayField(models.IntegerField())
    call_counts = ArrayField(models.IntegerField())
    call_seconds = ArrayField(models.IntegerField())

    class Meta:
        verbose_name = _("sum of the report")
        verbose_name_plural = _("sums of the report")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["level", "queue_id", "agent", "started_at"],
                name="rollup_is_unique",
                include=["has_time", "hour"],
            )
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.started_at:%Y-%m-%d %H:%M}"


class StaleRollup(models.Model):
    """A period of an agent whose row is to be summed anew: an hour of it has changed. Until then nobody reads it."""

    level = models.PositiveSmallIntegerField(choices=Level)
    agent_id = models.BigIntegerField()
    started_at = models.DateTimeField()

    class Meta:
        verbose_name = _("stale sum of the report")
        verbose_name_plural = _("stale sums of the report")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["agent_id", "level", "started_at"], name="stalerollup_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.started_at:%Y-%m-%d %H:%M}"


def column_names(model: type[models.Model]) -> list[str]:
    """Of the table, in the order of the model, but for the key that the database gives."""
    fields: list[Any] = [field for field in model._meta.concrete_fields if not field.primary_key]
    return [field.column for field in fields]
