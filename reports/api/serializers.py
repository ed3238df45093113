from typing import Any

from callcentre.api.fields import second
from reports.figures import clock, mean, per_hour
from reports.measures import Measures


def average(seconds: int, count: int) -> str:
    """To the whole second, halves up; of none 00:00:00."""
    return clock(mean(seconds, count))


def row_data(agent: dict[str, str], period: str, row: Measures, threshold: int) -> dict[str, Any]:
    above_count, above_seconds, below_count, below_seconds = row.calls_by(threshold)
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
            "calls_per_hour": per_hour(row.answered, row.login_seconds),
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
    count = seconds = 0
    reasons = []
    for pause_id, (begun, lasted) in sorted(row.pauses.items()):
        count += begun
        seconds += lasted
        reasons.append({"id": pause_id, "count": begun, "sum": clock(lasted), "average": average(lasted, begun)})
    return [
        {"id": "all", "count": count, "sum": clock(seconds), "average": average(seconds, count)},
        {"id": "free", "count": row.free_count, "sum": clock(row.free_seconds)},
        *reasons,
    ]
