"""Messages of supervisors to agents, shown on their bars."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import actor_columns
from callcentre.core.errors import Fault, Invalid
from callcentre.core.scope import ALL, Scope
from telephony.models import Agent, AgentMessage, Queue


def send_message(
    actor: Actor,
    text: str,
    faults: Sequence[Fault] = (),
    *,
    agent: Agent | None = None,
    queue: Queue | None = None,
    scope: Scope = ALL,
) -> int:
    """Send a message to an agent, to the members of a queue, or to all agents within the scope. Return their number.

    Of a queue and of all agents those get it who are logged in now, and one agent in any case. Raises Invalid.
    """
    if faults:
        raise Invalid(faults)
    agents = scope.within(Agent.objects.active())
    if agent:
        agents = agents.filter(pk=agent.pk)
    else:
        agents = agents.filter(sessions__ended_at=None, sessions__isnull=False)
        agents = agents.filter(memberships__queue=queue) if queue else agents
    now, sender = timezone.now(), actor_columns(actor)
    to: dict[str, Any] = {"to": [None, str(agent or queue or "")], "message": [None, text]}
    with transaction.atomic():
        rows = [AgentMessage(agent=one, text=text, sent_at=now, **sender) for one in agents.distinct()]
        AgentMessage.objects.bulk_create(rows)
        record(actor, AuditAction.MESSAGE_AGENT, agent or queue, changes={**to, "agents": [None, len(rows)]})
    return len(rows)


def close_message(agent: Agent, pk: int) -> None:
    """Store that the agent has closed the message. Do nothing for one of another agent, and a second time."""
    AgentMessage.objects.filter(pk=pk, agent=agent, closed_at=None).update(closed_at=timezone.now())
