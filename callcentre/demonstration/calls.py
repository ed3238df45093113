"""A month of work for the demonstration, simulated call by call, with the same random numbers each time.

Callers of the queue are offered to the agent who has been free the longest. Agents place calls, pause, and do not
always answer. So the rows of all tables are consistent.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from telephony import causes
from telephony.models import Agent, AgentSession, AgentState, Connection, Leg, Offer, Pause, Queue, Transfer
from telephony.numbers import comparable

DAYS = 30
INBOUND_A_DAY, OUTBOUND_A_DAY = 36, 30
NORMAL = 16
# By the last two digits of a number, as at the simulated switch: cause (Q.850) and result.
OUTCOMES = {
    1: (17, "BUSY"),
    2: (19, "NO ANSWER"),
    3: (21, "FAILED"),
    4: (1, "FAILED"),
    5: (38, "FAILED"),
    6: (19, "NO ANSWER"),
}


@dataclass
class Shift:
    """An agent's day so far. The next state begins at `free_at` at the earliest."""

    agent: Agent
    began_at: datetime
    free_at: datetime
    ends_at: datetime


def at_hour(day: date, hour: float) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()) + timedelta(seconds=round(hour * 3600)))


def days() -> list[date]:
    """Return the days of the month that ended yesterday, the oldest first."""
    return [timezone.localdate() - timedelta(days=back) for back in range(DAYS, 0, -1)]


def seed(queue: Queue, agents: list[Agent], pauses: list[Pause], shifts: Mapping[str, list[int]]) -> None:
    """Add the month, unless there are calls already."""
    if not Connection.objects.exists():
        Month(queue, agents, pauses, shifts).save()


class Month:
    """The rows of the month by their model, not saved yet. `hours` are the first and the last of each login."""

    def __init__(self, queue: Queue, agents: list[Agent], pauses: list[Pause], hours: Mapping[str, list[int]]) -> None:
        self.queue, self.agents, self.pauses, self.hours = queue, agents, pauses, hours
        self.chance = random.Random("a month of calls")  # noqa: S311  (a demonstration, no secret)
        self.rows: dict[type[Model], list[Any]] = defaultdict(list)
        for day in days():
            self._play(day)

    @transaction.atomic
    def save(self) -> None:
        calls, legs, states = (self.rows[model] for model in (Connection, Leg, AgentState))
        for row in [*calls, *legs]:
            row.cause_text = causes.text_of(row.cause)
        Connection.objects.bulk_create(sorted(calls, key=lambda call: call.created_at), batch_size=1000)
        legs.sort(key=lambda leg: (leg.connection.pk, leg.asked_at))
        for number, leg in enumerate(legs):
            leg.channel_id = f"demo-{leg.connection.pk}-{number}"
        self.rows[Offer].sort(key=lambda offer: offer.offered_at)
        states.sort(key=lambda state: state.started_at)
        for model in (Leg, Offer, Transfer, AgentSession, AgentState):
            model._default_manager.bulk_create(self.rows[model], batch_size=1000)

    def _play(self, day: date) -> None:
        shifts = list(self._shifts(day))
        happens: list[tuple[datetime, Callable[[datetime], None]]] = [
            (at_hour(day, self.chance.uniform(8, 18)), partial(self._call_in, shifts)) for _ in range(INBOUND_A_DAY)
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
            self._state(shift, "free", leaves_at, leaves_at)
            times = {"started_at": shift.began_at, "ended_at": leaves_at}
            self._add(AgentSession, agent=shift.agent, ended_by="logout", **times)

    def _shifts(self, day: date) -> Iterator[Shift]:
        for agent in self.agents:
            first, last = self.hours[agent.login]
            comes, goes = first + self.chance.uniform(-0.1, 0.1), last + self.chance.uniform(-0.1, 0.2)
            if self.chance.random() < 0.85:  # now and then a day off
                began_at = at_hour(day, comes)
                yield Shift(agent, began_at, began_at, at_hour(day, goes))

    def _seconds(self, low: int, high: int) -> timedelta:
        """Return a random length, short ones more often."""
        return timedelta(seconds=int(self.chance.triangular(low, high, low + (high - low) // 4)))

    def _outside(self) -> str:
        # The demonstration's customers have numbers that begin with 20.
        first = 20 if self.chance.random() < 0.3 else self.chance.randrange(100)
        is_refused = self.chance.random() < 0.3
        last = self.chance.choice([*OUTCOMES, 2]) if is_refused else self.chance.randrange(7, 100)
        return f"+48 22 555 {first:02}{last:02}"

    def _rest(self, shift: Shift, pause: Pause, at: datetime) -> None:
        start = max(at, shift.free_at)
        if start < shift.ends_at:
            minutes = {"Lunch": 30, "Training": 45}.get(pause.name, 10)
            end = start + timedelta(minutes=minutes) + self._seconds(-60, 240)
            self._state(shift, "paused", start, end, pause=pause, resumes_as="")

    def _call_out(self, shift: Shift, at: datetime) -> None:
        if not shift.free_at <= at < shift.ends_at:
            return
        number = self._outside()
        call = self._call("OUTBOUND", at, shift.agent.number, number, agent=shift.agent)
        picked_up, rang = at + self._seconds(1, 5), self._seconds(3, 20)
        call.cause, call.disposition = OUTCOMES.get(int(number[-2:]), (NORMAL, "ANSWERED"))
        call.hung_up_by = "customer"
        if call.disposition == "ANSWERED":
            call.answered_at = picked_up + rang
            call.ended_at = call.answered_at + self._seconds(15, 600)
            call.hung_up_by = self.chance.choice(["agent", "customer"])
        else:
            call.ended_at = picked_up + (timedelta(seconds=30) if call.disposition == "NO ANSWER" else rang)
        call.ring_seconds = int(((call.answered_at or call.ended_at) - picked_up).total_seconds())
        self._leg(call, at, picked_up, call.ended_at, agent=shift.agent)
        self._leg(call, picked_up, call.answered_at, call.ended_at, number=number, cause=call.cause)
        self._state(shift, "ringing", at, picked_up, connection=call)
        self._state(shift, "talking", picked_up, call.ended_at, connection=call)

    def _call_in(self, shifts: list[Shift], at: datetime) -> None:
        """Let a caller wait, offer the call to one agent after another, or let the caller give up."""
        call = self._call("INBOUND", at, self._outside(), self.queue.number, queue=self.queue, waiting_since=at)
        gives_up_at = at + self._seconds(20, 240)
        asked: list[Shift] = []
        while call.ended_at is None:
            there = [shift for shift in shifts if shift not in asked and shift.ends_at > max(shift.free_at, at)]
            shift = min(there, key=lambda one: one.free_at, default=None)
            if shift is None or max(shift.free_at, at) >= gives_up_at:
                self._abandon(call, gives_up_at)
            else:
                asked.append(shift)
                at = self._offer(call, shift, max(shift.free_at, at), gives_up_at)

    def _offer(self, call: Connection, shift: Shift, at: datetime, gives_up_at: datetime) -> datetime:
        """Offer the call to an agent. Return the end of the offer; the call may have ended with it."""
        luck, rang = self.chance.random(), self._seconds(2, 14)
        offer: Offer = self._add(Offer, connection=call, queue=self.queue, agent=shift.agent, offered_at=at)
        if luck < 0.82:
            ended_at = self._answer(call, shift, offer, at + rang)
            if luck < 0.08:
                self._hand_on(call, offer)
            self._leg(call, call.created_at, call.created_at, call.ended_at, number=call.src)
            return ended_at
        if luck < 0.86:
            rang, offer.outcome, cause = min(rang, timedelta(seconds=4)), "refused", 21
        else:
            rang, offer.outcome, cause = timedelta(seconds=self.queue.ring_seconds), "not_answered", 19
        if at + rang >= gives_up_at:
            rang, offer.outcome, cause = gives_up_at - at, "abandoned", 26
            self._abandon(call, gives_up_at)
        offer.ended_at = ended_at = at + rang
        self._leg(call, at, None, ended_at, agent=shift.agent, cause=cause)
        self._state(shift, "ringing", at, ended_at, connection=call)
        return ended_at

    def _answer(self, call: Connection, shift: Shift, offer: Offer, at: datetime) -> datetime:
        """Let the agent talk and wrap up. Return the end of the talk."""
        ended_at = at + self._seconds(20, 540)
        offer.outcome, offer.answered_at, offer.ended_at = "answered", at, ended_at
        call.agent, call.answered_at, call.ended_at = shift.agent, at, ended_at
        call.disposition, call.cause = "ANSWERED", NORMAL
        call.hung_up_by = self.chance.choice(["agent", "customer"])
        call.wait_seconds = int((at - call.created_at).total_seconds())
        self._leg(call, offer.offered_at, at, ended_at, agent=shift.agent)
        self._state(shift, "ringing", offer.offered_at, at, connection=call)
        self._state(shift, "talking", at, ended_at, connection=call)
        wraps_up_until = ended_at + timedelta(seconds=self.queue.wrap_up_seconds)
        self._state(shift, "wrap_up", ended_at, wraps_up_until, connection=call)
        return ended_at

    def _hand_on(self, call: Connection, offer: Offer) -> None:
        """Transfer the caller to an outside number; the agent leaves the call."""
        at, number = offer.ended_at, "+48225550199"
        assert at is not None
        offer.transferred_at = at
        agent, ends_at = offer.agent, at + self._seconds(30, 300)
        actor = {"action": "transfer", "actor_kind": "agent", "actor_id": agent.pk, "actor_name": agent.login}
        self._add(Transfer, connection=call, from_agent=agent, from_queue=call.queue, number=number, at=at, **actor)
        self._leg(call, at, at + timedelta(seconds=5), ends_at, number=number)
        call.ended_at, call.hung_up_by = ends_at, "customer"

    def _abandon(self, call: Connection, at: datetime) -> None:
        call.ended_at, call.disposition, call.cause, call.hung_up_by = at, "NO ANSWER", NORMAL, "customer"
        call.wait_seconds = int((at - call.created_at).total_seconds())
        self._leg(call, call.created_at, call.created_at, call.ended_at, number=call.src)

    def _add(self, model: type[Model], **values: Any) -> Any:
        row = model(**values)
        self.rows[model].append(row)
        return row

    def _call(self, direction: str, at: datetime, src: str, dst: str, **values: object) -> Any:
        numbers = {"src": src, "dst": dst, "src_number": comparable(src), "dst_number": comparable(dst)}
        return self._add(Connection, direction=direction, state="ended", created_at=at, **numbers, **values)

    def _leg(
        self,
        call: Connection,
        asked_at: datetime,
        up_at: datetime | None,
        ended_at: datetime | None,
        *,
        number: str = "",
        agent: Agent | None = None,
        cause: int | None = NORMAL,
    ) -> None:
        """Add the leg of a number, or that of an agent."""
        times = {"asked_at": asked_at, "up_at": up_at, "ended_at": ended_at}
        who = (
            {"role": "agent", "agent": agent, "number": agent.number}
            if agent
            else {"role": "customer", "number": number}
        )
        self._add(Leg, connection=call, state="ended", cause=cause, **times, **who)

    def _state(self, shift: Shift, kind: str, start: datetime, end: datetime, **values: object) -> None:
        """Add a state of the agent, who was free until its start."""
        if shift.free_at < start:
            times = {"started_at": shift.free_at, "ended_at": start}
            self._add(AgentState, agent=shift.agent, kind="free", resumes_as="", **times)
        if start < end:
            values = {"resumes_as": "free", "started_at": start, "ended_at": end} | values
            self._add(AgentState, agent=shift.agent, kind=kind, **values)
        shift.free_at = end
