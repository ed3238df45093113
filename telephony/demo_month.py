"""A month of work for the demonstration, simulated call by call, with the same random numbers each time.

Callers of the queue are offered to the agent who has been free the longest. Agents place calls, pause, and do not
always answer. So the rows of all tables are consistent.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import partial

from django.db import transaction
from django.utils import timezone

from telephony import causes
from telephony.models import Agent, AgentSession, AgentState, Connection, Leg, Offer, Pause, Queue, Transfer
from telephony.numbers import comparable

DAYS = 30
# Each agent's first and last hour.
SHIFTS = {"agent1": (8, 16), "agent2": (8, 16), "agent3": (9, 17), "agent4": (8, 16), "agent5": (10, 18)}
INBOUND_A_DAY, OUTBOUND_A_DAY = 36, 30
# By the last two digits of a number, as at the simulated switch: cause (Q.850) and result.
OUTCOMES = {
    1: (17, "BUSY"),
    2: (19, "NO ANSWER"),
    3: (21, "FAILED"),
    4: (1, "FAILED"),
    5: (38, "FAILED"),
    6: (19, "NO ANSWER"),
}
NORMAL = 16


@dataclass
class Shift:
    """An agent's day so far. The next state begins at `free_at` at the earliest."""

    agent: Agent
    began_at: datetime
    free_at: datetime
    ends_at: datetime
    states: list[AgentState] = field(default_factory=list)

    def is_there(self, at: datetime) -> bool:
        return self.free_at <= at < self.ends_at

    def add(self, kind: str, start: datetime, end: datetime, **values: object) -> None:
        """Add a state. The agent was free until its start."""
        if self.free_at < start:
            self.states.append(
                AgentState(agent=self.agent, kind="free", started_at=self.free_at, ended_at=start, resumes_as="")
            )
        if start < end:
            in_call = {"resumes_as": "" if kind == "paused" else "free"}
            self.states.append(
                AgentState(agent=self.agent, kind=kind, started_at=start, ended_at=end, **in_call, **values)
            )
        self.free_at = end


def _at(day: date, hour: float) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()) + timedelta(seconds=round(hour * 3600)))


class Month:
    """The rows of the month, not saved yet."""

    def __init__(self, queue: Queue, agents: list[Agent], pauses: list[Pause]) -> None:
        self.queue, self.agents, self.pauses = queue, agents, pauses
        self.chance = random.Random("a month of calls")  # noqa: S311  (a demonstration, no secret)
        self.sessions: list[AgentSession] = []
        self.states: list[AgentState] = []
        self.connections: list[Connection] = []
        self.legs: list[Leg] = []
        self.offers: list[Offer] = []
        self.transfers: list[Transfer] = []

    def play(self, day: date) -> None:
        shifts = list(self._shifts(day))
        happens: list[tuple[datetime, Callable[[datetime], None]]] = [
            (_at(day, self.chance.uniform(8, 18)), partial(self._call_in, shifts)) for _ in range(INBOUND_A_DAY)
        ]
        for shift in shifts:
            length = shift.ends_at - shift.began_at
            happens += [
                (shift.began_at + length * self.chance.random(), partial(self._call_out, shift))
                for _ in range(OUTBOUND_A_DAY // len(self.agents))
            ]
            happens += [
                (shift.began_at + length * (0.3 + 0.2 * number), partial(self._rest, shift, pause))
                for number, pause in enumerate(self.pauses)
                if number < 2 or self.chance.random() < 0.2
            ]
        for instant, happen in sorted(happens, key=lambda one: one[0]):
            happen(instant.replace(microsecond=0))
        for shift in shifts:
            leaves_at = max(shift.ends_at, shift.free_at)
            shift.add("free", leaves_at, leaves_at)
            self.sessions.append(
                AgentSession(agent=shift.agent, started_at=shift.began_at, ended_at=leaves_at, ended_by="logout")
            )
            self.states += shift.states

    def _shifts(self, day: date) -> Iterator[Shift]:
        for agent in self.agents:
            first, last = SHIFTS[agent.login]
            comes, goes = first + self.chance.uniform(-0.1, 0.1), last + self.chance.uniform(-0.1, 0.2)
            if self.chance.random() < 0.85:  # now and then a day off
                began_at = _at(day, comes)
                yield Shift(agent, began_at, began_at, _at(day, goes))

    def _seconds(self, low: int, high: int) -> timedelta:
        """Return a random length, short ones more often."""
        return timedelta(seconds=int(self.chance.triangular(low, high, low + (high - low) // 4)))

    def _outside(self) -> str:
        # The demonstration's customers have numbers that begin with 20.
        first = 20 if self.chance.random() < 0.3 else self.chance.randrange(100)
        return f"+48 22 555 {first:02}{self._digits():02}"

    def _digits(self) -> int:
        return self.chance.choice([*OUTCOMES, 2]) if self.chance.random() < 0.3 else self.chance.randrange(7, 100)

    def _rest(self, shift: Shift, pause: Pause, at: datetime) -> None:
        start = max(at, shift.free_at)
        if start < shift.ends_at:
            minutes = {"Lunch": 30, "Training": 45}.get(pause.name, 10)
            end = start + timedelta(minutes=minutes) + self._seconds(-60, 240)
            shift.add("paused", start, end, pause=pause)

    def _call_out(self, shift: Shift, at: datetime) -> None:
        if not shift.is_there(at):
            return
        number = self._outside()
        call = self._connection("OUTBOUND", at, shift.agent.number, number, agent=shift.agent)
        picked_up = at + self._seconds(1, 5)
        rang = self._seconds(3, 20)
        cause, disposition = OUTCOMES.get(int(number[-2:]), (NORMAL, "ANSWERED"))
        if disposition == "ANSWERED":
            call.answered_at = picked_up + rang
            call.ended_at = call.answered_at + self._seconds(15, 600)
            call.hung_up_by = self.chance.choice(["agent", "customer"])
        else:
            call.ended_at = picked_up + (timedelta(seconds=30) if disposition == "NO ANSWER" else rang)
            call.hung_up_by = "customer"
        call.disposition, call.cause = disposition, cause
        call.ring_seconds = int(((call.answered_at or call.ended_at) - picked_up).total_seconds())
        self._agent_leg(call, shift, asked_at=at, up_at=picked_up, ended_at=call.ended_at, cause=NORMAL)
        self._leg(
            call, "customer", number, asked_at=picked_up, up_at=call.answered_at, ended_at=call.ended_at, cause=cause
        )
        shift.add("ringing", at, picked_up, connection=call)
        shift.add("talking", picked_up, call.ended_at, connection=call)

    def _call_in(self, shifts: list[Shift], at: datetime) -> None:
        """Let a caller wait, offer the call to one agent after another, or let the caller give up."""
        call = self._connection("INBOUND", at, self._outside(), self.queue.number, queue=self.queue, waiting_since=at)
        gives_up_at = at + self._seconds(20, 240)
        now, asked = at, set()
        while True:
            there = [
                shift for shift in shifts if shift.agent.pk not in asked and shift.ends_at > max(shift.free_at, now)
            ]
            shift = min(there, key=lambda one: one.free_at, default=None)
            if shift is None or max(shift.free_at, now) >= gives_up_at:
                self._abandoned(call, gives_up_at)
                return
            asked.add(shift.agent.pk)
            now = self._offer(call, shift, max(shift.free_at, now), gives_up_at)
            if call.ended_at is not None:
                return

    def _offer(self, call: Connection, shift: Shift, at: datetime, gives_up_at: datetime) -> datetime:
        """Offer the call to an agent. Return the end of the offer; the call may have ended with it."""
        luck = self.chance.random()
        rang = self._seconds(2, 14)
        offer = Offer(connection=call, queue=self.queue, agent=shift.agent, offered_at=at)
        self.offers.append(offer)
        if luck < 0.82:
            answered_at = at + rang
            offer.outcome, offer.answered_at = "answered", answered_at
            offer.ended_at = ended_at = answered_at + self._seconds(20, 540)
            call.agent, call.answered_at, call.ended_at = shift.agent, answered_at, ended_at
            call.disposition, call.cause, call.hung_up_by = (
                "ANSWERED",
                NORMAL,
                self.chance.choice(["agent", "customer"]),
            )
            call.wait_seconds = int((answered_at - call.created_at).total_seconds())
            self._agent_leg(call, shift, asked_at=at, up_at=answered_at, ended_at=ended_at, cause=NORMAL)
            shift.add("ringing", at, answered_at, connection=call)
            shift.add("talking", answered_at, ended_at, connection=call)
            shift.add("wrap_up", ended_at, ended_at + timedelta(seconds=self.queue.wrap_up_seconds), connection=call)
            if luck < 0.08:
                self._hand_on(call, offer)
            self._caller_leg(call)
            return ended_at
        if luck < 0.86:
            rang, offer.outcome, cause = min(rang, timedelta(seconds=4)), "refused", 21
        else:
            rang, offer.outcome, cause = timedelta(seconds=self.queue.ring_seconds), "not_answered", 19
        if at + rang >= gives_up_at:
            rang, offer.outcome, cause = gives_up_at - at, "abandoned", 26
            self._abandoned(call, gives_up_at)
        offer.ended_at = at + rang
        self._agent_leg(call, shift, asked_at=at, ended_at=at + rang, cause=cause)
        shift.add("ringing", at, at + rang, connection=call)
        return at + rang

    def _hand_on(self, call: Connection, offer: Offer) -> None:
        """Transfer the caller to an outside number; the agent leaves the call."""
        at, number = offer.ended_at, "+48225550199"
        assert at is not None
        offer.transferred_at = at
        ends_at = at + self._seconds(30, 300)
        self.transfers.append(
            Transfer(
                connection=call,
                from_agent=offer.agent,
                from_queue=call.queue,
                number=number,
                at=at,
                action="transfer",
                actor_kind="agent",
                actor_id=offer.agent_id,
                actor_name=offer.agent.login,
            )
        )
        self._leg(
            call, "customer", number, asked_at=at, up_at=at + timedelta(seconds=5), ended_at=ends_at, cause=NORMAL
        )
        call.ended_at, call.hung_up_by = ends_at, "customer"

    def _abandoned(self, call: Connection, at: datetime) -> None:
        call.ended_at, call.disposition, call.cause, call.hung_up_by = at, "NO ANSWER", NORMAL, "customer"
        call.wait_seconds = int((at - call.created_at).total_seconds())
        self._caller_leg(call)

    def _connection(self, direction: str, at: datetime, src: str, dst: str, **values: object) -> Connection:
        call = Connection(
            direction=direction,
            state="ended",
            src=src,
            dst=dst,
            src_number=comparable(src),
            dst_number=comparable(dst),
            created_at=at,
            **values,
        )
        self.connections.append(call)
        return call

    def _leg(self, call: Connection, role: str, number: str, **values: object) -> None:
        self.legs.append(Leg(connection=call, role=role, number=number, state="ended", **values))

    def _agent_leg(self, call: Connection, shift: Shift, **values: object) -> None:
        self._leg(call, "agent", shift.agent.number, agent=shift.agent, **values)

    def _caller_leg(self, call: Connection) -> None:
        ends = {"asked_at": call.created_at, "up_at": call.created_at, "ended_at": call.ended_at}
        self._leg(call, "customer", call.src, cause=NORMAL, **ends)

    @transaction.atomic
    def save(self) -> None:
        for call in self.connections:
            call.cause_text = causes.text_of(call.cause)
        self.connections.sort(key=lambda call: call.created_at)
        Connection.objects.bulk_create(self.connections, batch_size=1000)
        self.legs.sort(key=lambda leg: (leg.connection.pk, leg.asked_at))
        for number, leg in enumerate(self.legs):
            leg.channel_id = f"demo-{leg.connection.pk}-{number}"
            leg.cause_text = causes.text_of(leg.cause)
        Leg.objects.bulk_create(self.legs, batch_size=1000)
        Offer.objects.bulk_create(sorted(self.offers, key=lambda offer: offer.offered_at), batch_size=1000)
        Transfer.objects.bulk_create(self.transfers)
        AgentSession.objects.bulk_create(self.sessions)
        AgentState.objects.bulk_create(sorted(self.states, key=lambda state: state.started_at), batch_size=1000)


def days() -> Iterator[date]:
    """Return the days of the month that ended yesterday, the oldest first."""
    today = timezone.localdate()
    return (today - timedelta(days=back) for back in range(DAYS, 0, -1))


def seed(queue: Queue, agents: list[Agent], pauses: list[Pause]) -> None:
    """Add the month, unless there are calls already."""
    if Connection.objects.exists():
        return
    month = Month(queue, agents, pauses)
    for day in days():
        month.play(day)
    month.save()
