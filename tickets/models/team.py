"""Teams of agents, who work on tickets together."""

from typing import ClassVar

from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel
from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups
from telephony.models import Agent


class TeamQuerySet(models.QuerySet["Team"]):
    def assigning(self) -> "TeamQuerySet":
        """Return active teams that give their tickets to their members by themselves."""
        return self.filter(is_active=True).exclude(assignment=Team.Assignment.BY_HAND)


@audited()
class Team(NamedModel):
    """Agents who work on the same tickets. A ticket of a team is taken only by a member, or given to one by the team.

    A person may still assign it to any agent. A team that is no longer wanted is made inactive, never deleted, because
    tickets name it.
    """

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    class Assignment(models.TextChoices):
        BY_HAND = "by_hand", _("by hand")
        ROUND_ROBIN = "round_robin", _("round robin")
        LEAST_LOADED = "least_loaded", _("least loaded")

    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(_("active"), default=True)
    assignment = models.CharField(
        _("tickets are assigned"),
        max_length=20,
        choices=Assignment,
        default=Assignment.BY_HAND,
        help_text=_(
            "Round robin: to the member who has waited longest. Least loaded: to the one with the fewest open tickets."
            " Members who are logged out, paused or out of office get none."
        ),
    )
    # NULL: no limit.
    most_open = models.PositiveSmallIntegerField(
        _("most open tickets of a member"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_(
            "A member with so many gets no further one by the team. Tickets that wait for the customer, or are"
            " postponed, do not count. Empty: no limit."
        ),
    )

    objects = TeamQuerySet.as_manager()

    class Meta:
        verbose_name = _("team")
        verbose_name_plural = _("teams")
        ordering = ["name", "id"]


@audited(part_of="team", ignored=("assigned_at",))
class TeamMember(models.Model):
    """An agent of a team. An agent may be in several."""

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    team = models.ForeignKey(Team, models.CASCADE, related_name="members", db_index=False, verbose_name=_("team"))
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="teams", verbose_name=_("agent"))
    # When the team last gave the agent a ticket; NULL: not yet.
    assigned_at = models.DateTimeField(_("last ticket by the team"), null=True, editable=False)

    class Meta:
        verbose_name = _("member of a team")
        verbose_name_plural = _("members of teams")
        ordering = ["team", "id"]
        constraints = [models.UniqueConstraint(fields=["team", "agent"], name="teammember_is_unique")]

    def __str__(self) -> str:
        return f"{self.agent} → {self.team}"
