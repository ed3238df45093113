"""The figures that SQL sums: one definition each, of the grains of the ledgers, and the column of the rollups.

A grain (reports.ledgers) says of one kind of thing how many began in a period, and how many seconds of it lie there.
"""

from dataclasses import Field, dataclass, field, fields
from typing import Any, NamedTuple

# Kinds of grains that are the agent's own time: they belong to no queue.
OWN = ("session", "free", "paused", "wrap_up")
# Kinds of which a period has no sum of its parts: a chat in two hours of a day is one chat of the day.
DISTINCT = ("chat_answered", "ticket_answered", "in_time")


class Source(NamedTuple):
    """SQL of one figure: of a group of grains, and of a row `r` of the rollups."""

    kind: str
    grains: str
    rollup: str
    # The aggregate that puts parts of a period together.
    together: str = "sum"


def _figure(kind: str, what: str, where: str = "", rollup: str = "") -> Any:
    condition = f"kind = '{kind}'" + (f" AND {where}" if where else "")
    grains = f"COALESCE(sum({what}) FILTER (WHERE {condition}), 0)::bigint"
    return field(default=0, metadata={"source": (kind, grains, rollup)})


def _count(kind: str, where: str = "", rollup: str = "") -> Any:
    return _figure(kind, "begun", where, rollup)


def _seconds(kind: str, where: str = "", rollup: str = "") -> Any:
    return _figure(kind, "seconds", where, rollup)


def _instant(aggregate: str, what: str) -> Any:
    grains = f"{aggregate}({what}) FILTER (WHERE kind = 'session')"
    return field(default=None, metadata={"source": ("session", grains, "", aggregate)})


def _up_to_threshold(column: str) -> str:
    """Return the SQL of a running count of calls, up to the threshold in their ascending lengths."""
    return f"COALESCE(r.{column}[width_bucket(%(threshold)s::int, r.call_lengths)], 0)"


@dataclass(slots=True)
class Sums:
    """The sums of an agent's period. A field without an expression of its own is the column of the rollups."""

    offered: int = _count("offer")
    answered: int = _count("offer", "detail & 1 > 0")
    not_answered: int = _count("offer", "detail & 4 > 0", rollup="r.offered - r.answered")
    transferred: int = _count("offer", "detail & 2 > 0")
    talk_seconds: int = _seconds("talk")
    wait_seconds: int = _seconds("offer")
    # Outbound calls: their detail is the length of their talk.
    calls: int = _count("call", rollup="r.talked_count + r.silent_count")
    calls_seconds: int = _seconds("call", rollup="r.talked_seconds")
    calls_below: int = _count("call", "detail <= %(threshold)s", rollup=_up_to_threshold("call_counts"))
    calls_below_seconds: int = _seconds("call", "detail <= %(threshold)s", rollup=_up_to_threshold("call_seconds"))
    calls_talked: int = _count("call", "detail > 0", rollup="r.talked_count")
    chats_closed: int = _count("chat_closed")
    chats_answered: int = _count("chat_answered")
    tickets_closed: int = _count("ticket_closed")
    tickets_answered: int = _count("ticket_answered")
    replies: int = _count("reply")
    # Offers answered within some seconds: only if the question names them. No rollup has them.
    in_time: int = _count("in_time", rollup="0")
    login_seconds: int = _seconds("session")
    free_count: int = _count("free")
    free_seconds: int = _seconds("free")
    wrap_up_seconds: int = _seconds("wrap_up")
    # Seconds of the epoch, which are read faster than instants. The last logout is infinite during a session.
    first_login_at: float | None = _instant("min", "first")
    last_logout_at: float | None = _instant("max", "last")
    # Reason -> how many pauses began, seconds.
    pauses: dict[int, tuple[int, int]] = field(default_factory=dict)


def _source(one: Field[Any]) -> Source:
    kind, grains, rollup, *together = one.metadata["source"]
    return Source(kind, grains, rollup or f"r.{one.name}", *together)


SOURCES = {one.name: _source(one) for one in fields(Sums) if one.metadata}
