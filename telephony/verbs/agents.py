"""Changes of an agent's settings."""

from collections.abc import Sequence

from django.db import transaction

from callcentre.core.actor import Actor
from callcentre.core.errors import Fault, Invalid
from callcentre.core.pubsub import publish
from telephony.models import Agent


def edit_agent(agent: Agent, actor: Actor, faults: Sequence[Fault] = (), *, outbound_mode: bool | None = None) -> None:
    """Set whether the agent takes calls of campaigns; None changes nothing. Raises Invalid with the given faults."""
    if faults:
        raise Invalid(faults)
    if outbound_mode is None or outbound_mode == agent.outbound_mode:
        return
    with transaction.atomic():
        agent.outbound_mode = outbound_mode
        agent.save(update_fields=["outbound_mode", "updated_at"])
        publish("dialling")
