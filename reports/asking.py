"""The table that a page shows: the API's question, and which columns; each parameter checked, all faults at once."""

from typing import Any

from django.http import QueryDict

from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.parsing import Reject, parse_integer, query_list
from reports.columns import NAMES, USUAL, columns_of
from reports.limits import MOST_SECONDS
from reports.lines import Table
from reports.periods import Aggregation
from reports.reading import read
from telephony.models import Agent

# Where nothing else is said: seconds of the service level, and the period of a row. The API's is the month.
USUAL_WITHIN = 20
USUAL_AGGREGATION = Aggregation.DAY


def read_table(params: QueryDict) -> tuple[Table, dict[str, Any]]:
    """What a page shows, and the terms under which an export has it as a file: of all agents where none are named.

    Parameters are the API's, and `answered_within` and `columns[]` besides. Raises Invalid.
    """
    faults: list[Fault] = []
    within = _within(params, faults)
    names = query_list(params, "columns") or USUAL
    if any(name not in NAMES for name in names):
        faults.append(Fault(ErrorCode.NOT_CHOICE, "columns", {"choices": ", ".join(NAMES)}))
    logins, groups = query_list(params, "agent_logins"), query_list(params, "agent_group_ids")
    asked = params.copy()
    if not asked.get("aggregate_by", "").strip():
        asked["aggregate_by"] = USUAL_AGGREGATION.value
    if not logins and not groups:
        asked.setlist("agent_logins", Agent.objects.order_by("login").values_list("login", flat=True))
    question, agents = read(asked, faults).question()
    named = {login.strip() for login in logins}
    terms = {
        "agent_ids": [pk for pk, agent in agents.items() if agent["login"] in named],
        "agent_group_ids": list(dict.fromkeys(map(int, groups))),
        "aggregation": question.aggregation.value,
        "threshold": question.threshold,
        "answered_within": within,
        "queue_ids": list(question.queues or ()),
        "columns": [name for name in NAMES if name in names],
    }
    return Table(question, agents, columns_of(names), within), terms


def _within(params: QueryDict, faults: list[Fault]) -> int:
    try:
        text = params.get("answered_within", "").strip()
        return parse_integer(text, 0, MOST_SECONDS) if text else USUAL_WITHIN
    except Reject as reject:
        faults.append(Fault(reject.fault.code, "answered_within", reject.fault.params))
        return USUAL_WITHIN
