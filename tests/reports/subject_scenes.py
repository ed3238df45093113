"""Calls, attempts and tickets of some days, drawn from one source of chance and written without the verbs."""

import random
from datetime import datetime, time, timedelta
from typing import Any

from campaigns.models import Attempt, Campaign, Record
from telephony.models import Agent, AgentState, Connection, Offer, Queue
from tests.campaigns.factories import CampaignFactory, PastAttemptFactory, RecordFactory, RecordStatusFactory
from tests.telephony.factories import AgentFactory, CallBackFactory, MissedCallerFactory, QueueFactory
from tests.tickets.factories import RatingFactory, TicketFactory, levelled_queue
from tickets.models import TicketQueue
from tickets.verbs.due_times import set_columns

AT_NIGHT = [
    (weekday, *hours)
    for weekday in (6, 7)
    for hours in ((time(0), time(3, 30)), (time(5), time(20)), (time(22), time(0)))
]
LENGTHS = [0, 1, 20, 21, 59, 600, 3600, 7200]


class SubjectScene:
    """Around a change of the clock: from its base, for a day and a half."""

    hours = 36

    def __init__(self, base: datetime, seed: int) -> None:
        self.base, self.chance, self.lost = base, random.Random(seed), 0
        # Nothing is after it, and some calls go on.
        self.now = base + timedelta(hours=self.hours + 2)
        self.agents: list[Agent] = AgentFactory.create_batch(2)
        self.queues: list[Queue] = [QueueFactory(name=f"Queue {n}") for n in range(2)]
        self.campaigns: list[Campaign] = [CampaignFactory(name=f"Campaign {n}", code=f"camp{n}") for n in range(2)]
        self.ticket_queues: list[TicketQueue] = [
            levelled_queue(90, None, name="Always open"),
            levelled_queue(30, 240, AT_NIGHT, name="Open at night"),
        ]

    def play(self) -> None:
        for _ in range(30):
            self.call()
            self.ticket()
        self.attempts()

    def instant(self, step: int = 0) -> datetime:
        """Often on a border."""
        step = step or self.chance.choice([1, 60, 1800, 3600])
        return self.base + timedelta(seconds=self.chance.randrange(self.hours * 3600) // step * step)

    def _length(self) -> timedelta:
        return timedelta(seconds=self.chance.choice(LENGTHS))

    def call(self) -> None:
        chance, start, wait = self.chance, self.instant(), self._length()
        fate = chance.choice(["answered", "answered", "answered", "abandoned", "overflowed", "waiting", "talking"])
        answered_at = start + wait if fate in ("answered", "talking") else None
        ended_at = None if fate in ("waiting", "talking") else (answered_at or start + wait) + self._length()
        call = Connection.objects.create(
            direction=chance.choice(["INBOUND"] * 9 + ["OUTBOUND"]),
            state={"waiting": "waiting", "talking": "talking"}.get(fate, "ended"),
            disposition="" if ended_at is None else "ANSWERED" if answered_at else "NO ANSWER",
            hung_up_by="" if ended_at is None else "system" if fate == "overflowed" else "customer",
            queue=chance.choice([*self.queues, *self.queues, None]),
            created_at=start,
            waiting_since=start,
            wait_seconds=0 if fate == "waiting" else int(wait.total_seconds()),
            answered_at=answered_at,
            ended_at=ended_at,
            src="1",
            dst="2",
        )
        if answered_at:
            self._talks(call, answered_at, ended_at)
        elif ended_at:
            self._lost(call, ended_at)

    def _lost(self, call: Connection, at: datetime) -> None:
        """Let each second caller be called back, with success each second time; others were missed."""
        self.lost += call.queue is not None
        if call.queue and self.lost % 2:
            done = {"state": "ended", "ended_at": at, "disposition": "ANSWERED" if self.lost % 4 == 1 else "BUSY"}
            times = {"created_at": at, "wait_seconds": call.pk % 100, "number": str(call.pk)}
            CallBackFactory(queue=call.queue, caller=call, **times, **done)
        else:
            MissedCallerFactory(connection=call, missed_at=at, answered_by=call if self.lost % 4 else None)

    def _talks(self, call: Connection, answered_at: datetime, ended_at: datetime | None) -> None:
        """Let one agent talk, or two after a transfer, each with a wrap-up."""
        middle = answered_at + self._length()
        talks = [(answered_at, ended_at)]
        if ended_at and middle < ended_at:
            talks = [(answered_at, middle), (middle, ended_at)]
        for agent, (since, until) in zip(self.agents, talks, strict=False):
            # An agent has one open offer at most.
            if until is None and Offer.objects.filter(agent=agent, ended_at=None).exists():
                continue
            Offer.objects.create(
                connection=call,
                agent=agent,
                queue=call.queue,
                offered_at=call.created_at,
                answered_at=since,
                ended_at=until,
                outcome="answered",
            )
            if until and self.chance.random() < 0.7:
                wrap_up = {"agent": agent, "kind": "wrap_up", "connection": call, "resumes_as": ""}
                end = until + timedelta(seconds=10)
                if not AgentState.objects.filter(agent=agent, started_at__lt=end, ended_at__gt=until).exists():
                    AgentState.objects.create(**wrap_up, started_at=until, ended_at=end)

    def attempts(self) -> None:
        for campaign in self.campaigns:
            statuses = [RecordStatusFactory(campaign=campaign, name=name) for name in ("Sold", "Refused")]
            records = [self._record(campaign) for _ in range(4)]
            for _ in range(20):
                self._attempt(campaign, self.chance.choice(records), statuses)

    def _record(self, campaign: Campaign) -> Record:
        record: Record = RecordFactory(campaign=campaign)
        over = self.chance.choice(["TO_CALL", "NO_CALL", "ABANDONED_AFTER_N_TRIES"])
        Record.objects.filter(pk=record.pk).update(system_status=over)
        return record

    def _attempt(self, campaign: Campaign, record: Record, statuses: list[Any]) -> None:
        chance, start = self.chance, self.instant() + timedelta(milliseconds=self.chance.choice([0, 1, 999]))
        outcome = chance.choice([*Attempt.Outcome.values, "answered", "answered", ""])
        answered_at = start + timedelta(seconds=5) if outcome in ("answered", "dropped", "machine", "") else None
        delay = timedelta(seconds=chance.choice([0, 1, 2, 3]), milliseconds=chance.choice([0, 1]))
        joined_at = answered_at + delay if answered_at and outcome in ("answered", "") else None
        given = {"values": {"status_id": chance.choice([status.pk for status in statuses] + [None])}}
        PastAttemptFactory(
            campaign=campaign,
            record_id=record.pk,
            dialled_at=start,
            outcome=outcome,
            answered_at=answered_at,
            joined_at=joined_at,
            ended_at=None if outcome == "" else (joined_at or start) + self._length(),
            result=given if joined_at and chance.random() < 0.8 else None,
        )

    def ticket(self) -> None:
        """All instants are whole minutes, in their order."""
        chance, queue = self.chance, self.chance.choice(self.ticket_queues)
        moments = sorted(self.instant(60) for _ in range(5))
        created_at, reopened_at, responded_at, waited_at, closed_at = moments
        is_reopened = chance.random() < 0.2
        waits = chance.choice([[], [], [waited_at], [responded_at, waited_at]])
        ticket = TicketFactory(queue=queue, created_at=created_at)
        columns = {
            "targets_began_at": reopened_at if is_reopened else None,
            "first_agent_responded_at": responded_at if chance.random() < 0.6 else None,
            "closed_at": closed_at if chance.random() < 0.5 else None,
            "updated_at": self.now,
            "waits": waits,
        }
        set_columns(ticket, columns)
        ticket.save()
        for value in chance.choice([[], [], [1, 5]]):
            RatingFactory(message__ticket=ticket, value=value, given_at=self.instant())
