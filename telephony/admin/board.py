"""The live board: who does what since when. It says when it was read, and by whom nothing is heard."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from telephony.admin.state_labels import COLOURS, LABELS, label_of, length
from telephony.current_states import LOGGED_OUT, ORDER, Current, current_states
from telephony.customers import pages_of_customers
from telephony.leader_election import is_connected
from telephony.models import Agent, Connection

# A board is for looking at: the rest is in the list of agents.
SHOWN = 200


@dataclass(frozen=True, slots=True)
class Line:
    agent: Agent
    current: Current
    # The other side of the call he is in: the number, and if it is known whose, the name and where it leads.
    number: str
    customer: str
    customer_url: str

    @property
    def label(self) -> str:
        return label_of(self.current)

    @property
    def colour(self) -> str:
        return COLOURS[self.current.status]

    @property
    def length(self) -> str:
        return length(self.current.since)


@dataclass(frozen=True, slots=True)
class Tile:
    status: str
    label: str
    count: int


def board_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Nothing where there are no agents yet."""
    if not request.user.has_perm("telephony.view_agent"):
        return None
    board = _board()
    return {"template": "admin/telephony/board.html", **board} if board["tiles"] else None


def board_now(request: HttpRequest) -> HttpResponse:
    response = render(request, "admin/telephony/board_now.html", {"panel": _board()})
    response.headers["Cache-Control"] = "no-store"
    return response


def _board() -> dict[str, Any]:
    at = timezone.now()
    agents = {agent.pk: agent for agent in Agent.objects.active()}
    states = current_states(agents)
    counts = Counter(current.status for current in states.values())
    working = sorted(
        (pk for pk, current in states.items() if current.status != LOGGED_OUT),
        key=lambda pk: (ORDER.index(states[pk].status), states[pk].since or at, agents[pk].login),
    )
    shown = working[:SHOWN]
    others = _others({states[pk].connection_id for pk in shown})
    return {
        "at": at,
        "is_connected": is_connected(),
        "tiles": [Tile(status, LABELS[status], counts[status]) for status in ORDER] if agents else [],
        "lines": [Line(agents[pk], states[pk], *others.get(states[pk].connection_id, ("", "", ""))) for pk in shown],
        "hidden_count": len(working) - len(shown),
        "url": reverse("admin:telephony_agent_board"),
        "agents_url": reverse("admin:telephony_agent_changelist"),
    }


def _others(connection_ids: set[int | None]) -> dict[int | None, tuple[str, str, str]]:
    """Of each connection the other side's number, name and page."""
    calls = Connection.objects.filter(pk__in=[pk for pk in connection_ids if pk is not None]).order_by()
    calls = calls.only("direction", "src", "dst", "customer_id")
    pages = pages_of_customers({call.customer_id for call in calls if call.customer_id is not None})
    others: dict[int | None, tuple[str, str, str]] = {}
    for call in calls:
        number = call.src if call.direction == Connection.Direction.INBOUND else call.dst
        customer, url = pages.get(call.customer_id or 0, (None, ""))
        others[call.pk] = number, customer.label if customer else "", url
    return others
