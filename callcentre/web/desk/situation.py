"""The situation of an agent: state, call, offered record, line and chats, each read once for a request."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.http import Http404, HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _now

from callcentre.admin import actor_of
from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.statements import rows_of
from campaigns.dialling import previews
from campaigns.models import Attempt, Record, RecordOffer
from campaigns.models.attempt import RESULT_OPEN
from telephony.current_states import LOGGED_OUT, Current, current_call, current_states
from telephony.customers import customers_of
from telephony.models import Agent, AgentLine, Connection, Consultation
from telephony.models.agent_intervals import StateKind
from telephony.numbers import comparable
from tickets.models import Customer

# The state of a call that is over and is still shown.
OVER = "over"
# No call can reach an agent at rest for so long.
REST = timedelta(seconds=2)
# The most chats of the agent, and of the agent's queues.
MOST_CHATS = 50
_CHATS = """
SELECT c.id, c.client_name, c.agent_id IS NULL, q.name, c.created_at,
  newest.id, left(newest.body, 120), newest.agent_id IS NULL, newest.created_at
FROM tickets_chat c JOIN telephony_queue q ON q.id = c.queue_id
LEFT JOIN LATERAL (
  SELECT id, body, agent_id, created_at FROM tickets_chatmessage m WHERE m.chat_id = c.id ORDER BY id DESC LIMIT 1
) newest ON true
WHERE c.closed_at IS NULL AND (c.agent_id = %(agent)s OR c.agent_id IS NULL AND c.queue_id IN (
  SELECT queue_id FROM telephony_queuemember WHERE agent_id = %(agent)s))
ORDER BY c.agent_id IS NULL, c.created_at, c.id LIMIT %(most)s
"""
_CHAT_NAMES = ("pk", "client", "is_waiting", "queue", "began_at", "line", "text", "is_clients", "written_at")


@dataclass(frozen=True, slots=True)
class Call:
    """The call at the desk, with the agent's state in it: ringing, talking, wrap_up, or OVER."""

    connection: Connection
    state: str
    since: datetime

    @property
    def is_open(self) -> bool:
        """Whether the agent is in the call, or is rung for it."""
        return self.state in (StateKind.RINGING, StateKind.TALKING)

    @property
    def is_talking(self) -> bool:
        return self.state == StateKind.TALKING and self.connection.state == Connection.State.TALKING


class Situation:
    """The situation of the agent whose user sends a request."""

    def __init__(self, request: HttpRequest, agent: Agent) -> None:
        self.request, self.agent, self.now = request, agent, timezone.now()

    @property
    def actor(self) -> Actor:
        return actor_of(self.request)

    @cached_property
    def current(self) -> Current:
        return current_states([self.agent.pk])[self.agent.pk]

    @cached_property
    def present_call(self) -> Call | None:
        """The call that the agent is rung for, is in, or wraps up."""
        found = current_call(self.agent.pk)
        return Call(*found) if found else None

    @property
    def is_at_rest(self) -> bool:
        """Whether the agent is in a pause, a wrap-up or logged out for now, and in no call and no chat."""
        current = self.current
        is_away = current.status in (LOGGED_OUT, StateKind.PAUSED, StateKind.WRAP_UP)
        is_busy = "chat_id" in self.request.GET or (self.present_call is not None and self.present_call.is_open)
        return is_away and not is_busy and (current.ends_at is None or current.ends_at > self.now + REST)

    @cached_property
    def call(self) -> Call | None:
        """The present call; without one the last call, as long as its result may be given."""
        if self.present_call:
            return self.present_call
        last = Connection.objects.filter(agent=self.agent).order_by("-created_at", "-id").first()
        if last and last.ended_at and self.now - last.ended_at < RESULT_OPEN:
            return Call(last, OVER, last.ended_at)
        return None

    @cached_property
    def last_consultation(self) -> Consultation | None:
        """The last consultation of the call that the agent is in, or is rung for. It may be over."""
        if self.present_call is None or not self.present_call.is_open:
            return None
        return self.present_call.connection.consultations.select_related("agent", "from_agent").last()

    @property
    def consultation(self) -> Consultation | None:
        """The consultation that goes on in the call."""
        last = self.last_consultation
        return last if last and last.ended_at is None else None

    @property
    def is_consulted(self) -> bool:
        """Whether another agent has called this one during a talk."""
        return self.consultation is not None and self.consultation.agent_id == self.agent.pk

    @cached_property
    def note(self) -> str:
        """The note of the agent who consults this one, or who has handed the call on."""
        if self.consultation and self.is_consulted:
            return self.consultation.note
        if self.present_call is None or not self.present_call.is_open:
            return ""
        given = self.present_call.connection.transfers.exclude(actor_kind=SYSTEM.kind).last()
        return given.note if given and given.from_agent_id != self.agent.pk else ""

    @cached_property
    def offer(self) -> RecordOffer | None:
        """The offered record. An agent with an offer is in the state of a preview."""
        return previews.current_offer(self.agent) if self.current.status == StateKind.PREVIEW else None

    @cached_property
    def shown_call(self) -> Call | None:
        """The call that the desk shows: an offered record takes the place of a call that is over."""
        return None if self.offer and self.call and self.call.state in (OVER, StateKind.WRAP_UP) else self.call

    @cached_property
    def number(self) -> str:
        """The number of the customer of the offered record or of the shown call, "" without one."""
        if self.offer:
            record = Record.objects.filter(pk=self.offer.record_id).only("phone_number").first()
            return record.phone_number if record else ""
        return self.shown_call.connection.customer_number if self.shown_call else ""

    @cached_property
    def customer(self) -> Customer | None:
        """The customer of the offered record or of the shown call, if there is one."""
        pk = self.shown_call.connection.customer_id if self.shown_call and not self.offer else None
        if pk is None and self.number:
            found = customers_of([comparable(self.number)])
            pk = next(iter(found.values())).id if found else None
        customers = Customer.objects.select_related("company", "merged_into__company")
        customer = customers.filter(pk=pk).first() if pk else None
        return customer.merged_into or customer if customer else None

    @cached_property
    def attempt(self) -> Attempt | None:
        """The attempt of the shown call, if a dialler placed it."""
        call = self.shown_call
        if call is None or not call.connection.record_id:
            return None
        return Attempt.objects.filter(connection_id=call.connection.pk).first()

    @cached_property
    def line(self) -> AgentLine | None:
        """The standing line that is open."""
        if not self.agent.has_line:
            return None
        return AgentLine.objects.filter(agent=self.agent, ended_at=None).first()

    @cached_property
    def chats(self) -> list[dict[str, Any]]:
        """The open chats of the agent, then those that wait in the agent's queues."""
        rows = rows_of(_CHATS, {"agent": self.agent.pk, "most": MOST_CHATS})
        return [dict(zip(_CHAT_NAMES, row, strict=True)) for row in rows]

    def connection_or_404(self, uid: str) -> Connection:
        """Return a call that is or was this agent's. Raises Http404 for the calls of others."""
        connection = Connection.objects.with_uid(uid).first()
        if connection is None or not self._takes_part(connection):
            raise Http404(_now("This call is not yours."))
        return connection

    def open_call_or_404(self, uid: str, *, also_consulted: bool = False) -> Connection:
        """Return the call that the agent is in. Raises Http404 for other calls, and for one that was handed on.

        A caller whom no agent has answered belongs to no agent, so that no agent can hang that caller up.
        """
        call = self.call
        is_mine = call and (call.connection.agent_id == self.agent.pk or (also_consulted and self.is_consulted))
        if call is None or call.connection.uid != uid or not is_mine:
            raise Http404(_now("This call is not yours."))
        if not call.is_open and call.connection.state != Connection.State.ENDED:
            raise Http404(_now("You have handed this call on."))
        return call.connection

    def _takes_part(self, connection: Connection) -> bool:
        if connection.agent_id == self.agent.pk:
            return True
        if self.call and self.call.connection.pk == connection.pk:
            return True
        # The agent may have handed the call on, and still owes its result or topic.
        return (
            connection.transfers.filter(from_agent=self.agent).exists()
            or Attempt.objects.filter(connection_id=connection.pk, agent=self.agent).exists()
        )
