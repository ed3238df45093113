"""The parameters of the report, in the API and on the page: each is read and checked; faults are told together."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.http import QueryDict
from django.utils import timezone

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.parsing import INT32, Reject, parse_id, parse_instant, parse_integer, parse_text, query_list
from reports.measures import NAMES, USUAL, columns_of
from reports.models.export import MOST_SECONDS
from reports.periods import FIRST, LAST, MOST_PERIODS, Aggregation
from reports.report import Question
from reports.tables import Table
from telephony.models import Agent, AgentGroup

SECOND = timedelta(seconds=1)
# Defaults of the page: seconds of the service level, and the period of a row, which is the month in the API.
USUAL_WITHIN = 20
USUAL_AGGREGATION = Aggregation.DAY
# A list is sent as JSON, which is written faster than an array: there may be hundreds of logins.
_AGENTS = """
SELECT id, login, name, surname FROM telephony_agent
WHERE login IN (SELECT jsonb_array_elements_text(%s::jsonb)) OR group_id IN (SELECT unnest(%s::bigint[])) ORDER BY login
"""


def read(params: QueryDict, faults: list[Fault], within: int | None = None) -> Question:
    """Read the API's parameters.

    Raises Invalid with these faults and its own.
    """
    logins, groups = _agents(params, faults)
    agents = _find(logins, groups, faults)
    begin, end = _instant(params, "date_from", faults), _instant(params, "date_to", faults, is_upper_bound=True)
    aggregation = _aggregation(params, faults)
    if begin and end and begin >= end:
        faults.append(Fault(ErrorCode.REPORT_ENDS_BEFORE_START, "date_to"))
    elif begin and end and aggregation and aggregation.periods_in(begin, end) > MOST_PERIODS:
        faults.append(Fault(ErrorCode.TOO_MANY_PERIODS, "aggregate_by", {"limit": MOST_PERIODS}))
    # No queue has the id 0, which means all calls in the rollups.
    queues = [queue or -1 for queue in _ids(params, "queues_ids", faults, parse_id)]
    threshold = _integer(params, "outbound_threshold", INT32, 0, faults)
    if faults or begin is None or end is None or aggregation is None:
        raise Invalid(faults)
    return Question(
        agents=agents,
        begin=min(max(begin, FIRST), LAST),
        end=max(min(end, LAST), FIRST),
        aggregation=aggregation,
        now=timezone.now().replace(microsecond=0),
        threshold=threshold,
        queues=tuple(queues) or None,
        within=within,
    )


def read_table(params: QueryDict) -> tuple[Table, dict[str, Any]]:
    """Read the table that a page shows, and the terms under which an export has it as a file.

    Parameters are the API's, and `answered_within` and `columns[]` besides; all agents where none are named. Raises
    Invalid.
    """
    faults: list[Fault] = []
    within = _integer(params, "answered_within", MOST_SECONDS, USUAL_WITHIN, faults)
    names = query_list(params, "columns") or USUAL
    if any(name not in NAMES for name in names):
        faults.append(Fault(ErrorCode.NOT_CHOICE, "columns", {"choices": ", ".join(NAMES)}))
    logins, groups = query_list(params, "agent_logins"), query_list(params, "agent_group_ids")
    asked = params.copy()
    if not asked.get("aggregate_by", "").strip():
        asked["aggregate_by"] = USUAL_AGGREGATION.value
    if not logins and not groups:
        asked.setlist("agent_logins", Agent.objects.order_by("login").values_list("login", flat=True))
    question = read(asked, faults, within)
    named = {login.strip() for login in logins}
    terms = {
        "agent_ids": [pk for pk, agent in question.agents.items() if agent["login"] in named],
        "agent_group_ids": list(dict.fromkeys(map(int, groups))),
        "aggregation": question.aggregation.value,
        "threshold": question.threshold,
        "answered_within": within,
        "queue_ids": list(question.queues or ()),
        "columns": [name for name in NAMES if name in names],
    }
    return Table(question, columns_of(names)), terms


def _agents(params: QueryDict, faults: list[Fault]) -> tuple[list[str], list[int]]:
    """Return the logins that are named, and the groups."""
    groups = _ids(params, "agent_group_ids", faults)
    texts = [text for text in query_list(params, "agent_logins") if text.strip()]
    try:
        # All together: there may be hundreds.
        parse_text("".join(texts))
    except Reject as reject:
        faults.append(Fault(reject.fault.code, "agent_logins"))
        return [], groups
    if not texts and not query_list(params, "agent_group_ids"):
        faults.append(Fault(ErrorCode.AGENTS_REQUIRED, "agent_logins"))
    return list(dict.fromkeys(text.strip() for text in texts)), groups


def _find(logins: Sequence[str], groups: Sequence[int], faults: list[Fault]) -> dict[int, dict[str, str]]:
    """Return the agents of these logins and groups, by login; an unknown login or group is a fault."""
    with connection.cursor() as cursor:
        cursor.execute(_AGENTS, [json.dumps(logins), [*groups]])
        found = {
            pk: {"login": login, "name": name, "surname": surname} for pk, login, name, surname in cursor.fetchall()
        }
    known = {agent["login"] for agent in found.values()}
    if unknown := [login for login in logins if login not in known]:
        faults.append(Fault(ErrorCode.AGENTS_NOT_FOUND, "agent_logins", {"logins": ", ".join(unknown)}))
    if groups:
        there = set(AgentGroup.objects.filter(pk__in=groups).values_list("pk", flat=True))
        if missing := [group for group in groups if group not in there]:
            ids = ", ".join(map(str, missing))
            faults.append(Fault(ErrorCode.AGENT_GROUPS_NOT_FOUND, "agent_group_ids", {"ids": ids}))
    return found


def _instant(params: QueryDict, name: str, faults: list[Fault], *, is_upper_bound: bool = False) -> datetime | None:
    """Read a bound of the span. The day, minute or second that the upper bound names is in the span."""
    if not (text := params.get(name, "").strip()):
        faults.append(Fault(ErrorCode.EMPTY, name))
        return None
    try:
        instant = parse_instant(text, is_upper_bound=is_upper_bound)
        return instant.replace(microsecond=0) + SECOND if is_upper_bound else instant
    except (Reject, OverflowError):
        faults.append(Fault(ErrorCode.NOT_INSTANT, name))
        return None


def _aggregation(params: QueryDict, faults: list[Fault]) -> Aggregation | None:
    text = params.get("aggregate_by", "").strip() or Aggregation.MONTH
    try:
        return Aggregation(text)
    except ValueError:
        faults.append(Fault(ErrorCode.NOT_CHOICE, "aggregate_by", {"choices": ", ".join(Aggregation)}))
        return None


def _integer(params: QueryDict, name: str, most: int, usual: int, faults: list[Fault]) -> int:
    try:
        return parse_integer(text, 0, most) if (text := params.get(name, "").strip()) else usual
    except Reject as reject:
        faults.append(Fault(reject.fault.code, name, reject.fault.params))
        return usual


def _ids(params: QueryDict, name: str, faults: list[Fault], parse: Callable[[str], int] = parse_integer) -> list[int]:
    found = []
    for text in query_list(params, name):
        try:
            found.append(parse(text))
        except Reject as reject:
            faults.append(Fault(reject.fault.code, name, reject.fault.params))
    return list(dict.fromkeys(found))
