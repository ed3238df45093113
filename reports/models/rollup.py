from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _


class Rollup(models.Model):
    """An agent's row of the report for one whole hour, day or month: the sums of everything that is over.

    The worker writes it from the ledgers, and replaces it whenever one of them changes; it is never edited. The row
    with `queue_id` 0 is everything, with the agent's own time; other rows are the calls, chats and tickets of a queue.
    There are hundreds of them for each agent and month, so they are narrow: NULL stands for the sum of nothing, and
    takes no space, and the key is the only index. `reports.figures` defines the columns.
    """

    pk = models.CompositePrimaryKey("agent_id", "level", "queue_id", "started_at")
    started_at = models.DateTimeField(_("from"))
    first_login_at = models.DateTimeField(null=True)
    last_logout_at = models.DateTimeField(null=True)
    agent_id = models.IntegerField(_("agent"))
    queue_id = models.IntegerField(_("queue"))

    offered = models.IntegerField(null=True)
    answered = models.IntegerField(null=True)
    not_answered = models.IntegerField(null=True)
    transferred = models.IntegerField(null=True)
    talk_seconds = models.IntegerField(null=True)
    wait_seconds = models.IntegerField(null=True)
    calls = models.IntegerField(null=True)
    calls_seconds = models.IntegerField(null=True)
    calls_talked = models.IntegerField(null=True)
    chats_closed = models.IntegerField(null=True)
    tickets_closed = models.IntegerField(null=True)
    replies = models.IntegerField(null=True)
    login_seconds = models.IntegerField(null=True)
    free_count = models.IntegerField(null=True)
    free_seconds = models.IntegerField(null=True)
    pause_count = models.IntegerField(null=True)
    pause_seconds = models.IntegerField(null=True)
    wrap_up_seconds = models.IntegerField(null=True)
    consultations = models.IntegerField(null=True)
    consulting_seconds = models.IntegerField(null=True)
    level = models.PositiveSmallIntegerField(_("period"))
    pauses = models.JSONField(null=True)
    call_lengths = ArrayField(models.IntegerField(), null=True)
    call_counts = ArrayField(models.IntegerField(), null=True)
    call_seconds = ArrayField(models.IntegerField(), null=True)
    answer_delays = ArrayField(models.IntegerField(), null=True)
    answer_counts = ArrayField(models.IntegerField(), null=True)
    chat_ids = ArrayField(models.UUIDField(), null=True)
    ticket_ids = ArrayField(models.BigIntegerField(), null=True)

    class Meta:
        db_table = "reports_sums"
        verbose_name = _("sum of the report")
        verbose_name_plural = _("sums of the report")
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.started_at:%Y-%m-%d %H:%M}"


class RollupProgress(models.Model):
    """The instant until which there are rollups of days, or of months. The worker moves it forward.

    The row of level FINAL is the instant before which a retention has deleted ledgers. Rollups before it are final:
    they are never summed anew or compared.
    """

    FINAL = 0

    level = models.PositiveSmallIntegerField(_("period"), primary_key=True)
    until = models.DateTimeField(_("to"))

    class Meta:
        verbose_name = _("progress of the sums")
        verbose_name_plural = _("progress of the sums")
        ordering = ["level"]

    def __str__(self) -> str:
        return f"{self.level} {self.until:%Y-%m-%d %H:%M}"
