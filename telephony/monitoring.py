"""Figures of the calls, the queues, the agents and the listener for /metrics."""

from collections.abc import Iterable

from prometheus_client.core import Metric

from callcentre.core.monitoring import database_figures, gauge, gauges, query
from callcentre.core.statements import Statement
from telephony.leader_election import CONNECTED, HOLDERS, LEADER
from telephony.models import AgentState
from telephony.models.connection import PHONE_IS_IN_CALL

_OPEN_CALLS = Statement("""
SELECT state, count(*), GREATEST(EXTRACT(epoch FROM now() - min(created_at) FILTER (
  -- A call that waits for its agent's phone is not late.
  WHERE state <> 'queued' OR NOT {phone_is_in_call}
)), 0)::float8
FROM telephony_connection WHERE state <> 'ended' GROUP BY state
""").of(phone_is_in_call=PHONE_IS_IN_CALL)
_WAITING_CALLERS = """
SELECT q.name, count(c.id), GREATEST(EXTRACT(epoch FROM now() - min(c.waiting_since)), 0)::float8
FROM telephony_queue q LEFT JOIN telephony_connection c ON c.queue_id = q.id AND c.state = 'waiting'
WHERE q.is_active OR c.id IS NOT NULL GROUP BY q.id
"""
_AGENTS = "SELECT kind, count(*) FROM telephony_agentstate WHERE ended_at IS NULL GROUP BY kind"


def figures() -> Iterable[Metric]:
    locks = dict(query(HOLDERS))
    counts, ages = {}, {}
    for state, count, age in query(_OPEN_CALLS):
        counts[state], ages[state] = count, age
    callers = query(_WAITING_CALLERS)
    agents = dict(query(_AGENTS))
    states = ("queued", "originating", "dialling", "waiting", "talking")
    yield gauge("callcentre_listener_up", "Whether a process listens to the switch", LEADER in locks)
    yield gauge("callcentre_switch_heard", "Whether it is connected to the PBX", CONNECTED in locks)
    if LEADER in locks:
        seconds = max(locks[LEADER], 0)
        yield gauge("callcentre_listener_silent_seconds", "Seconds since its last sign of activity", seconds)
    yield gauges(
        "callcentre_open_calls", "Calls that are not over", "state", {state: counts.get(state, 0) for state in states}
    )
    yield gauges(
        "callcentre_waiting_callers",
        "Callers who wait in the queue",
        "queue",
        {queue: count for queue, count, _seconds in callers},
    )
    yield gauges(
        "callcentre_longest_wait_seconds",
        "Longest wait among them; 0 for none",
        "queue",
        {queue: seconds for queue, _count, seconds in callers},
    )
    yield gauges(
        "callcentre_agents",
        "Agents who are logged in or paused",
        "state",
        {state: agents.get(state, 0) for state in AgentState.Kind.values},
    )
    yield gauge(
        "callcentre_queued_call_oldest_seconds",
        "Age of the call that has waited longest to be placed; 0 for none",
        ages.get("queued", 0.0),
    )


database_figures.append(figures)
