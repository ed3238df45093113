from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from telephony.models import Agent


class Level(models.IntegerChoices):
    HOUR = 1
    DAY = 2
    MONTH = 4


class Rollup(models.Model):
    """An agent's row of the report for one whole hour, day or month: the sums of everything that is over.

    The worker writes it from the ledgers, and replaces it whenever one of them changes; it is never edited. The row
    with `queue_id` 0 is everything, with the agent's own time; other rows are the calls, chats and tickets of a queue.
    """

    level = models.PositiveSmallIntegerField(_("period"), choices=Level)
    queue_id = models.BigIntegerField(_("queue"))
    agent = models.ForeignKey(
        Agent, models.CASCADE, related_name="+", db_constraint=False, db_index=False, verbose_name=_("agent")
    )
    started_at = models.DateTimeField(_("from"))
    # The hour of the day at which the period starts.
    hour = models.PositiveSmallIntegerField()
    # Whether it has time of the agent's own: logged in, ready, paused or in wrap-up.
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

    # Outbound calls with a talk, and those without.
    talked_count = models.IntegerField()
    talked_seconds = models.IntegerField()
    silent_count = models.IntegerField()
    # The lengths of their talks, ascending, 0 among them; up to each length, how many calls and how many seconds.
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
    """A mark: an hour of this day or month of an agent has changed. Its row is not read until it is summed anew."""

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
