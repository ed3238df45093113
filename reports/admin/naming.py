"""Names of the agents, groups and queues that a report is about; those that are gone are named as well."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_lazy as _

from callcentre.core.scope import Scope
from campaigns.models import Campaign
from telephony.models import Agent, AgentGroup, Queue
from tickets.models import TicketQueue


@dataclass(frozen=True)
class Kind:
    models: tuple[type[Model], ...]
    gone: Any

    def by_id(self, ids: Iterable[int]) -> dict[int, str]:
        """Return names by id, in the order of the ids."""
        if not (wanted := list(ids)):
            return {}
        there = {row.pk: str(row) for model in self.models for row in model._default_manager.filter(pk__in=wanted)}
        return {pk: there.get(pk) or str(self.gone) % pk for pk in wanted}

    def names(self, ids: Iterable[int]) -> str:
        return ", ".join(self.by_id(ids).values())

    def choices(self, scope: Scope, chosen: Iterable[int] = ()) -> list[tuple[int, str]]:
        """Return all rows of the scope, active or not, and chosen ones that are gone or outside."""
        there = {row.pk: str(row) for model in self.models for row in scope.within(model._default_manager.all())}
        return [*there.items(), *((pk, str(self.gone) % pk) for pk in chosen if pk not in there)]


AGENTS = Kind((Agent,), _("agent %s (gone)"))
GROUPS = Kind((AgentGroup,), _("group %s (gone)"))
QUEUES = Kind((Queue, TicketQueue), _("queue %s (gone)"))
CAMPAIGNS = Kind((Campaign,), _("campaign %s (gone)"))
# By the field of an export or a schedule.
KINDS = {"agent_ids": AGENTS, "agent_group_ids": GROUPS, "queue_ids": QUEUES, "campaign_ids": CAMPAIGNS}
