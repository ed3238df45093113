"""Changes of an agent's settings, and the entries of the audit log about what others do with an agent's presence."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import actor_columns, store
from callcentre.core.errors import Fault, Invalid
from callcentre.core.pubsub import publish
from callcentre.core.scope import ALL, Scope
from telephony.models import Agent, AgentLine, AgentMessage, Queue


def edit_agent(
    agent: Agent,
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    outbound_mode: bool | None = None,
    has_line: bool | None = None,
) -> None:
    """Set whether the agent takes calls of campaigns, and has a standing line. None changes nothing. Raises Invalid."""
    if faults:
        raise Invalid(faults)
    given = {"outbound_mode": outbound_mode, "has_line": has_line}
    changed = {name: value for name, value in given.items() if value is not None and value != getattr(agent, name)}
    if not changed:
        return
    with transaction.atomic():
        store(agent, **changed, updated_at=timezone.now())
        if changed.get("has_line") is False:
            end_lines_without_setting(agent)
        publish("dialling")


def end_lines_without_setting(agent: Agent) -> None:
    """End the line of an agent who is to have none any more, after a call that it is in."""
    open_ones = AgentLine.objects.filter(agent=agent, ended_at=None, hangup_asked_at=None)
    if not agent.has_line and open_ones.update(hangup_asked_at=timezone.now()):
        publish("calls")


def record_by_other(agent: Agent, actor: Actor, action: AuditAction, changes: dict[str, Any] | None = None) -> None:
    """Write what a person or program did with an agent. Agents at their own desk and the service make no entry: the
    ledger has every interval.
    """
    is_self = (actor.kind == "agent" and actor.id == agent.pk) or (
        actor.kind == "user" and actor.id is not None and actor.id == agent.user_id
    )
    if actor.kind != "system" and not is_self:
        record(actor, action, agent, changes=changes)


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
