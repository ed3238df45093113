from collections.abc import Iterable
from typing import Any, ClassVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel, TimestampedModel
from callcentre.core.errors import ErrorCode
from callcentre.core.scope import Lookups
from callcentre.models import User


@audited()
class AgentGroup(NamedModel):
    """Agents who are planned and reported together; an agent is in one group or in none."""

    scope_lookups: ClassVar[Lookups] = {"scope_agent_groups": "id"}

    name = models.CharField(_("name"), max_length=100, unique=True)

    class Meta:
        verbose_name = _("agent group")
        verbose_name_plural = _("agent groups")
        ordering = ["name", "id"]


class AgentQuerySet(models.QuerySet["Agent"]):
    def active(self) -> "AgentQuerySet":
        return self.filter(is_active=True)

    def of_user(self, user: User) -> "Agent | None":
        return self.active().filter(user=user).first()

    def ids_by_login(self, logins: Iterable[str]) -> dict[str, int]:
        """Return the primary keys of the agents that exist, by login."""
        wanted = set(logins)
        if not wanted:
            return {}
        return dict(self.filter(login__in=wanted).order_by().values_list("login", "pk"))


@audited()
class Agent(TimestampedModel):
    """A person who answers and places calls, known everywhere by the login.

    `number` is the SIP number of the agent's phone; no two agents share one. An agent who leaves is made inactive,
    never deleted, because the history names the agent.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_agent_groups": "group_id"}

    login = models.CharField(
        _("login"), max_length=100, unique=True, error_messages={"unique": ErrorCode.AGENT_LOGIN_TAKEN.text}
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
    has_line = models.BooleanField(
        _("standing line"),
        default=False,
        db_default=False,
        help_text=_(
            "The phone stays connected between the calls of a campaign, so that answered calls are joined at once."
        ),
    )
    uses_browser_phone = models.BooleanField(
        _("phone in the browser"),
        default=False,
        db_default=False,
        help_text=_("The desk is the phone. Calls come only while its window is open and connected."),
    )
    group = models.ForeignKey(
        AgentGroup, models.PROTECT, null=True, blank=True, related_name="agents", verbose_name=_("group")
    )
    # NULL: the agent uses another program, or only a phone, and replies to no ticket in the back office.
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

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse the deletion: calls and sessions name their agents."""
        raise ValidationError(_("An agent is made inactive, not deleted."))
