"""The live board of agents, their states and calls. It shows when it was read and if no listener is connected."""

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
    """Return the board for the start page; None without agents or permission."""
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
        "lines": [
            BoardRow(agents[pk], states[pk], *others.get(states[pk].connection_id, ("", "", ""))) for pk in shown
        ],
        "hidden_count": len(working) - len(shown),
        "url": reverse("admin:telephony_agent_board"),
        "agents_url": reverse("admin:telephony_agent_changelist"),
    }


def _others(connection_ids: set[int | None]) -> dict[int | None, tuple[str, str, str]]:
    """Return the other side's number, name and page by the ids of connections."""
    calls = Connection.objects.filter(pk__in=[pk for pk in connection_ids if pk is not None]).order_by()
    calls = calls.only("direction", "src", "dst", "customer_id")
    pages = pages_of_customers({call.customer_id for call in calls if call.customer_id is not None})
    others: dict[int | None, tuple[str, str, str]] = {}
    for call in calls:
        number = call.src if call.direction == Connection.Direction.INBOUND else call.dst
        customer, url = pages.get(call.customer_id or 0, (None, ""))
        others[call.pk] = number, customer.label if customer else "", url
    return others
