"""The phones of agents: standing lines, and phones in browsers; the last contact with the switch."""

import uuid
from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.encryption import EncryptedTextField
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


# What a window reports that has no microphone: there is none, the browser refuses it, the page has no HTTPS.
NO_MICROPHONE = ("microphone", "denied", "insecure")
# A window reports every five seconds; it is away after this time.
AWAY_AFTER = timedelta(seconds=15)


class BrowserPhoneQuerySet(models.QuerySet["BrowserPhone"]):
    def ready(self) -> "BrowserPhoneQuerySet":
        """Phones that the switch reaches, and that have a microphone."""
        return self.filter(registered_at__isnull=False).exclude(trouble__in=NO_MICROPHONE)


class BrowserPhone(models.Model):
    """The phone in an agent's browser, from the opening of its window until it is closed or the agent logs out.

    The password is made for one window: the next window that opens gets another one, and its `token`. `registered_at`
    is set while the switch reaches the window; without it the agent gets no calls. `closed_at` is set while there is no
    such phone. `trouble` is what the window lacks, for example a microphone; `seen_at` is when it last reported.
    """

    class State(models.TextChoices):
        READY = "ready", _("phone: ready")
        UNREGISTERED = "unregistered", _("phone: not registered")
        MICROPHONE = "microphone", _("phone: no microphone")
        DENIED = "denied", _("phone: the browser refuses the microphone")
        INSECURE = "insecure", _("phone: no microphone without HTTPS")
        AWAY = "away", _("phone: away")
        CLOSED = "closed", _("phone: not open")

    agent = models.OneToOneField(Agent, models.PROTECT, primary_key=True, related_name="browser_phone")
    token = models.UUIDField(default=uuid.uuid4)
    password = EncryptedTextField()
    opened_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    registered_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    trouble = models.CharField(max_length=20, blank=True, default="", db_default="")

    objects = BrowserPhoneQuerySet.as_manager()

    class Meta:
        ordering = ["agent"]
        default_permissions = ()
        indexes = [models.Index(fields=["agent"], condition=models.Q(closed_at=None), name="browserphone_open")]

    def __str__(self) -> str:
        return str(self.agent_id)

    def state_at(self, now: datetime) -> str:
        """Return the state that supervisors see."""
        is_away = self.seen_at < now - AWAY_AFTER
        if self.trouble in NO_MICROPHONE and not is_away:
            return self.trouble
        if self.closed_at:
            return self.State.CLOSED
        if self.registered_at:
            return self.State.READY
        return self.State.AWAY if is_away else self.State.UNREGISTERED


# Whether an agent `a` may be rung: the phone in the browser is registered and has a microphone, or it is another phone.
PHONE_IS_READY = f"""(NOT a.uses_browser_phone OR EXISTS (
  SELECT FROM telephony_browserphone p
  WHERE p.agent_id = a.id AND p.registered_at IS NOT NULL AND p.trouble NOT IN {NO_MICROPHONE}))"""


class SwitchContact(models.Model):
    """The last contact with the switch: one row, which the leading listener updates about once a second.

    It survives the listener, the switch and the machine. A call that is gone at the next contact is presumed to have
    ended at the stored one.
    """

    heard_at = models.DateTimeField(_("heard"))

    class Meta:
        verbose_name = _("contact with the switch")
        verbose_name_plural = _("contacts with the switch")
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.heard_at:%Y-%m-%d %H:%M:%S}"


class SwitchCommand(models.Model):
    """A request of another process to the simulated switch, which runs in the listener's process.

    The requesting process waits for the answer and then deletes the row. A request is carried out once at most: it is
    first taken, then done. A request that is not taken in time is withdrawn.
    """

    name = models.CharField(max_length=30)
    arguments = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    taken_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    answer = models.JSONField(null=True)
    # Why the switch refused, and its Q.850 cause, if any.
    error = models.CharField(max_length=200, blank=True)
    cause = models.PositiveSmallIntegerField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["id"], condition=models.Q(taken_at__isnull=True), name="switchcommand_open")]

    def __str__(self) -> str:
        return f"{self.name} {self.pk}"
