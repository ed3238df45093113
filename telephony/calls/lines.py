"""Standing lines of agents: begun, attached to calls, released. The agent is locked.

A line has no row among the legs. While it is in a call, a leg that is not stored stands for it (`Leg.line`), so that
the code of calls needs no second way. Ending, holding or transferring a call takes the line out of its bridge and never
hangs it up.
"""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection as database
from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.pubsub import publish
from callcentre.core.statements import Statement
from telephony import call_clock
from telephony.calls import line_requests
from telephony.channels import line_channel_id
from telephony.leader_election import is_connected
from telephony.models import Agent, AgentLine, Connection, Leg
from telephony.models.connection import LINE_IS_READY
from telephony.verbs import ledger
from telephony.verbs.agent_audit import record_by_other

State = AgentLine.State

_ATTACH = Statement("""
UPDATE telephony_agentline SET connection_id = %(connection)s, role = %(role)s, called_at = %(at)s,
  joined_at = %(joined_at)s
WHERE agent_id = %(agent)s AND {line_is_ready} RETURNING id
""").of(line_is_ready=LINE_IS_READY)
_RELEASE = """
UPDATE telephony_agentline SET connection_id = NULL, role = '', called_at = NULL, joined_at = NULL,
  hangup_asked_at = CASE WHEN state = 'up' THEN hangup_asked_at ELSE COALESCE(hangup_asked_at, %s) END
WHERE id = %s AND connection_id = %s
"""


# For the API


def ask_for_line(agent: Agent, actor: Actor) -> None:
    """Ring the agent's phone for a standing line. Do nothing if there is one. Raises Invalid and Conflict."""
    with transaction.atomic():
        locked = ledger.lock(agent.pk)
        if not locked.is_logged_in:
            raise Invalid([Fault(ErrorCode.AGENT_NOT_LOGGED_IN)])
        if not agent.has_line or not agent.number:
            raise Conflict(ErrorCode.AGENT_WITHOUT_LINE)
        if not is_connected():
            raise Conflict(ErrorCode.NO_CONNECTION_TO_PBX)
        if has_open(agent.pk):
            return
        if ledger.call_on_phone(agent.pk):
            raise Conflict(ErrorCode.AGENT_IN_CALL)
        begin(agent, timezone.now())
        record_by_other(agent, actor, AuditAction.BEGIN_LINE)


def end_line(agent: Agent, actor: Actor) -> None:
    """End the agent's standing line, after a call that it is in. Do nothing if there is none."""
    with transaction.atomic():
        ledger.lock(agent.pk)
        if AgentLine.objects.filter(agent=agent, ended_at=None, hangup_asked_at=None).update(
            hangup_asked_at=timezone.now()
        ):
            record_by_other(agent, actor, AuditAction.END_LINE)
            publish("calls")


# For calls


def has_open(agent_id: int) -> bool:
    return AgentLine.objects.filter(agent=agent_id, ended_at=None).exists()


def has_lasting(agent_id: int) -> bool:
    """Return whether the agent has a line that is not about to end."""
    return AgentLine.objects.filter(agent=agent_id, ended_at=None, hangup_asked_at=None).exists()


def is_ready(agent_id: int) -> bool:
    """Return whether the agent has a line that can take a call."""
    return AgentLine.objects.filter(
        agent=agent_id, ended_at=None, state=State.UP, connection_id=None, hangup_asked_at=None
    ).exists()


def begin(
    agent: Agent,
    at: datetime,
    *,
    connection: Connection | None = None,
    role: str = "",
    presented: str | None = None,
    ring_seconds: int | None = None,
) -> AgentLine:
    """Ring the agent's phone for a new line, which takes this call when it is picked up."""
    pk = AgentLine.next_id()
    in_call: dict[str, Any] = {"connection_id": connection.pk, "role": role, "called_at": at} if connection else {}
    line = AgentLine.objects.create(pk=pk, agent=agent, channel_id=line_channel_id(pk), asked_at=at, **in_call)
    shown = settings.CALLER_ID if presented is None else presented
    line_requests.ring(line, agent.number, shown, ring_seconds or settings.AGENT_RING_SECONDS)
    return line


def begin_for_call(agent_id: int) -> bool:
    """Ring the agent's phone for a line that the next call needs, unless a line or a call has the phone."""
    agent = Agent.objects.filter(pk=agent_id, has_line=True).exclude(number="").first()
    if agent is None or not is_connected():
        return False
    ledger.lock(agent_id)
    if ledger.call_on_phone(agent_id) or has_open(agent_id):
        return False
    begin(agent, timezone.now())
    return True


def attach(connection: Connection, agent: Agent, role: str, at: datetime, *, is_joined: bool) -> Leg | None:
    """Take the agent's ready line into the call. Return the leg that stands for it; None if no line is ready.

    With `is_joined` the agent takes part at once, otherwise after a tone.
    """
    known = connection.all_legs
    with database.cursor() as cursor:
        values: dict[str, Any] = {
            "connection": connection.pk,
            "role": role,
            "at": at,
            "joined_at": at if is_joined else None,
        }
        cursor.execute(_ATTACH, {**values, "agent": agent.pk})
        row = cursor.fetchone()
    if row is None:
        return None
    _mark_use(connection)
    leg = Leg.of_line(AgentLine.objects.select_related("agent").get(pk=row[0]), connection)
    known.append(leg)
    return leg


def ring(connection: Connection, agent: Agent, role: str, at: datetime, *, presented: str, ring_seconds: int) -> bool:
    """Call the agent by a line, with a tone if it is up, else by ringing for it. Return false without lines."""
    if not agent.has_line:
        return False
    if leg := attach(connection, agent, role, at, is_joined=False):
        line_requests.play_tone(leg.channel_id)
        return True
    if has_open(agent.pk):
        return False
    known = connection.all_legs
    _mark_use(connection)
    line = begin(agent, at, connection=connection, role=role, presented=presented, ring_seconds=ring_seconds)
    known.append(Leg.of_line(line, connection))
    return True


def _mark_use(connection: Connection) -> None:
    if not connection.uses_line:
        connection.uses_line = True
        connection.save(update_fields=["uses_line"])


def release(leg: Leg) -> None:
    """Take the line out of the call that the leg is in. A line that still rings for the call is hung up."""
    assert leg.line is not None
    leg.ended_at = leg.hangup_asked_at = call_clock.now()
    with database.cursor() as cursor:
        cursor.execute(_RELEASE, [timezone.now(), leg.line.pk, leg.connection_id])
    line_requests.silence_idle(leg.line.pk, leg.connection_id)
    # The line may have to end now, or can take the next call.
    publish("calls")
