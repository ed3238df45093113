"""The operation of the API that belongs to reports; its world is what the agents of telephony have done."""

from campaigns.models import Attempt, RecordStatus
from tests.contract import NUMBER, Operation

CALLS = {"count": int, "sum": str, "average": str}
REPORT_ROW = {
    "agent": {"login": str, "name": str, "surname": str},
    "period": str,
    "inbound": {
        "count": int,
        "answered_count": int,
        "not_answered_count": int,
        "transferred_count": int,
        "sum": str,
        "average": str,
        "wait_sum": int,
        "wait_average": str,
        "calls_per_hour": NUMBER,
    },
    "chat": {"closed": int, "responded": int},
    "ticket": {"closed": int, "responded": int, "total_responded": int},
    "outbound_above_threshold": CALLS,
    "outbound_below_threshold": CALLS,
    "login_date": str,
    "logout_date": str,
    "login_sum": str,
    "pauses": [({"id": frozenset({str, int}), **CALLS}, {"id": str, "count": int, "sum": str})],
}

QUEUE_ROW = {
    "queue_id": int,
    "queue_name": str,
    "period": str,
    **dict.fromkeys(("offered", "answered", "abandoned", "answered_in_threshold"), int),
    "service_level": frozenset({float, int, type(None)}),
    **dict.fromkeys(("wait_average", "wait_max", "talk_average", "handle_average"), int),
    **dict.fromkeys(("callbacks", "callbacks_answered", "callback_wait_average", "missed", "missed_unanswered"), int),
}
OUTBOUND_ROW = {
    "outbound_id": str,
    "name": str,
    "period": str,
    **dict.fromkeys(("attempts", "live_answers", "drops", "talk_sum", "records_done"), int),
    "drop_rate": NUMBER,
    "by_status": [{"status_id": int, "name": str, "count": int}],
}
TICKET_ROW = {
    "ticket_queue_id": int,
    "name": str,
    "period": str,
    **dict.fromkeys(("opened", "closed", "reopened", "backlog", "ratings"), int),
    **dict.fromkeys(("first_response_average", "resolution_average"), frozenset({int, type(None)})),
    **dict.fromkeys(("first_response_met", "resolution_met", "rating_average"), frozenset({float, int, type(None)})),
}
SPAN = "date_from=2026-01-01&date_to=2099-12-31&aggregate_by=year"

OPERATIONS = [
    # INTERFACE 4.7
    Operation(
        "GET",
        "/agents_work_report?agent_logins[]=working&date_from=2026-01-01&date_to=2099-12-31&aggregate_by=year",
        "reports:read",
        200,
        [REPORT_ROW],
        4,
    ),
    # Extensions
    Operation("GET", f"/queues_report?{SPAN}", "reports:read", 200, [QUEUE_ROW], 4),
    Operation("GET", f"/outbounds_report?{SPAN}", "reports:read", 200, [OUTBOUND_ROW], 4),
    Operation("GET", f"/tickets_report?{SPAN}", "reports:read", 200, [TICKET_ROW], 4),
]


def fill(size: int) -> None:
    """Give the attempts of the campaigns results; the agent `working` is telephony's."""
    given = {"values": {"status_id": RecordStatus.objects.order_by("id").values_list("pk", flat=True)[0]}}
    Attempt.objects.filter(outcome="no_answer").update(result=given)
