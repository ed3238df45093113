"""The report in plain Python, straight from its definitions: every interval of the ledgers held against every period.

Slow, and written without a look at how the service does it: what it says is right.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from telephony.models import Agent, AgentSession, AgentState, Connection, Consultation, Offer, Talk
from tickets.models import Chat, ChatMessage, Message, Ticket

LABELS = {
    "minute": "%Y-%m-%d %H:%M",
    "hour": "%Y-%m-%d %H",
    "day": "%Y-%m-%d",
    "week": "%G-W%V",
    "month": "%Y-%m",
    "year": "%Y",
    "hour_of_day": "%H",
}
Pieces = list[tuple[datetime, datetime]]
EVER = (datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))


def periods(begin: datetime, end: datetime, aggregation: str, zone: ZoneInfo) -> dict[str, Pieces]:
    """Label -> the stretches of time that are called so, within the span."""
    found: dict[str, Pieces] = defaultdict(list)
    step = timedelta(minutes=1 if aggregation == "minute" else 60)
    piece = begin
    while piece < end:
        # In Warsaw every change of the offset is at a whole hour.
        following = min(piece + step - timedelta(seconds=piece.timestamp() % step.total_seconds()), end)
        pieces = found[piece.astimezone(zone).strftime(LABELS[aggregation])]
        if pieces and pieces[-1][1] == piece:
            pieces[-1] = (pieces[-1][0], following)
        else:
            pieces.append((piece, following))
        piece = following
    return found


def holds(instant: datetime | None, pieces: Pieces) -> bool:
    return instant is not None and any(a <= instant < b for a, b in pieces)


def seconds(start: datetime | None, end: datetime, pieces: Pieces) -> int:
    if start is None:
        return 0
    return sum(max(int((min(end, b) - max(start, a)).total_seconds()), 0) for a, b in pieces)


def touches(start: datetime | None, end: datetime, pieces: Pieces) -> bool:
    return holds(start, pieces) or seconds(start, end, pieces) > 0


def hms(total: int) -> str:
    return f"{total // 3600:02}:{total % 3600 // 60:02}:{total % 60:02}"


def mean(total: int, count: int) -> str:
    return hms(int(total / count + 0.5)) if count else "00:00:00"


@dataclass(frozen=True)
class OutboundCall:
    """An outbound call as one agent had it: when it counts for the agent, and from when to when the agent talked."""

    pk: int
    agent_id: int
    queue_id: int | None
    created_at: datetime
    answered_at: datetime | None
    ended_at: datetime | None


def outbound_calls() -> list[OutboundCall]:
    """List each talk of each transferred call; for a call without talks, the call itself, which is its agent's."""
    talks: dict[int, list[OutboundCall]] = defaultdict(list)
    for talk in Talk.objects.all():
        talks[talk.connection_id].append(
            OutboundCall(
                talk.connection_id, talk.agent_id, talk.queue_id, talk.counted_at, talk.started_at, talk.ended_at
            )
        )
    found: list[OutboundCall] = []
    for call in Connection.objects.filter(direction="OUTBOUND"):
        if call.pk in talks:
            found += talks[call.pk]
        elif call.agent_id:
            found.append(
                OutboundCall(call.pk, call.agent_id, call.queue_id, call.created_at, call.answered_at, call.ended_at)
            )
    return found


class Reference:
    """The ledgers as they are now, and reports of them."""

    def __init__(self, zone: ZoneInfo, now: datetime) -> None:
        self.zone, self.now = zone, now
        self.sessions = list(AgentSession.objects.order_by("started_at", "id"))
        self.states = list(AgentState.objects.all())
        # A phone that could not be reached did not ring, so this is no offer.
        self.offers = list(Offer.objects.filter(connection__direction="INBOUND").exclude(outcome="failed"))
        self.calls = outbound_calls()
        self.consultations = list(Consultation.objects.filter(agent__isnull=False, up_at__isnull=False))
        self.chats = list(Chat.objects.all())
        self.chat_messages = list(ChatMessage.objects.select_related("chat").filter(agent__isnull=False))
        self.tickets = list(Ticket.objects.all())
        self.replies = list(Message.objects.select_related("ticket").filter(type="REPLY", agent__isnull=False))
        instants: list[datetime] = []
        rows: list[Any] = [*self.sessions, *self.states, *self.offers, *self.calls, *self.consultations]
        rows += [*self.chats, *self.chat_messages, *self.tickets, *self.replies]
        for row in rows:
            names = ("started_at", "offered_at", "created_at", "closed_at", "up_at", "ended_at")
            instants += [at for name in names if (at := getattr(row, name, now))]
        self.near = (min(instants, default=now), max(instants, default=now))

    def consulted(self, agent: Agent, pieces: Pieces) -> tuple[int, int, bool]:
        """How many consultations of the agent began, their seconds apart from the customer, whether there is one."""
        mine = [one for one in self.consultations if one.agent_id == agent.pk]
        spans = [(one.up_at, one.joined_at or self.end(one, one.asked_at)) for one in mine]
        return (
            sum(holds(since, pieces) for since, _until in spans),
            sum(seconds(since, until, pieces) for since, until in spans),
            any(touches(since, until, pieces) for since, until in spans),
        )

    def end(self, row: Any, start: datetime) -> datetime:
        """What goes on lasts until now."""
        return row.ended_at or max(self.now, start)

    def is_about(self, pieces: Pieces) -> bool:
        """Whether anything of anybody is anywhere near: only to be quick."""
        first, last = self.near
        return pieces[0][0] <= last and pieces[-1][1] >= first

    def report(
        self,
        agents: list[Agent],
        span: tuple[datetime, datetime],
        aggregation: str,
        *,
        queues: list[int] | None = None,
        threshold: int = 0,
    ) -> list[dict[str, Any]]:
        cut = periods(*span, aggregation, self.zone)
        rows = [
            self.row(agent, label, cut[label], queues, threshold)
            for agent in sorted(agents, key=lambda agent: agent.login)
            for label in sorted(cut)
            if self.is_about(cut[label])
        ]
        return [row for row in rows if row]

    def row(
        self, agent: Agent, label: str, pieces: Pieces, queues: list[int] | None, threshold: int
    ) -> dict[str, Any] | None:
        def of_queue(queue_id: int | None) -> bool:
            return queues is None or queue_id in queues

        sessions = [
            one
            for one in self.sessions
            if one.agent_id == agent.pk and touches(one.started_at, self.end(one, one.started_at), pieces)
        ]
        states = [
            one
            for one in self.states
            if one.agent_id == agent.pk
            and one.kind in ("free", "paused", "wrap_up")
            and touches(one.started_at, self.end(one, one.started_at), pieces)
        ]
        offers = [
            one
            for one in self.offers
            if one.agent_id == agent.pk
            and of_queue(one.queue_id)
            and touches(one.offered_at, self.end(one, one.offered_at), pieces)
        ]
        calls = [
            one
            for one in self.calls
            if one.agent_id == agent.pk
            and of_queue(one.queue_id)
            and (holds(one.created_at, pieces) or seconds(one.answered_at, one.ended_at or self.now, pieces))
        ]
        chats = [
            c for c in self.chats if c.agent_id == agent.pk and of_queue(c.queue_id) and holds(c.closed_at, pieces)
        ]
        written = [
            m
            for m in self.chat_messages
            if m.agent_id == agent.pk and of_queue(m.chat.queue_id) and holds(m.created_at, pieces)
        ]
        tickets = [
            t
            for t in self.tickets
            if t.closed_by_id == agent.pk and of_queue(t.queue_id) and holds(t.closed_at, pieces)
        ]
        replies = [
            m
            for m in self.replies
            if m.agent_id == agent.pk and of_queue(m.ticket.queue_id) and holds(m.created_at, pieces)
        ]
        own = sessions or states or self.consulted(agent, pieces)[2]
        if not (own or offers or calls or chats or written or tickets or replies):
            return None

        here = [one for one in offers if holds(one.offered_at, pieces)]
        answered = sum(1 for one in here if one.answered_at)
        talk = sum(seconds(one.answered_at, self.end(one, one.offered_at), pieces) for one in offers)
        wait = sum(seconds(one.offered_at, one.answered_at or self.end(one, one.offered_at), pieces) for one in offers)
        login = sum(seconds(one.started_at, self.end(one, one.started_at), pieces) for one in sessions)
        return {
            "agent": {"login": agent.login, "name": agent.name, "surname": agent.surname},
            "period": label,
            "inbound": {
                "count": len(here),
                "answered_count": answered,
                "not_answered_count": sum(1 for one in here if one.ended_at and not one.answered_at),
                "transferred_count": sum(1 for one in here if one.transferred_at),
                "sum": hms(talk),
                "average": mean(talk, answered),
                "wait_sum": wait,
                "wait_average": mean(wait, len(here)),
                "calls_per_hour": int(answered * 360_000 / login + 0.5) / 100 if login else 0,
            },
            "chat": {"closed": len(chats), "responded": len({m.chat_id for m in written})},
            "ticket": {
                "closed": len(tickets),
                "responded": len({m.ticket_id for m in replies}),
                "total_responded": len(replies),
            },
            "outbound_above_threshold": self._calls(calls, pieces, lambda length: length > threshold),
            "outbound_below_threshold": self._calls(calls, pieces, lambda length: length <= threshold),
            "login_date": self._wall(sessions[0].started_at) if sessions else "",
            "logout_date": self._wall(sessions[-1].ended_at) if sessions else "",
            "login_sum": hms(login),
            "pauses": self._pauses(states, pieces),
        }

    def _calls(self, calls: list[OutboundCall], pieces: Pieces, is_wanted: Any) -> dict[str, Any]:
        count = total = 0
        for call in calls:
            end = call.ended_at or self.now
            length = max(int((end - call.answered_at).total_seconds()), 0) if call.answered_at else 0
            if is_wanted(length):
                count += holds(call.created_at, pieces)
                total += seconds(call.answered_at, end, pieces)
        return {"count": count, "sum": hms(total), "average": mean(total, count)}

    def _wall(self, instant: datetime | None) -> str:
        return instant.astimezone(self.zone).strftime("%Y-%m-%d %H:%M:%S") if instant else ""

    def _pauses(self, states: list[AgentState], pieces: Pieces) -> list[dict[str, Any]]:
        def entry(key: Any, some: list[AgentState]) -> dict[str, Any]:
            count = sum(1 for one in some if holds(one.started_at, pieces))
            total = sum(seconds(one.started_at, self.end(one, one.started_at), pieces) for one in some)
            return {"id": key, "count": count, "sum": hms(total), "average": mean(total, count)}

        pauses = [one for one in states if one.kind == "paused"]
        free = entry("free", [one for one in states if one.kind == "free"])
        del free["average"]
        reasons: list[int] = sorted({one.pause_id for one in pauses if one.pause_id})
        return [
            entry("all", pauses),
            free,
            *(entry(reason, [one for one in pauses if one.pause_id == reason]) for reason in reasons),
        ]


def further_of(
    reference: Reference, agent: Agent, pieces: Pieces, queues: list[int] | None, within: int
) -> dict[str, str]:
    """The measures that only exports have, from their definitions in docs/reports.md; "" for what cannot be said."""

    def of_queue(queue_id: int | None) -> bool:
        return queues is None or queue_id in queues

    def share(part: int, whole: int) -> str:
        return f"{int(part / whole * 10_000 + 0.5) / 100:.2f}" if whole else ""

    def time_in(kind: str) -> int:
        states = [one for one in reference.states if one.agent_id == agent.pk and one.kind == kind]
        return sum(seconds(one.started_at, reference.end(one, one.started_at), pieces) for one in states)

    offers = [one for one in reference.offers if one.agent_id == agent.pk and of_queue(one.queue_id)]
    calls = [one for one in reference.calls if one.agent_id == agent.pk and of_queue(one.queue_id)]
    talk = sum(seconds(one.answered_at, reference.end(one, one.offered_at), pieces) for one in offers)
    talk += sum(seconds(one.answered_at, one.ended_at or reference.now, pieces) for one in calls)
    begun = [one for one in offers if holds(one.offered_at, pieces)]
    answered = [one for one in begun if one.answered_at]
    decided = len(answered) + sum(1 for one in begun if one.ended_at and not one.answered_at)
    in_time = sum(seconds(one.offered_at, one.answered_at, [EVER]) <= within for one in answered if one.answered_at)
    talked = 0
    for call in calls:
        end = call.ended_at or reference.now
        talked += bool(holds(call.created_at, pieces) and call.answered_at and end > call.answered_at)
    handle, handled = talk + time_in("wrap_up"), len(answered) + talked
    whole = queues is None
    return {
        "talk_time": hms(talk),
        "consultations.count": str(reference.consulted(agent, pieces)[0]),
        "consultations.sum": hms(reference.consulted(agent, pieces)[1]),
        "wrap_up": hms(time_in("wrap_up")),
        "handle_time": hms(handle) if whole else "",
        "average_handle_time": mean(handle, handled) if whole and handled else "",
        "occupancy": share(handle, handle + time_in("free")) if whole else "",
        "service_level": share(in_time, decided),
    }
