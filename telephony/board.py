"""The board of agents: their states now, and the other sides of their calls."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from callcentre.core.scope import ALL, Scope
from telephony.current_states import LOGGED_OUT, ORDER, Current, current_states
from telephony.customers import name_beside, pages_of_customers
from telephony.models import Agent, BrowserPhone, Connection

# The most rows of a board. The list of agents has the rest.
SHOWN = 200


@dataclass(frozen=True, slots=True)
class BoardRow:
    agent: Agent
    current: Current
    # The other side of the agent's call: the number, and for a known customer the name and the page.
    number: str
    customer: str
    customer_url: str
    # The agent's call, if it is within the scope.
    call: int | None
    # The state of the phone in the browser; an empty string for another phone.
    phone: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """The agents who work, those in calls first; how many active agents there are, by state and in all."""

    rows: list[BoardRow]
    counts: dict[str, int]
    hidden_count: int
    total: int


def board(scope: Scope = ALL) -> Board:
    """Return the board of the agents within the scope; calls outside it are not shown."""
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
    nothing = ("", "", "", None)
    rows = [
        BoardRow(agents[pk], states[pk], *others.get(states[pk].connection_id, nothing), phone=phones.get(pk, ""))
        for pk in shown
    ]
    return Board(rows, {status: counts[status] for status in ORDER}, len(working) - len(shown), len(agents))


def _phones(agents: Sequence[Agent], at: datetime) -> dict[int, str]:
    """Return the states of these agents' phones in browsers by the ids of the agents."""
    if not agents:
        return {}
    known = BrowserPhone.objects.defer("password").in_bulk([agent.pk for agent in agents])
    closed = BrowserPhone.State.CLOSED
    return {agent.pk: known[agent.pk].state_at(at) if agent.pk in known else closed for agent in agents}


def _others(connection_ids: set[int | None], scope: Scope) -> dict[int | None, tuple[str, str, str, int | None]]:
    """Return the other side's number, name and page, and the id again, by the ids of connections."""
    calls = scope.within(Connection.objects.filter(pk__in=[pk for pk in connection_ids if pk is not None])).order_by()
    calls = calls.only("direction", "src", "dst", "customer_id")
    pages = pages_of_customers({call.customer_id for call in calls if call.customer_id is not None})
    others: dict[int | None, tuple[str, str, str, int | None]] = {}
    for call in calls:
        number = call.src if call.direction == Connection.Direction.INBOUND else call.dst
        customer, url = pages.get(call.customer_id or 0, (None, ""))
        others[call.pk] = number, name_beside(number, customer.label) if customer else "", url, call.pk
    return others
