"""The current states of agents, read from the ledger, and the board of agents at work."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from callcentre.core.scope import Scope
from callcentre.core.statements import Statement, row_of, rows_of
from telephony.customers import name_beside, pages_of_customers
from telephony.models import Agent, BrowserPhone, Connection
from telephony.models.agent_intervals import StateKind
from telephony.models.connection import LEG_OCCUPIES_PHONE

LOGGED_OUT = "logged_out"

ORDER = ("talking", "ringing", "preview", "wrap_up", "free", "paused", LOGGED_OUT)
# The index finds the last state of each agent, however long the history is.
_LAST_STATES = """
SELECT agent.id, last.kind, last.started_at, last.ended_at, last.pause_id, COALESCE(pause.name, ''),
  last.connection_id, last.ends_at, last.resumes_as, last.resumes_pause_id, COALESCE(following.name, ''),
  last.awaits_topic, last.is_extended
FROM unnest(%s::bigint[]) AS agent(id)
LEFT JOIN LATERAL (
  SELECT * FROM telephony_agentstate WHERE agent_id = agent.id ORDER BY started_at DESC, id DESC LIMIT 1
) AS last ON true
LEFT JOIN telephony_pause AS pause ON pause.id = last.pause_id
LEFT JOIN telephony_pause AS following ON following.id = last.resumes_pause_id
"""
# The call of an agent's state; for an agent who has paused or logged out during a call, that of the phone.
_CALL = Statement("""
SELECT connection_id, kind, since FROM (
  SELECT 1 AS rank, connection_id, kind, started_at AS since FROM telephony_agentstate
  WHERE agent_id = %(agent)s AND ended_at IS NULL AND connection_id IS NOT NULL
  UNION ALL
  SELECT 2, connection_id, CASE state WHEN 'up' THEN 'talking' ELSE 'ringing' END,
    date_trunc('second', COALESCE(up_at, asked_at))
  FROM telephony_leg WHERE agent_id = %(agent)s AND {leg_occupies_phone}
  UNION ALL
  SELECT 2, connection_id, CASE WHEN joined_at IS NULL THEN 'ringing' ELSE 'talking' END,
    date_trunc('second', called_at)
  FROM telephony_agentline WHERE agent_id = %(agent)s AND ended_at IS NULL AND connection_id IS NOT NULL
) AS calls ORDER BY rank, since LIMIT 1
""").of(leg_occupies_phone=LEG_OCCUPIES_PHONE)


@dataclass(frozen=True, slots=True)
class Current:
    """The current state of an agent: a kind, or LOGGED_OUT. `since` is None for an agent who never logged in."""

    status: str
    since: datetime | None = None
    pause_id: int | None = None
    pause_name: str = ""
    connection_id: int | None = None
    # Of a call and its wrap-up: the due end, the state and the pause after it, and what the ledger says of the wrap-up.
    ends_at: datetime | None = None
    resumes_as: str = ""
    next_pause_id: int | None = None
    next_pause_name: str = ""
    awaits_topic: bool = False
    is_extended: bool = False

    @property
    def waits_for_topic(self) -> bool:
        return self.status == StateKind.WRAP_UP and self.awaits_topic

    @property
    def is_binding(self) -> bool:
        return self.status in (StateKind.RINGING, StateKind.TALKING) or self.waits_for_topic


def current_states(agent_ids: Collection[int]) -> dict[int, Current]:
    """Return the current states by the ids of the agents, in one statement."""
    return {
        agent_id: Current(kind, since, *rest) if kind and ended_at is None else Current(LOGGED_OUT, ended_at)
        for agent_id, kind, since, ended_at, *rest in rows_of(_LAST_STATES, [list(agent_ids)])
    }


def current_call(agent_id: int) -> tuple[Connection, str, datetime] | None:
    """Return the call that an agent is in or wraps up, the state in it and its start; None without a call."""
    row = row_of(_CALL, {"agent": agent_id})
    call = Connection.objects.select_related("queue").filter(pk=row[0]).first() if row else None
    return (call, row[1], row[2]) if call else None


# The most rows of a board. The list of agents has the rest.
SHOWN = 200


_NO_CALL = {"number": "", "customer": "", "customer_url": "", "call": None}


def board(scope: Scope) -> dict[str, Any]:
    """Return the agents within the scope who work, those in calls first, and the counts of the active ones by state.

    Calls outside the scope are not shown. `call` is the agent's call; `number` and `customer` are its other side.
    """
    at = timezone.now()
    agents = {agent.pk: agent for agent in scope.within(Agent.objects.active())}
    states = current_states(agents)
    counts = Counter(current.status for current in states.values())
    working = sorted(
        (pk for pk, current in states.items() if current.status != LOGGED_OUT),
        key=lambda pk: (ORDER.index(states[pk].status), states[pk].since or at, agents[pk].login),
    )
    shown = working[:SHOWN]
    others = _others({states[pk].connection_id for pk in shown}, scope)
    phones = _phones([agents[pk] for pk in shown if agents[pk].uses_browser_phone], at)
    rows = [
        {"id": pk, "login": agents[pk].login, "name": agents[pk].full_name, "phone": phones.get(pk, "")}
        | {"status": states[pk].status, "pause": states[pk].pause_name, "next_pause": states[pk].next_pause_name}
        | {"since": since.timestamp() if (since := states[pk].since) else None}
        | others.get(states[pk].connection_id, _NO_CALL)
        for pk in shown
    ]
    counted = {status: counts[status] for status in ORDER}
    return {"counts": counted, "rows": rows, "hidden": len(working) - len(shown), "total": len(agents)}


def _phones(agents: Sequence[Agent], at: datetime) -> dict[int, str]:
    if not agents:
        return {}
    known = BrowserPhone.objects.defer("password").in_bulk([agent.pk for agent in agents])
    closed = BrowserPhone.State.CLOSED
    return {agent.pk: known[agent.pk].state_at(at) if agent.pk in known else closed for agent in agents}


def _others(connection_ids: set[int | None], scope: Scope) -> dict[int | None, dict[str, Any]]:
    """Return the other side's number, name and page, and the id again, by the ids of connections."""
    calls = scope.within(Connection.objects.filter(pk__in=[pk for pk in connection_ids if pk is not None])).order_by()
    calls = calls.only("direction", "src", "dst", "customer_id")
    pages = pages_of_customers({call.customer_id for call in calls if call.customer_id is not None})
    others: dict[int | None, dict[str, Any]] = {}
    for call in calls:
        customer, url = pages.get(call.customer_id or 0, (None, ""))
        name = name_beside(call.customer_number, customer.label) if customer else ""
        others[call.pk] = {"number": call.customer_number, "customer": name, "customer_url": url, "call": call.pk}
    return others
