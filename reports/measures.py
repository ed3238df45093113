"""What a row of the report counts, and how rows are added: of the ledgers' grains, and of one another."""

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import NamedTuple


class Grain(NamedTuple):
    """What the ledgers say of an agent, a period and a queue: of one kind of thing, how many began and for how long.

    `detail`: of an offer 1 if it was answered and 2 more if it was handed on; of a pause its reason; of an outbound
    call the length of its talk. `first`, `last`: of sessions, when the first began and the last ended.
    """

    agent_id: int
    period: int
    queue_id: int | None
    kind: str
    detail: int
    begun: int
    seconds: int
    first: datetime | None
    last: datetime | None


@dataclass(slots=True)
class Measures:
    """The sums of a row. Columns of the rollups have these names, in this order."""

    offered: int = 0
    answered: int = 0
    not_answered: int = 0
    transferred: int = 0
    talk_seconds: int = 0
    wait_seconds: int = 0
    chats_closed: int = 0
    chats_answered: int = 0
    tickets_closed: int = 0
    tickets_answered: int = 0
    replies: int = 0
    login_seconds: int = 0
    free_count: int = 0
    free_seconds: int = 0
    wrap_up_seconds: int = 0
    first_login_at: datetime | None = None
    # None too while he is logged in.
    last_logout_at: datetime | None = None
    is_logged_in: bool = False
    # Reason -> how many began, seconds.
    pauses: dict[int, tuple[int, int]] = field(default_factory=dict)
    # Outbound calls: length of the talk in seconds -> how many began, how long they were talked here.
    calls: dict[int, tuple[int, int]] = field(default_factory=dict)
    # Something of the agent's own time, which belongs to no queue, is in it.
    has_time: bool = False

    def add_call(self, length: int, count: int, seconds: int) -> None:
        had = self.calls.get(length, (0, 0))
        self.calls[length] = (had[0] + count, had[1] + seconds)

    def add_pause(self, pause_id: int, count: int, seconds: int) -> None:
        had = self.pauses.get(pause_id, (0, 0))
        self.pauses[pause_id] = (had[0] + count, had[1] + seconds)
        self.has_time = True

    def add_session(self, first: datetime, last: datetime | None, seconds: int) -> None:
        """Sessions, from the start of the first to the end of the last."""
        self.login_seconds += seconds
        self.first_login_at = min(self.first_login_at or first, first)
        if last is None:
            self.is_logged_in = True
        else:
            self.last_logout_at = max(self.last_logout_at or last, last)
        self.has_time = True

    def add(self, grain: Grain) -> None:
        match grain.kind:
            case "offer":
                self.offered += grain.begun
                self.wait_seconds += grain.seconds
                if grain.detail & 1:
                    self.answered += grain.begun
                else:
                    self.not_answered += grain.begun
                if grain.detail & 2:
                    self.transferred += grain.begun
            case "talk":
                self.talk_seconds += grain.seconds
            case "call":
                self.add_call(grain.detail, grain.begun, grain.seconds)
            case "session":
                assert grain.first is not None
                self.add_session(grain.first, grain.last, grain.seconds)
            case "paused":
                self.add_pause(grain.detail, grain.begun, grain.seconds)
            case "free":
                self.free_count += grain.begun
                self.free_seconds += grain.seconds
                self.has_time = True
            case "wrap_up":
                self.wrap_up_seconds += grain.seconds
                self.has_time = True
            case other:
                setattr(self, other, getattr(self, other) + grain.begun)

    def merge(self, other: "Measures", *, with_writing: bool = False) -> None:
        """Add what another part of the period has. Those written to are no sum, unless the parts are queues."""
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if with_writing:
            self.chats_answered += other.chats_answered
            self.tickets_answered += other.tickets_answered
        if other.first_login_at:
            self.add_session(other.first_login_at, other.last_logout_at or other.first_login_at, 0)
        for pause_id, (count, seconds) in other.pauses.items():
            self.add_pause(pause_id, count, seconds)
        for length, (count, seconds) in other.calls.items():
            self.add_call(length, count, seconds)
        self.has_time |= other.has_time

    def own_time(self) -> "Measures":
        """What of it no queue has a part in."""
        return Measures(**{name: getattr(self, name) for name in _OWN})

    def calls_by(self, threshold: int) -> tuple[int, int, int, int]:
        """How many outbound calls were talked for longer than this, and for how long; the others, and for how long."""
        above = above_seconds = below = below_seconds = 0
        for length, (count, seconds) in self.calls.items():
            if length > threshold:
                above += count
                above_seconds += seconds
            else:
                below += count
                below_seconds += seconds
        return above, above_seconds, below, below_seconds


# In the order of the fields. Those written to are no sums: a chat may be in two parts of a period.
COUNTS = tuple(one.name for one in fields(Measures) if one.type is int)
WRITTEN = ("chats_answered", "tickets_answered")
SUMS = tuple(name for name in COUNTS if name not in WRITTEN)
_OWN = (
    *("login_seconds", "free_count", "free_seconds", "wrap_up_seconds"),
    *("first_login_at", "last_logout_at", "pauses", "has_time"),
)
