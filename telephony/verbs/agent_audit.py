"""The entries of the audit log about what others do with an agent's presence."""

from typing import Any

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from telephony.models.agent import Agent


def record_by_other(agent: Agent, actor: Actor, action: AuditAction, changes: dict[str, Any] | None = None) -> None:
    """Write what a person or program did with an agent. Agents at their own desk and the service make no entry: the
    ledger has every interval.
    """
    is_self = (actor.kind == "agent" and actor.id == agent.pk) or (
        actor.kind == "user" and actor.id is not None and actor.id == agent.user_id
    )
    if actor.kind != "system" and not is_self:
        record(actor, action, agent, changes=changes)
