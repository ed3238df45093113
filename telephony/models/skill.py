"""The skills of agents, the skills that queues require, and callers who come before others."""

from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel, TimestampedModel
from callcentre.core.scope import Lookups
from telephony.models.agent import Agent
from telephony.models.queue import Queue

_LEVEL = [MinValueValidator(1), MaxValueValidator(9)]
_IS_LEVEL = Q(level__gte=1, level__lte=9)
# The most steps by which a caller comes earlier or later.
MOST_STEPS = 100

# SQL: joins to the member `m` of a queue. `held.skills`: how many of the required skills the agent has, at their level;
# `held.levels`: the sum of the agent's levels in these. Both are NULL if the queue requires nothing.
SKILLS_OF_MEMBER = """
LEFT JOIN (
  SELECT queue_id, count(*) AS skills FROM telephony_requiredskill GROUP BY queue_id
) required ON required.queue_id = m.queue_id
LEFT JOIN (
  SELECT r.queue_id, k.agent_id, count(*) AS skills, sum(k.level) AS levels
  FROM telephony_requiredskill r JOIN telephony_agentskill k ON k.skill_id = r.skill_id AND k.level >= r.level
  GROUP BY r.queue_id, k.agent_id
) held ON held.queue_id = m.queue_id AND held.agent_id = m.agent_id"""
IS_ABLE = "COALESCE(held.skills, 0) = COALESCE(required.skills, 0)"


@audited()
class Skill(NamedModel):
    """Something that some agents can do, for example a language or a product."""

    name = models.CharField(_("name"), max_length=100, unique=True)

    class Meta:
        verbose_name = _("skill")
        verbose_name_plural = _("skills")
        ordering = ["name", "id"]


@audited(part_of="agent")
class AgentSkill(models.Model):
    """A skill of an agent, with a level from 1 to 9."""

    scope_lookups: ClassVar[Lookups] = {"scope_agent_groups": "agent__group_id"}

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="skills", verbose_name=_("agent"), db_index=False)
    skill = models.ForeignKey(Skill, models.PROTECT, related_name="+", verbose_name=_("skill"))
    level = models.PositiveSmallIntegerField(_("level"), default=5, validators=_LEVEL, help_text=_("From 1 to 9."))

    class Meta:
        verbose_name = _("skill of an agent")
        verbose_name_plural = _("skills of an agent")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["agent", "skill"], name="agentskill_is_unique"),
            models.CheckConstraint(name="agentskill_level_is_known", condition=_IS_LEVEL),
        ]

    def __str__(self) -> str:
        return f"{self.skill} {self.level}"


@audited(part_of="queue")
class RequiredSkill(models.Model):
    """A skill that agents need, at this level or a higher one, to be rung for the callers of a queue."""

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id"}

    queue = models.ForeignKey(
        Queue, models.CASCADE, related_name="required_skills", verbose_name=_("queue"), db_index=False
    )
    skill = models.ForeignKey(Skill, models.PROTECT, related_name="+", verbose_name=_("skill"))
    level = models.PositiveSmallIntegerField(
        _("least level"), default=1, validators=_LEVEL, help_text=_("From 1 to 9.")
    )

    class Meta:
        verbose_name = _("required skill")
        verbose_name_plural = _("required skills")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["queue", "skill"], name="requiredskill_is_unique"),
            models.CheckConstraint(name="requiredskill_level_is_known", condition=_IS_LEVEL),
        ]

    def __str__(self) -> str:
        return f"{self.skill} {self.level}"


class CallerPriorityQuerySet(models.QuerySet["CallerPriority"]):
    def steps_of(self, number: str, customer_id: int | None) -> int:
        """Return the steps of a caller, whose number has the normal form; 0 without a row.

        The row of the customer comes first, then the one with the longest beginning of the number.
        """
        holds = Q(number__in=[number[:length] for length in range(1, len(number) + 1)])
        if customer_id is not None:
            holds |= Q(customer_id=customer_id)
        rows = self.filter(holds).order_by("id").values_list("customer_id", "number", "steps")
        best = max(rows, key=lambda row: (customer_id is not None and row[0] == customer_id, len(row[1])), default=None)
        return best[2] if best else 0


@audited(secret=("number", "remark"))
class CallerPriority(TimestampedModel):
    """Callers who come before others, or after them: all of one customer, or those whose number begins so.

    A step is one of the queue's priority numbers. The steps are stored with a call when it arrives, and with a
    call-back when it is asked for. `customer_id` is that of the number, if it belongs to a customer when the row is
    saved: then the row is for all numbers of the customer.
    """

    number = models.CharField(
        _("number"),
        max_length=64,
        unique=True,
        help_text=_("A number, for all numbers of its customer; or the beginning of numbers with +, such as +4822."),
    )
    customer_id = models.BigIntegerField(_("customer"), null=True, editable=False, db_index=True)
    steps = models.SmallIntegerField(
        _("steps"),
        default=10,
        validators=[MinValueValidator(-MOST_STEPS), MaxValueValidator(MOST_STEPS)],
        help_text=_("The callers are served like those of a queue whose priority number is so much lower."),
    )
    remark = models.CharField(_("remark"), max_length=200, blank=True)

    objects = CallerPriorityQuerySet.as_manager()

    class Meta:
        verbose_name = _("priority of callers")
        verbose_name_plural = _("priorities of callers")
        ordering = ["number", "id"]

    def __str__(self) -> str:
        # Without the number: logs keep the names of rows longer than the rows.
        return f"{self.steps:+d}"
