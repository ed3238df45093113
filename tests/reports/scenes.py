"""Ledgers of some days, as hypothesis thinks them up: around midnights, changes of the clock, ends of years."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from telephony.models import Agent, AgentSession, AgentState, Connection, Consultation, Offer, Pause, Queue, Talk
from tests.telephony.factories import AgentFactory, AgentGroupFactory, PauseFactory, QueueFactory
from tests.tickets.factories import TicketFactory, TicketQueueFactory
from tickets.models import Chat, ChatMessage, Message, TicketQueue

# UTC: spring, autumn, new year and ISO week 53, the end of a month, an afternoon.
BASES = [
    datetime(2026, 3, 28, 20, tzinfo=UTC),
    datetime(2026, 10, 24, 20, tzinfo=UTC),
    datetime(2026, 12, 30, 20, tzinfo=UTC),
    datetime(2026, 4, 30, 18, tzinfo=UTC),
    datetime(2026, 6, 10, 12, tzinfo=UTC),
]
SHORT = [0, 1, 29, 30, 31, 59, 600, 3600, 5400]
LONG = [3600 * 5, 3600 * 7, 3600 * 26, 3600 * 50]


@dataclass
class Cast:
    """Who and what takes part, the same in every scene."""

    agents: list[Agent]
    pauses: list[Pause]
    queues: list[Queue]
    ticket_queues: list[TicketQueue]
    tickets: list[Any] = field(default_factory=list)


def cast() -> Cast:
    group = AgentGroupFactory()
    queues = QueueFactory.create_batch(2)
    ticket_queues = TicketQueueFactory.create_batch(2)
    return Cast(
        [AgentFactory(login=login, group=group) for login in ("anna", "borys")],
        PauseFactory.create_batch(2),
        queues,
        ticket_queues,
        [TicketFactory(queue=ticket_queues[n % 2]) for n in range(3)],
    )


@st.composite
def scenes(draw: st.DrawFn) -> tuple[datetime, int]:
    """When, and the seed of what happens: shrinking a day of work says less than running it again."""
    return draw(st.sampled_from(BASES)), draw(st.integers(0, 10**9))


class Scene:
    """Draws rows of all ledgers from one source of chance, and writes them without the verbs."""

    def __init__(self, cast: Cast, base: datetime, seed: int) -> None:
        self.cast, self.base, self.chance = cast, base, random.Random(seed)
        # Transfers have their own source of chance, so that scenes with them are the same as without them.
        self.transferring = random.Random(f"transfers {seed}")
        self.consulting = random.Random(f"consultations {seed}")
        self.length = self.chance.choice([4, 12, 40, 72]) * 3600

    @property
    def now(self) -> datetime:
        """After everything that has begun."""
        return self.base + timedelta(seconds=self.length + self.chance.choice([0, 1, 3600, 90_000]))

    def instant(self) -> datetime:
        """Often on a border."""
        second = self.chance.randrange(self.length + 1)
        step = self.chance.choice([1, 1, 60, 900, 3600])
        return self.base + timedelta(seconds=second // step * step)

    def span(self, aggregation: str) -> tuple[datetime, datetime]:
        begin = self.instant()
        if aggregation == "minute":
            return begin, begin + timedelta(seconds=self.chance.choice([60, 61, 3600, 7200, 10_000]))
        widths = [0, 24] if aggregation in ("hour", "hour_of_day") else [0, 24, 24 * 40]
        begin -= timedelta(hours=self.chance.choice(widths))
        return begin, max(begin, self.instant()) + timedelta(hours=self.chance.choice(widths), seconds=1)

    def _duration(self) -> timedelta:
        return timedelta(seconds=self.chance.choice(SHORT if self.chance.random() < 0.85 else LONG))

    def play(self) -> None:
        for agent in self.cast.agents:
            self.sessions(agent)
            self.states(agent)
        for _ in range(self.chance.randrange(8)):
            self.offer()
            self.call()
        for _ in range(self.chance.randrange(4)):
            self.chat()
        for ticket in self.cast.tickets:
            self.ticket(ticket)

    def _intervals(self) -> list[tuple[datetime, datetime | None]]:
        """Apart from one another; some are empty, some follow at once; the last may go on."""
        instants = sorted(self.instant() for _ in range(self.chance.randrange(0, 12)))
        found: list[tuple[datetime, datetime | None]] = []
        for start, end in pairwise(instants):
            if self.chance.random() < 0.7:
                found.append((start, end))
        if instants and self.chance.random() < 0.5:
            found.append((instants[-1], None))
        return found

    def sessions(self, agent: Agent) -> None:
        AgentSession.objects.bulk_create(
            AgentSession(agent=agent, started_at=start, ended_at=end) for start, end in self._intervals()
        )

    def states(self, agent: Agent) -> None:
        for start, end in self._intervals():
            kind = self.chance.choice(["free", "paused", "paused", "talking", "ringing", "wrap_up"])
            pause = self.chance.choice(self.cast.pauses) if kind == "paused" else None
            AgentState.objects.bulk_create(
                [AgentState(agent=agent, kind=kind, pause=pause, started_at=start, ended_at=end, resumes_as="")]
            )

    def _queue(self) -> Queue | None:
        return self.chance.choice([*self.cast.queues, None])

    def connection(self, agent: Agent | None, direction: str, start: datetime, **values: Any) -> Connection:
        over = values.get("ended_at") is not None
        return Connection.objects.create(
            direction=direction,
            state="ended" if over else "talking",
            disposition="ANSWERED" if over else "",
            agent=agent,
            created_at=start,
            src="1",
            dst="2",
            **values,
        )

    def offer(self, agent: Agent | None = None) -> Offer:
        """Mostly of an inbound call; it may be one that was called, and handed on to a queue."""
        agent = agent or self.chance.choice(self.cast.agents)
        start, wait, talk = self.instant(), self._duration(), self._duration()
        answered_at = start + wait if self.chance.random() < 0.7 else None
        ended_at: datetime | None = (answered_at or start + wait) + (talk if answered_at else timedelta())
        if self.chance.random() < 0.2 and not Offer.objects.filter(agent=agent, ended_at=None).exists():
            ended_at = None
            answered_at = min(answered_at, self.base + timedelta(seconds=self.length)) if answered_at else None
        transferred_at = ended_at if answered_at and self.chance.random() < 0.3 else None
        direction = "INBOUND" if self.chance.random() < 0.9 else "OUTBOUND"
        call = self.connection(None, direction, start, ended_at=ended_at)
        if answered_at and self.consulting.random() < 0.4:
            self.consultation(call, agent, answered_at, ended_at)
        return Offer.objects.create(
            connection=call,
            agent=agent,
            queue=self._queue(),
            offered_at=start,
            answered_at=answered_at,
            ended_at=ended_at,
            transferred_at=transferred_at,
            outcome="failed" if ended_at and not answered_at and self.chance.random() < 0.3 else "not_answered",
        )

    def consultation(self, call: Connection, agent: Agent, since: datetime, until: datetime | None) -> None:
        """Of the other agent: of no length, joined, not picked up, or going on."""
        lengths = [timedelta(seconds=self.consulting.choice([0, 0, 1, 59, 3600])) for _ in range(2)]
        joined_at = since + lengths[0] + lengths[1]
        is_picked_up = self.consulting.random() < 0.8
        Consultation.objects.create(
            connection=call,
            from_agent=agent,
            agent=self.consulting.choice([one for one in self.cast.agents if one != agent]),
            asked_at=since,
            up_at=since + lengths[0] if is_picked_up else None,
            joined_at=joined_at if is_picked_up and self.consulting.random() < 0.5 else None,
            ended_at=max(until, joined_at) if until else None,
        )

    def call(self, agent: Agent | None = None) -> Connection:
        start, dial, talk = self.instant(), self._duration(), self._duration()
        answered_at = start + dial if self.chance.random() < 0.7 else None
        ended_at: datetime | None = (answered_at or start + dial) + (talk if answered_at else timedelta())
        if self.chance.random() < 0.2:
            ended_at = None
            answered_at = min(answered_at, self.base + timedelta(seconds=self.length)) if answered_at else None
        elif answered_at and self.transferring.random() < 0.1:
            # The clock was set back during the call.
            ended_at = max(start, answered_at - timedelta(seconds=10))
        direction = "OUTBOUND" if self.chance.random() < 0.9 else "INBOUND"
        agent = agent or self.chance.choice(self.cast.agents)
        call = self.connection(agent, direction, start, answered_at=answered_at, ended_at=ended_at, queue=self._queue())
        if direction == "OUTBOUND" and answered_at and self.transferring.random() < 0.4:
            self.transfers(call, answered_at)
        return call

    def transfers(self, call: Connection, answered_at: datetime) -> None:
        """Let agents talk one after another in a call, an agent sometimes twice, sometimes with a pause between."""
        chance = self.transferring
        last = call.ended_at or max(self.base + timedelta(seconds=self.length), answered_at)
        whole = max(int((last - answered_at).total_seconds()), 0)
        cuts = [chance.randint(0, whole) for _ in range(chance.choice([1, 3, 3, 5]))]
        borders = [answered_at, *(answered_at + timedelta(seconds=cut) for cut in sorted(cuts))]
        agent: Any = call.agent
        pairs = list(zip(borders[::2], borders[1::2], strict=True))
        for place, (start, end) in enumerate(pairs, 1):
            # At most one talk of a call is open.
            is_open = call.ended_at is None and place == len(pairs) and chance.random() < 0.5
            Talk.objects.create(
                connection=call,
                agent=agent,
                queue=chance.choice([*self.cast.queues, None]),
                counted_at=call.created_at if start == answered_at else start,
                started_at=start,
                ended_at=None if is_open else end,
            )
            agent = chance.choice(self.cast.agents)
        Connection.objects.filter(pk=call.pk).update(has_talks=True, agent=agent)

    def chat(self) -> Chat:
        agent = self.chance.choice([*self.cast.agents, None])
        chat = Chat.objects.create(
            client_name="C",
            queue=self.chance.choice(self.cast.queues),
            agent=agent,
            created_at=self.base,
            closed_at=self.instant() if self.chance.random() < 0.6 else None,
        )
        for _ in range(self.chance.randrange(5)):
            author = self.chance.choice([*self.cast.agents, None])
            ChatMessage.objects.create(chat=chat, agent=author, body="?", created_at=self.instant())
        return chat

    def ticket(self, ticket: Any) -> None:
        if self.chance.random() < 0.5:
            closer = self.chance.choice([*self.cast.agents, None])
            type(ticket).objects.filter(pk=ticket.pk).update(closed_by=closer, closed_at=self.instant())
        for _ in range(self.chance.randrange(5)):
            author = self.chance.choice([*self.cast.agents, None])
            kind = self.chance.choice(["REPLY", "REPLY", "COMMENT"])
            Message.objects.create(ticket=ticket, type=kind, agent=author, created_at=self.instant())
