from functools import lru_cache
from typing import Any

from callcentre.api.fields import second
from reports.measures import Measures


@lru_cache(maxsize=20_000)
def clock(seconds: int) -> str:
    """`hh:mm:ss`; hours grow past 99."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def average(seconds: int, count: int) -> str:
    """To the whole second, halves up; of none 00:00:00."""
    return clock((2 * seconds + count) // (2 * count) if count else 0)


def _per_hour(count: int, seconds: int) -> float:
    """To two decimals, halves up; 0 in no time."""
    return (2 * count * 360_000 + seconds) // (2 * seconds) / 100 if seconds else 0


def row_data(agent: dict[str, str], period: str, row: Measures, threshold: int) -> dict[str, Any]:
    above_count, above_seconds = row.calls_above(threshold)
    below_count, below_seconds = row.calls_below(threshold)
    return {
        "agent": agent,
        "period": period,
        "inbound": {
            "count": row.offered,
            "answered_count": row.answered,
            "not_answered_count": row.not_answered,
            "transferred_count": row.transferred,
            "sum": clock(row.talk_seconds),
            "average": average(row.talk_seconds, row.answered),
            "wait_sum": row.wait_seconds,
            "wait_average": average(row.wait_seconds, row.offered),
            "calls_per_hour": _per_hour(row.answered, row.login_seconds),
        },
        "chat": {"closed": row.chats_closed, "responded": row.chats_answered},
        "ticket": {
            "closed": row.tickets_closed,
            "responded": row.tickets_answered,
            "total_responded": row.replies,
        },
        "outbound_above_threshold": {
            "count": above_count,
            "sum": clock(above_seconds),
            "average": average(above_seconds, above_count),
        },
        "outbound_below_threshold": {
            "count": below_count,
            "sum": clock(below_seconds),
            "average": average(below_seconds, below_count),
        },
        "login_date": second(row.first_login_at),
        "logout_date": "" if row.is_logged_in else second(row.last_logout_at),
        "login_sum": clock(row.login_seconds),
        "pauses": _pauses(row),
    }


def _pauses(row: Measures) -> list[dict[str, Any]]:
    count = sum(count for count, _ in row.pauses.values())
    seconds = sum(seconds for _, seconds in row.pauses.values())
    return [
        {"id": "all", "count": count, "sum": clock(seconds), "average": average(seconds, count)},
        {"id": "free", "count": row.free_count, "sum": clock(row.free_seconds)},
        *(
            {"id": pause_id, "count": count, "sum": clock(seconds), "average": average(seconds, count)}
            for pause_id, (count, seconds) in sorted(row.pauses.items())
        ),
    ]
