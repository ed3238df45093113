"""The open tickets of an agent in the order in which they want work, and the next one, also without an agent."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _now

from callcentre.admin import Admin, actor_of, user_of
from callcentre.admin.scope import scope_of
from callcentre.core.integers import integer_of
from callcentre.core.scope import ALL, Scope
from telephony.models import Agent
from tickets.admin.ticket_page_sidebar import dues_of
from tickets.models import Ticket
from tickets.models.service_level import SOON
from tickets.verbs.assignment import take_next

# The newest open tickets that are read.
READ = 200


@dataclass(frozen=True, slots=True)
class OwnTicket:
    ticket: Ticket
    due: Any

    @property
    def is_unread(self) -> bool:
        """Whether the customer waits for an answer."""
        return self.ticket.awaiting_since is not None

    @property
    def is_due(self) -> bool:
        return self.due is not None and self.due.colour != "info"


def own_tickets(agent: Agent, now: datetime, scope: Scope = ALL) -> list[OwnTicket]:
    """Return the agent's open tickets: first those that are due soonest, then the unread ones."""
    mine = scope.within(Ticket.objects.filter(agent=agent, closed_at=None)).order_by("-updated_at", "-id")
    rows = [
        OwnTicket(ticket, min(dues_of(ticket, now), key=lambda due: due.at, default=None))
        for ticket in mine.select_related("status", "customer")[:READ]
    ]
    rows.sort(key=lambda row: (not row.is_due, row.due.at if row.is_due else now + SOON, not row.is_unread))
    return rows


def next_view(admin: Admin, request: HttpRequest) -> HttpResponse:
    """Redirect to the agent's next ticket that is due or unread: the one after the present one, if that still is."""
    agent = Agent.objects.of_user(user_of(request))
    if agent is None or not admin.has_view_or_change_permission(request):
        raise PermissionDenied
    rows = [row for row in own_tickets(agent, timezone.now(), scope_of(request)) if row.is_due or row.is_unread]
    ids = [row.ticket.pk for row in rows]
    present = integer_of(request.GET.get("after"))
    place = ids.index(present) + 1 if present in ids else 0
    if place < len(ids):
        return redirect(admin.url_of("change", ids[place]))
    admin.message_user(request, _now("No other ticket of yours is due or unread."), messages.INFO)
    return redirect(f"{admin.url_of('changelist')}?view=mine")


def take_next_view(admin: Admin, request: HttpRequest) -> HttpResponse:
    """Assign the ticket without an agent that wants work first to the agent, and show it."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    agent = Agent.objects.of_user(user_of(request))
    if agent is None or not admin.has_change_permission(request):
        raise PermissionDenied
    if ticket := take_next(agent, actor_of(request)):
        admin.message_user(request, _now("The ticket is yours."), messages.SUCCESS)
        return redirect(admin.url_of("change", ticket.pk))
    admin.message_user(request, _now("No ticket without an agent waits for you."), messages.INFO)
    return redirect(admin.url_of("changelist"))
