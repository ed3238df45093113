"""Match waiting callers and call-backs with free agents. One SQL query picks the next pair; locks confirm it.

The query takes no lock. Then the connection is locked, then the agent, and the conditions are checked again. If the
caller has given up meanwhile, or the agent is no longer free, the query picks again. An agent for whom an answered call
of a campaign waits is left to that call. A call-back is locked in place of a connection: its call does not exist yet.
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from callcentre.core.statements import Statement, row_of, rows_of
from telephony.calls import callbacks, campaign_hooks, legs, offers, placement
from telephony.calls.candidates import (
    AGENT_MAY_BE_RUNG,
    AGENTS,
    MAY_BE_RUNG_FOR_WAIT,
    MEMBERS,
    ORDER_OF_MEMBERS,
    ORDER_OF_WAITS,
    WAITS,
    values_at,
)
from telephony.models import Agent, AgentState, CallBack, Connection, Leg, Offer
from telephony.models.agent_intervals import StateKind
from telephony.verbs import ledger, presence

State = Connection.State

# Attempts to lock a call whose pair has changed meanwhile. After these the call waits for the next round.
MOST_ATTEMPTS = 3

# The agents who may be rung at all are found once, then the members of all queues. The waits are sorted before agents
# are looked for, so that the first wait with an agent ends the search. A queue without an agent for any call is left
# out before, so that its members are not looked at once for each of its waits.
_NEXT = Statement("""
WITH waits AS ({waits}),
agents AS MATERIALIZED (SELECT m.* FROM ({agents}) m WHERE {agent_may_be_rung}),
members AS MATERIALIZED (SELECT m.* FROM ({members}) m WHERE m.queue_id IN (SELECT queue_id FROM waits)),
served AS MATERIALIZED (
  SELECT w.queue_id, w.callback_id
  FROM (
    SELECT queue_id, NULL::bigint AS connection_id, min(callback_id) AS callback_id
    FROM waits GROUP BY queue_id, callback_id IS NULL
  ) w
  WHERE EXISTS (SELECT 1 FROM members m WHERE m.queue_id = w.queue_id AND {may_be_rung_for_wait})
)
SELECT w.connection_id, w.callback_id, candidate.agent_id
FROM (
  SELECT waits.* FROM waits
  JOIN served ON served.queue_id = waits.queue_id AND (served.callback_id IS NULL) = (waits.callback_id IS NULL)
  ORDER BY {order_of_all}
) w
CROSS JOIN LATERAL (
  SELECT m.agent_id FROM members m
  WHERE m.queue_id = w.queue_id AND {may_be_rung_for_wait}
  ORDER BY {order_of_members}
  LIMIT 1
) candidate
ORDER BY {order_of_waits}
LIMIT 1
""").of(
    waits=WAITS,
    agents=AGENTS,
    agent_may_be_rung=AGENT_MAY_BE_RUNG,
    members=MEMBERS.format(agents="agents"),
    may_be_rung_for_wait=MAY_BE_RUNG_FOR_WAIT,
    order_of_members=ORDER_OF_MEMBERS,
    order_of_all=ORDER_OF_WAITS.format("waits"),
    order_of_waits=ORDER_OF_WAITS.format("w"),
)
_OVERDUE = """
SELECT c.id FROM telephony_connection c JOIN telephony_queue q ON q.id = c.queue_id
WHERE c.state = 'waiting' AND (
  q.longest_wait_seconds > 0 AND c.waiting_since + make_interval(secs => q.longest_wait_seconds) <= %(now)s
  OR q.callback_after_seconds > 0 AND c.waiting_since + make_interval(secs => q.callback_after_seconds) <= %(now)s
    AND c.src_number ~ '^[+]?[0-9]+$'
)
ORDER BY c.waiting_since, c.id
"""


def distribute(now: datetime) -> int:
    """Withdraw unwanted offers, then ring free agents for waiting callers. Return the number of new offers."""
    # Of agents who have paused or logged out meanwhile. A call that was transferred to an agent has no queue, and rings
    # in any state of the agent.
    ringing = AgentState.objects.filter(
        agent=OuterRef("agent"), connection=OuterRef("connection"), kind=StateKind.RINGING, ended_at=None
    )
    unanswered = Offer.objects.filter(ended_at=None, answered_at=None, queue__isnull=False)
    for pk in unanswered.filter(~Exists(ringing)).order_by("id").values_list("connection", flat=True):
        _withdraw(pk, now)
    called = CallBack.objects.filter(state=CallBack.State.CALLING, connection__state=State.ORIGINATING)
    for pk in called.filter(~Exists(ringing)).order_by("id").values_list("connection", flat=True):
        callbacks.withdraw(pk, now)
    offered = 0
    # Of a call or of a call-back, whose other id is None.
    attempts: Counter[tuple[int | None, int | None]] = Counter()
    wanted: list[int] = []
    while (found := _next(now, [one for one, count in attempts.items() if count >= MOST_ATTEMPTS], wanted)) is not None:
        connection_id, callback_id, agent_id = found
        if callback_id is None:
            is_offered = _offer(connection_id, agent_id, now, wanted)
        else:
            is_offered = _call_back(callback_id, agent_id, now, wanted)
        if is_offered:
            offered += 1
        else:
            attempts[connection_id, callback_id] += 1
    return offered


def _next(now: datetime, passed: list[tuple[int | None, int | None]], wanted: list[int]) -> Any:
    connections, found = [pk for pk, _ in passed if pk], [pk for _, pk in passed if pk]
    values = {"wanted": wanted, "passed": connections, "passed_callbacks": found}
    return row_of(_NEXT, values_at(now) | values)


@transaction.atomic
def _offer(connection_id: int, agent_id: int, now: datetime, wanted: list[int]) -> bool:
    """Ring the agent for the call. Return whether it rings; add an agent who is left to a campaign to `wanted`."""
    connection = legs.lock(connection_id)
    if connection is None or connection.queue is None or not _is_waiting(connection):
        return False
    if (agent := _lock_free(agent_id, wanted)) is None:
        return False
    at = max(legs.instant(connection, now), connection.waiting_since or connection.created_at)
    Offer.objects.create(connection=connection, queue=connection.queue, agent=agent, offered_at=at)
    presence.ring(agent, connection, at)
    seconds = connection.queue.ring_seconds
    legs.ring_agent(connection, agent, at, role=Leg.Role.AGENT, presented=connection.src, ring_seconds=seconds)
    return True


@transaction.atomic
def _call_back(pk: int, agent_id: int, now: datetime, wanted: list[int]) -> bool:
    """Ring the agent for the call-back. Return whether it rings."""
    if not placement.is_line_free() or (callback := callbacks.lock(pk)) is None:
        return False
    if (agent := _lock_free(agent_id, wanted)) is None:
        return False
    callbacks.ring(callback, agent, now)
    return True


def _lock_free(agent_id: int, wanted: list[int]) -> Agent | None:
    """Lock the agent. Return None if the agent is not free any more, or is left to a campaign (added to `wanted`)."""
    if not ledger.lock(agent_id).is_in(StateKind.FREE) or Offer.objects.filter(agent=agent_id, ended_at=None).exists():
        return None
    if campaign_hooks.is_wanted(agent_id):
        wanted.append(agent_id)
        return None
    return Agent.objects.get(pk=agent_id)


def _is_waiting(connection: Connection) -> bool:
    return (
        connection.state == State.WAITING
        and connection.leg_of(Leg.Role.CUSTOMER) is not None
        and offers.current(connection) is None
    )


@transaction.atomic
def _withdraw(connection_id: int, now: datetime) -> None:
    """Hang up the phone of an agent who is no longer available, and free the call for the next agent."""
    connection = legs.lock(connection_id)
    offer = offers.current(connection) if connection else None
    if connection is None or offer is None or offer.answered_at:
        return
    state = ledger.lock(offer.agent_id).state
    if state and state.kind == StateKind.RINGING and state.connection_id == connection.pk:
        return
    at = legs.instant(connection, now)
    offers.close(offer, at, Offer.Outcome.REFUSED)
    if leg := connection.leg_of(Leg.Role.AGENT):
        legs.hang_up(leg, at)


def overdue(now: datetime) -> list[int]:
    """Return the calls that have waited in their queue up to its limit, or so long that the caller is called back."""
    return [pk for (pk,) in rows_of(_OVERDUE, {"now": now})]


def is_overdue(connection: Connection, now: datetime) -> bool:
    """Return whether a locked call has waited up to the limit, and no phone rings for it."""
    if connection.queue is None or connection.waiting_since is None or not connection.queue.longest_wait_seconds:
        return False
    limit = timedelta(seconds=connection.queue.longest_wait_seconds)
    return connection.waiting_since + limit <= now and _is_waiting(connection)
