from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models, transaction
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.models import TimestampedModel, User
from telephony import events
from telephony.models import writing
from telephony.models.pause import Pause
from telephony.models.writing import State, StateKind

if TYPE_CHECKING:
    from telephony.models.connection import Connection


class AgentGroup(TimestampedModel):
    """Agents who are planned and reported together; an agent is in one group or in none."""

    name = models.CharField(_("name"), max_length=100, unique=True)

    class Meta:
        verbose_name = _("agent group")
        verbose_name_plural = _("agent groups")
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class AgentQuerySet(models.QuerySet["Agent"]):
    def active(self) -> "AgentQuerySet":
        return self.filter(is_active=True)

    def of_user(self, user: User) -> "Agent | None":
        """As whom a back-office user answers customers; None where he is no agent, or none any more."""
        return self.active().filter(user=user).first()

    def end_wrap_ups(self, now: datetime) -> None:
        """End every wrap-up that is over, each in the second in which it was to end."""
        with transaction.atomic():
            writing.end_wrap_ups(now)

    def close_long_sessions(self, now: datetime, limit: timedelta) -> int:
        """Log out whoever was logged in, or paused outside a session, for longer than this. How many they were.

        They were so until the limit was reached, or until the last thing they did after it.
        """
        closed = 0
        for agent_id in writing.overdue_agents(now - limit):
            with transaction.atomic():
                standing = writing.lock(agent_id)
                since = standing.session_since or standing.state_since
                if since and since <= now - limit:
                    writing.close_session(standing, standing.instant(since + limit), "limit")
                    closed += 1
        return closed

    def ids_by_login(self, logins: Iterable[str]) -> dict[str, int]:
        """Login -> primary key of those that exist."""
        wanted = set(logins)
        if not wanted:
            return {}
        return dict(self.filter(login__in=wanted).order_by().values_list("login", "pk"))


class Agent(TimestampedModel):
    """A person who answers and places calls, known everywhere by the login.

    `number` is the SIP number of the agent's phone; no two agents share one. An agent who leaves is made inactive,
    never deleted: the history speaks of him.
    """

    login = models.CharField(
        _("login"),
        max_length=100,
        unique=True,
        error_messages={"unique": ErrorCode.AGENT_LOGIN_TAKEN.text},
    )
    name = models.CharField(pgettext_lazy("of a person", "name"), max_length=100)
    surname = models.CharField(_("surname"), max_length=100, blank=True)
    email = models.EmailField(_("e-mail"), blank=True)
    is_active = models.BooleanField(_("active"), default=True)
    number = models.CharField(
        _("SIP number"),
        max_length=40,
        blank=True,
        validators=[RegexValidator(r"\A[0-9A-Za-z._-]+\Z", _("A SIP number has letters, digits and . _ - only."))],
    )
    outbound_mode = models.BooleanField(
        _("outbound mode"), default=False, help_text=_("Takes calls of campaigns as well as of queues.")
    )
    group = models.ForeignKey(
        AgentGroup, models.PROTECT, null=True, blank=True, related_name="agents", verbose_name=_("group")
    )
    # NULL: works with a program of his own, or by phone alone, and replies to no ticket in the back office.
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="agent",
        verbose_name=_("back-office user"),
        help_text=_("Who logs in as this user replies to tickets as this agent."),
        error_messages={"unique": _("Another agent is this user.")},
    )

    objects = AgentQuerySet.as_manager()

    class Meta:
        verbose_name = _("agent")
        verbose_name_plural = _("agents")
        ordering = ["login"]
        constraints = [
            models.CheckConstraint(name="agent_login_is_set", condition=~models.Q(login="")),
            models.UniqueConstraint(
                fields=["number"],
                name="agent_number_is_unique",
                condition=~models.Q(number=""),
                violation_error_message=ErrorCode.AGENT_NUMBER_TAKEN.text,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.login} ({self.full_name})" if self.full_name else self.login

    @property
    def full_name(self) -> str:
        return f"{self.name} {self.surname}".strip()

    @property
    def actor(self) -> Actor:
        return Actor("agent", self.pk, self.login)

    # What people do. Each verb is a transaction: it locks the agent, ends one interval, begins the next, records.

    def log_in(self, actor: Actor, at: datetime | None = None) -> None:
        """Begin a session, free for calls; a pause outside one ends. Again: nothing. Raises Invalid.

        Where his phone is in a call already, the session begins with that.
        """
        with transaction.atomic():
            now = writing.lock(self.pk)
            if not now.is_active:
                raise Invalid([Fault(ErrorCode.AGENT_INACTIVE)])
            if now.is_logged_in:
                return
            moment = now.instant(at)
            writing.open_session(now, moment)
            call = now.state if now.state and now.state.is_of_call else writing.call_on_phone(self.pk)
            free = State(StateKind.FREE)
            writing.turn(now, moment, call.then(free) if call else free)

    def log_out(self, actor: Actor, at: datetime | None = None) -> None:
        """End his session and the state he is in. A call goes on, unseen by the ledger."""
        with transaction.atomic():
            now = writing.lock(self.pk)
            if now.is_logged_in or now.state:
                writing.close_session(now, now.instant(at), "logout")

    def pause(
        self, actor: Actor, pause_id: int | None, faults: Sequence[Fault] = (), at: datetime | None = None
    ) -> None:
        """End the state he is in and begin this pause, within a session or without; the same one again: nothing.

        A call goes on, unseen by the ledger. Raises Invalid.
        """
        with transaction.atomic():
            now = writing.lock(self.pk)
            if not now.is_active:
                faults = [*faults, Fault(ErrorCode.AGENT_INACTIVE)]
            if pause_id is not None and not Pause.objects.active().filter(pk=pause_id).exists():
                faults = [*faults, Fault(ErrorCode.PAUSE_NOT_FOUND, "pause_id")]
            if faults:
                raise Invalid(faults)
            if now.state is None or now.state.pause_id != pause_id:
                writing.turn(now, now.instant(at), State(StateKind.PAUSED, pause_id=pause_id))

    def free(self, actor: Actor, at: datetime | None = None) -> None:
        """End his pause or wrap-up: ready for calls. Raises Invalid without a session, Conflict during a call."""
        with transaction.atomic():
            now = writing.lock(self.pk)
            if not now.is_logged_in:
                raise Invalid([Fault(ErrorCode.AGENT_NOT_LOGGED_IN)])
            if now.state and now.state.kind == StateKind.FREE:
                return
            if (now.state and now.state.is_in_call) or writing.call_on_phone(self.pk):
                raise Conflict(ErrorCode.AGENT_IN_CALL)
            writing.turn(now, now.instant(at), State(StateKind.FREE))

    def deactivate(self, actor: Actor) -> None:
        """He works here no longer: log him out, and let nobody call him."""
        with transaction.atomic():
            self.log_out(actor)
            self.is_active = False
            self.save(update_fields=["is_active", "updated_at"])

    # What calls do to him: within the transaction of the call, whose connection is locked. Of the agent only the
    # primary key is needed: Agent(pk=…) will do.

    def ring(self, connection: "Connection", at: datetime) -> None:
        """His phone rings for this call; AGENT_RINGING is recorded. Afterwards he returns to what he does now.

        In another call already, he stays in it: this one is his when he leaves that.
        """
        with transaction.atomic(savepoint=False):
            now = writing.lock(self.pk)
            events.agent_ringing(connection, now.login)
            if now.state is None or not now.state.is_in_call:
                state = State(StateKind.RINGING, connection_id=connection.pk)
                writing.turn(now, now.instant(at), state.then(now.state.resumption if now.state else None))

    def talk(self, connection: "Connection", at: datetime) -> None:
        """He picked up. Nothing where he has paused or logged out meanwhile, or talks in another call."""
        with transaction.atomic(savepoint=False):
            now = writing.lock(self.pk)
            if now.state and now.state.kind == StateKind.RINGING:
                state = State(StateKind.TALKING, connection_id=connection.pk)
                writing.turn(now, now.instant(at), state.then(now.state.resumption))

    def leave_call(self, connection: "Connection", at: datetime, wrap_up_seconds: int = 0) -> None:
        """The call is over for him: wrap-up, then what he did before. Nothing where he has paused or logged out."""
        with transaction.atomic(savepoint=False):
            now = writing.lock(self.pk)
            if now.state is None or not now.state.is_in_call or now.state.connection_id != connection.pk:
                return
            moment, before = now.instant(at), now.state.resumption
            if other := writing.call_on_phone(self.pk, leaving=connection.pk):
                following: State | None = other.then(before)
            elif wrap_up_seconds:
                ends_at = moment + timedelta(seconds=wrap_up_seconds)
                following = State(StateKind.WRAP_UP, connection_id=connection.pk, ends_at=ends_at).then(before)
            else:
                following = before
            writing.turn(now, moment, following)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        raise ValidationError(_("An agent is made inactive, not deleted."))
