from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from callcentre.core.times import second, zone
from reports.figures import clock, mean, per_hour
from reports.measures import COUNTS, Measures

_counts: Callable[[Measures], tuple[int, ...]] = attrgetter(*COUNTS)


def row_data(agent: dict[str, str], period: str, row: Measures, threshold: int) -> dict[str, Any]:
    above, above_seconds, below, below_seconds = row.calls_by(threshold)
    pauses = sorted(row.pauses.items())
    return ready_data(
        period,
        (
            *(agent["login"], agent["name"], agent["surname"]),
            *_counts(row),
            *(below, below_seconds, above + below, above_seconds + below_seconds),
            _epoch(row.first_login_at),
            None if row.is_logged_in else _epoch(row.last_logout_at),
            row.has_time,
            [pause_id for pause_id, _ in pauses],
            [count for _, (count, _) in pauses],
            [seconds for _, (_, seconds) in pauses],
        ),
    )


def _epoch(instant: datetime | None) -> float | None:
    return instant.timestamp() if instant else None


def ready_data(period: str, row: Sequence[Any]) -> dict[str, Any]:
    """Of what `stored.ready_by_name` has after the start of a row; nothing is put between, for a page has a hundred."""
    # fmt: off
    (
        login, name, surname,
        offered, answered, not_answered, transferred, talk_seconds, wait_seconds,
        chats_closed, chats_answered, tickets_closed, tickets_answered, replies,
        login_seconds, free_count, free_seconds, _,
        below, below_seconds, calls, calls_seconds,
        first_login, last_logout, _,
        pause_ids, pause_counts, pause_seconds,
    ) = row
    # fmt: on
    return {
        "agent": {"login": login, "name": name, "surname": surname},
        "period": period,
        "inbound": {
            "count": offered,
            "answered_count": answered,
            "not_answered_count": not_answered,
            "transferred_count": transferred,
            "sum": clock(talk_seconds),
            "average": clock(mean(talk_seconds, answered)),
            "wait_sum": wait_seconds,
            "wait_average": clock(mean(wait_seconds, offered)),
            "calls_per_hour": per_hour(answered, login_seconds),
        },
        "chat": {"closed": chats_closed, "responded": chats_answered},
        "ticket": {"closed": tickets_closed, "responded": tickets_answered, "total_responded": replies},
        "outbound_above_threshold": _sums(calls - below, calls_seconds - below_seconds),
        "outbound_below_threshold": _sums(below, below_seconds),
        "login_date": _second(first_login),
        "logout_date": _second(last_logout),
        "login_sum": clock(login_seconds),
        "pauses": [
            {"id": "all", **_sums(sum(pause_counts), sum(pause_seconds))},
            {"id": "free", "count": free_count, "sum": clock(free_seconds)},
            *[
                {"id": pause_id, "count": count, "sum": clock(seconds), "average": clock(mean(seconds, count))}
                for pause_id, count, seconds in zip(pause_ids, pause_counts, pause_seconds, strict=True)
            ],
        ],
    }


def _sums(count: int, seconds: int) -> dict[str, Any]:
    return {"count": count, "sum": clock(seconds), "average": clock(mean(seconds, count))}


def _second(epoch: float | None) -> str:
    return "" if epoch is None else second(datetime.fromtimestamp(epoch, zone()))
