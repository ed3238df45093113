"""Standing lines of agents: begun, attached to calls, released, silent. The agent is locked.

A line has no row among the legs. While it is in a call, a leg that is not stored stands for it (`Leg.line`), so that
the code of calls needs no second way. Ending, holding or transferring a call takes the line out of its bridge and never
hangs it up.

The silence of a line and the joining of the line are requested by several threads of the listener. A lock for each line
keeps them apart, and the row says whether the line is still in no call, so that no silence begins after a join.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction
from callcentre.core.changes import store
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.pubsub import publish
from callcentre.core.statements import Statement, row_of, rows_of
from telephony import call_clock
from telephony.calls import switch_requests
from telephony.channels import line_channel_id, line_of
from telephony.leader_election import is_connected
from telephony.models import Agent, AgentLine, Connection, Leg, Supervision
from telephony.models.browser_phone import PHONE_IS_READY
from telephony.models.connection import phone_is_occupied
from telephony.verbs import ledger
from telephony.verbs.agents import record_by_other

State = AgentLine.State
_locks: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)

_RELEASE = """
UPDATE telephony_agentline SET connection_id = NULL, role = '', called_at = NULL, joined_at = NULL,
  hangup_asked_at = CASE WHEN state = 'up' THEN hangup_asked_at ELSE COALESCE(hangup_asked_at, %s) END
WHERE id = %s AND connection_id = %s RETURNING id
"""
_PHONE = Statement("SELECT {is_occupied}, {is_ready} FROM telephony_agent a WHERE a.id = %(agent)s").of(
    is_occupied=phone_is_occupied("a.id"), is_ready=PHONE_IS_READY
)


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
        if ledger.call_on_phone(agent.pk) or supervises(agent.pk):
            raise Conflict(ErrorCode.AGENT_IN_CALL)
        begin(agent, timezone.now())
        record_by_other(agent, actor, AuditAction.BEGIN_LINE)


def end_line(agent: Agent, actor: Actor) -> None:
    """End the agent's standing line, after a call that it is in. Do nothing if there is none."""
    with transaction.atomic():
        ledger.lock(agent.pk)
        if lasting(agent.pk).update(hangup_asked_at=timezone.now()):
            record_by_other(agent, actor, AuditAction.END_LINE)
            publish("calls")


def has_open(agent_id: int) -> bool:
    return AgentLine.objects.filter(agent=agent_id, ended_at=None).exists()


def supervises(agent_id: int) -> bool:
    """Return whether the agent's phone is in the call of another agent, as a supervisor's."""
    return Supervision.objects.filter(agent=agent_id, ended_at=None).exists()


def obstacle_of_phone(agent_id: int) -> ErrorCode | None:
    """Return why the agent's phone cannot be called now, or None. A standing line between calls is no obstacle."""
    is_occupied, is_ready = row_of(_PHONE, {"agent": agent_id})
    if is_occupied:
        return ErrorCode.PHONE_OCCUPIED
    return None if is_ready else ErrorCode.PHONE_NOT_CONNECTED


def lasting(agent_id: int) -> QuerySet[AgentLine]:
    """Return the line of the agent, if there is one that is not about to end."""
    return AgentLine.objects.filter(agent=agent_id, ended_at=None, hangup_asked_at=None)


def is_ready(agent_id: int) -> bool:
    return _ready(agent=agent_id).exists()


def _ready(**which: Any) -> QuerySet[AgentLine]:
    return AgentLine.objects.filter(ended_at=None, state=State.UP, connection_id=None, hangup_asked_at=None, **which)


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
    switch_requests.call_agent(line, shown, ring_seconds or settings.AGENT_RING_SECONDS, is_awaited=True)
    return line


def begin_for_call(agent_id: int) -> bool:
    """Ring the agent's phone for a line that the next call needs, unless a line or a call has the phone."""
    agent = Agent.objects.filter(pk=agent_id, has_line=True).exclude(number="").first()
    if agent is None or not is_connected():
        return False
    ledger.lock(agent_id)
    if ledger.call_on_phone(agent_id) or has_open(agent_id) or supervises(agent_id):
        return False
    begin(agent, timezone.now())
    return True


def attach(connection: Connection, agent: Agent, role: str, at: datetime, *, is_joined: bool) -> Leg | None:
    """Take the agent's ready line into the call. Return the leg that stands for it; None if no line is ready.

    With `is_joined` the agent takes part at once, otherwise after a tone.
    """
    known = connection.all_legs
    in_call = {"connection_id": connection.pk, "role": role, "called_at": at, "joined_at": at if is_joined else None}
    if not _ready(agent=agent.pk).update(**in_call):
        return None
    _mark_use(connection)
    line = AgentLine.objects.select_related("agent").get(agent=agent.pk, ended_at=None)
    leg = Leg.of_line(line, connection)
    known.append(leg)
    return leg


def ring(connection: Connection, agent: Agent, role: str, at: datetime, *, presented: str, ring_seconds: int) -> bool:
    """Call the agent by a line, with a tone if it is up, else by ringing for it. Return false without lines."""
    if not agent.has_line:
        return False
    if leg := attach(connection, agent, role, at, is_joined=False):
        switch_requests.send("play_tone", leg.channel_id)
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
        store(connection, uses_line=True)


def release(leg: Leg) -> None:
    """Take the line out of the call that the leg is in. A line that still rings for the call is hung up."""
    assert leg.line is not None
    leg.ended_at = leg.hangup_asked_at = call_clock.now()
    rows_of(_RELEASE, [timezone.now(), leg.line.pk, leg.connection_id])
    silence_idle(leg.line.pk, leg.connection_id)
    # The line may have to end now, or can take the next call.
    publish("calls")


@contextmanager
def alone(channel_ids: Sequence[str]) -> Iterator[None]:
    with ExitStack() as stack:
        for line_id in sorted(filter(None, map(line_of, channel_ids))):
            stack.enter_context(_locks[line_id])
        yield


def silence_idle(line_id: int, connection_id: int = 0) -> None:
    """Play silence to a line that has left its call, unless it is in another call by then.

    The bridge of the call is destroyed before, by the same thread.
    """

    def request() -> None:
        with _locks[line_id]:
            if channel_id := _ready(pk=line_id).values_list("channel_id", flat=True).first():
                switch_requests.send_now("play_silence", channel_id)

    transaction.on_commit(lambda: switch_requests.send_later(connection_id, request), robust=True)
