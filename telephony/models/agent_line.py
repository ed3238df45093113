from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.statements import rows_of
from telephony import causes
from telephony.models.agent import Agent


class AgentLine(models.Model):
    """The standing line of an agent: a channel to the agent's phone that stays up between calls. It is never a leg.

    The row is committed before the switch is asked. A line whose `hangup_asked_at` is set ends as soon as it is in no
    call, or at once if it has a `cause`, as when its phone is gone. `connection_id` is its call, NULL between calls;
    `role` is the agent's part in this call. The agent is asked to join by a tone, or by ringing if the line begins with
    this call, until `joined_at`.
    """

    class State(models.TextChoices):
        ASKED = "asked", _("asked for")
        RINGING = "ringing", _("ringing")
        UP = "up", _("up")
        REFUSED = "refused", _("refused")
        ENDED = "ended", _("ended")

    agent = models.ForeignKey(Agent, models.PROTECT, db_index=False, related_name="lines", verbose_name=_("agent"))
    channel_id = models.CharField(_("channel"), max_length=80, unique=True)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.ASKED)
    asked_at = models.DateTimeField(_("asked for"))
    up_at = models.DateTimeField(_("up"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    hangup_asked_at = models.DateTimeField(null=True)
    connection_id = models.BigIntegerField(null=True)
    role = models.CharField(max_length=10, blank=True, default="", db_default="")
    called_at = models.DateTimeField(null=True)
    joined_at = models.DateTimeField(null=True)
    cause = models.PositiveSmallIntegerField(_("cause (Q.850)"), null=True)
    cause_text = models.CharField(_("reason"), max_length=causes.LONGEST, blank=True)

    class Meta:
        verbose_name = _("standing line")
        verbose_name_plural = _("standing lines")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["agent"], condition=Q(ended_at=None), name="agentline_one_open_of_agent")
        ]
        indexes = [
            models.Index(fields=["agent", "-id"], name="agentline_of_agent"),
            models.Index(fields=["connection_id"], condition=Q(connection_id__isnull=False), name="agentline_in_call"),
        ]

    def __str__(self) -> str:
        return self.channel_id

    @staticmethod
    def next_id() -> int:
        """Reserve an id for a line, which its channel contains."""
        return int(rows_of("SELECT nextval(pg_get_serial_sequence('telephony_agentline', 'id'))")[0][0])
