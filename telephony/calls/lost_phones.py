"""Phones in browsers that are lost in a talk: their window is loaded anew, has crashed, or has lost the network.

The customer hears music, for ten seconds at most (legs.await_phone). Once the switch reaches the phone again, it rings,
answers by itself, and both talk on. Otherwise a caller of a queue waits in it again, and another call ends. The row of
the call says that it waits (`agent_lost_at`), so that the next listener goes on where one has died.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from telephony.calls import failed_transfers, legs, lines, switch_requests
from telephony.models import Agent, AgentLine, BrowserPhone, Connection, Leg
from telephony.verbs import ledger

# From the whole second of the loss. The listener looks every half second, so that the music ends within ten.
WAIT = timedelta(seconds=9.5)
# Between two attempts to ring the phone.
AGAIN = timedelta(seconds=2)


def waiting() -> list[int]:
    """Return the calls that wait for a lost phone."""
    lost = Connection.objects.filter(state=Connection.State.TALKING, agent_lost_at__isnull=False)
    return list(lost.order_by("id").values_list("pk", flat=True))


@transaction.atomic
def go_on(pk: int, now: datetime) -> None:
    """Ring the phone that is back, or give it up."""
    connection = legs.lock(pk)
    if connection is None or connection.state != Connection.State.TALKING or connection.agent_lost_at is None:
        return
    rung, at = connection.leg_of(Leg.Role.AGENT), legs.instant(connection, now)
    if now >= connection.agent_lost_at + WAIT:
        connection.agent_lost_at = None
        connection.save(update_fields=["agent_lost_at"])
        if rung:
            legs.hang_up(rung, at)
        failed_transfers.phone_stays_lost(connection, at)
    elif rung is None and connection.agent and _can_ring(connection, connection.agent, now):
        legs.ring_agent(
            connection,
            connection.agent,
            at,
            role=Leg.Role.AGENT,
            presented=connection.customer_number,
            ring_seconds=settings.AGENT_RING_SECONDS,
            is_awaited=True,
        )


def _can_ring(connection: Connection, agent: Agent, now: datetime) -> bool:
    if not BrowserPhone.objects.ready().filter(agent=agent).exists():
        return False
    ledger.lock(agent.pk)
    if ledger.call_on_phone(agent.pk) or (lines.has_open(agent.pk) and not lines.is_ready(agent.pk)):
        return False
    asked = {leg.asked_at for leg in connection.all_legs if leg.agent_id == agent.pk}
    asked.update(AgentLine.objects.filter(agent=agent, ended_at__isnull=False).values_list("asked_at", flat=True)[:1])
    return all(asked_at <= now - AGAIN for asked_at in asked)


def back(connection: Connection, leg: Leg) -> None:
    """Join the customer and the agent, whose phone has answered again. A customer on hold stays on hold."""
    connection.agent_lost_at = None
    connection.save(update_fields=["agent_lost_at"])
    if not connection.is_on_hold:
        legs.join_again(connection)
    elif leg.line:
        switch_requests.send("play_silence", leg.channel_id)
