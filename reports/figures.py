# ruff: noqa: RUF009
"""The figures that SQL sums, one definition each: a column of the rollups, and how rows of a period are added up.

A column is counted from the grains of the ledgers (reports.ledgers). Other measures are computed from these figures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any


def mean(seconds: int, count: int) -> int:
    """Divide, rounded to the whole second, halves up; 0 where there is nothing to divide by."""
    return (2 * seconds + count) // (2 * count) if count else 0


def percent(part: int, whole: int) -> float | None:
    """Return a share, rounded to two decimals, halves up; None of nothing."""
    return (2 * part * 10_000 + whole) // (2 * whole) / 100 if whole else None


def _count(kind: str, where: str = "true") -> str:
    return f"(sum(begun) FILTER (WHERE kind = '{kind}' AND {where}))::int"


def _seconds(kind: str) -> str:
    return f"(sum(seconds) FILTER (WHERE kind = '{kind}'))::int"


def _list(kind: str, what: str, where: str = "true") -> str:
    return f"array_agg({what} ORDER BY detail) FILTER (WHERE kind = '{kind}' AND {where})"


def _figure(column: str, together: str = "COALESCE(sum({r}), 0)", among: Callable[[list[Any]], Any] = sum) -> Any:
    """Define a figure: how it is counted, and how rows are put together, in SQL and among rows that were read."""
    return field(default=0, metadata={"column": column, "together": together, "among": among})


def _of_queue(column: str) -> Any:
    """Define a figure of calls, chats or tickets, of which a question may want those of some queues only."""
    return _figure(column, "COALESCE(sum({r}) FILTER (WHERE r.is_wanted), 0)")


def _up_to(limit: str, values: str, running: str) -> Any:
    """Define a figure by the running sums of a row, up to a limit in the ascending values of its calls."""
    found = f"r.{running}[width_bucket(%({limit})s::int, r.{values})]"
    return _figure("", f"COALESCE(sum({found}) FILTER (WHERE r.is_wanted), 0)")


# The rest of a rollup's columns. NULL stands for an empty list, as for the sum of nothing.
_LISTS = {
    # The lengths of outbound talks, ascending; how many calls and seconds there are up to each length.
    "call_lengths": _list("call", "detail"),
    "call_counts": _list("call", "begun_until"),
    "call_seconds": _list("call", "seconds_until"),
    # Seconds until an offer was answered, ascending; how many offers there are up to each of them.
    "answer_delays": _list("offer", "detail", "detail >= 0"),
    "answer_counts": _list("offer", "begun_until", "detail >= 0"),
    # The chats and tickets in which the agent wrote: one of two hours counts once in their day.
    "chat_ids": _list("chat_answered", "chat_id"),
    "ticket_ids": _list("ticket_answered", "detail"),
}


@dataclass(slots=True)
class Row:
    """An agent's period in the report."""

    agent_id: int
    agent: Mapping[str, str]
    period: str
    # Calls, chats and tickets are of some queues only; the agent's own time is not.
    is_narrowed: bool
    # By reason, how many pauses began, and how many seconds there are of them.
    pauses: dict[int, tuple[int, int]] = _figure(
        "jsonb_object_agg(detail, jsonb_build_array(begun, seconds)) FILTER (WHERE kind = 'paused')",
        "(jsonb_agg({r}) FILTER (WHERE {r} IS NOT NULL))::text",
    )

    offered: int = _of_queue(_count("offer"))
    answered: int = _of_queue(_count("offer", "detail >= 0"))
    not_answered: int = _of_queue(_count("offer", "detail = -1"))
    transferred: int = _of_queue(_count("transfer"))
    in_time: int = _up_to("within", "answer_delays", "answer_counts")
    talk_seconds: int = _of_queue(_seconds("talk"))
    wait_seconds: int = _of_queue(_seconds("offer"))
    calls: int = _of_queue(_count("call"))
    calls_seconds: int = _of_queue(_seconds("call"))
    calls_below: int = _up_to("threshold", "call_lengths", "call_counts")
    calls_below_seconds: int = _up_to("threshold", "call_lengths", "call_seconds")
    calls_talked: int = _of_queue(_count("call", "detail > 0"))
    chats_closed: int = _of_queue(_count("chat_closed"))
    tickets_closed: int = _of_queue(_count("ticket_closed"))
    replies: int = _of_queue(_count("reply"))
    login_seconds: int = _figure(_seconds("session"))
    free_count: int = _figure(_count("free"))
    free_seconds: int = _figure(_seconds("free"))
    pause_count: int = _figure(_count("paused"))
    pause_seconds: int = _figure(_seconds("paused"))
    wrap_up_seconds: int = _figure(_seconds("wrap_up"))
    consultations: int = _figure(_count("consultation"))
    consulting_seconds: int = _figure(_seconds("consultation"))
    # Seconds of the epoch, which are read faster than instants. The last logout is infinite during a session.
    first_login_at: float | None = _figure(
        "min(first) FILTER (WHERE kind = 'session')", "date_part('epoch', min({r}))", min
    )
    last_logout_at: float | None = _figure(
        "max(last) FILTER (WHERE kind = 'session')", "date_part('epoch', max({r}))", max
    )
    # Where several rows of a period have lists, a chat or ticket may be counted twice (reports.report).
    chats_answered: int = _figure("", "COALESCE(sum(cardinality(r.chats)), 0)")
    tickets_answered: int = _figure("", "COALESCE(sum(cardinality(r.tickets)), 0)")

    @property
    def subject_id(self) -> int:
        return self.agent_id

    @property
    def heading(self) -> tuple[str, str]:
        return self.agent["login"], f"{self.agent['name']} {self.agent['surname']}".strip()

    @property
    def talk_in_and_out(self) -> int:
        return self.talk_seconds + self.calls_seconds

    @property
    def handle_seconds(self) -> int | None:
        """Handle time; None where calls are of some queues only, because a wrap-up belongs to no queue."""
        return None if self.is_narrowed else self.talk_in_and_out + self.wrap_up_seconds

    @property
    def handle_average(self) -> int | None:
        seconds, count = self.handle_seconds, self.answered + self.calls_talked
        return None if seconds is None or not count else mean(seconds, count)

    @property
    def occupancy(self) -> float | None:
        """The share of handling in the time of handling calls and being ready for them, in per cent."""
        seconds = self.handle_seconds
        return None if seconds is None else percent(seconds, seconds + self.free_seconds)


_SUMMED = {one.name: one.metadata for one in fields(Row) if one.metadata}
# The columns of a rollup, by the SQL that counts them from grains.
COLUMNS = {name: figure["column"] for name, figure in _SUMMED.items() if figure["column"]} | _LISTS
# The figures that are summed over rows `r` of rollups.
FIGURES = {name: figure["together"].format(r=f"r.{name}") for name, figure in _SUMMED.items()}


def total_of(rows: Sequence[Row]) -> Row:
    """Return the sum of these rows, at least one, as a row of no agent and no period."""
    pauses: dict[int, tuple[int, int]] = {}
    for row in rows:
        for reason, (count, seconds) in row.pauses.items():
            before = pauses.get(reason, (0, 0))
            pauses[reason] = (before[0] + count, before[1] + seconds)
    total = Row(0, {}, "", rows[0].is_narrowed, pauses)
    for name in _SUMMED.keys() - {"pauses"}:
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        setattr(total, name, _SUMMED[name]["among"](values) if values else None)
    return total
