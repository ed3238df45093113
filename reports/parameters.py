"""The parameters of the report, in the API and on the page: each is read and checked; faults are told together."""

import json
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import connection
from django.http import QueryDict
from django.utils import timezone

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.parsing import INT32, Reject, parse_id, parse_instant, parse_integer, parse_text, query_list
from callcentre.core.scope import ALL, Scope
from reports.measures import NAMES, USUAL, Measure, columns_of
from reports.models.export import MOST_SECONDS
from reports.periods import FIRST, LAST, MOST_PERIODS, Aggregation
from reports.report import Question
from telephony.models import Agent, AgentGroup, Queue
from tickets.models import TicketQueue

T = TypeVar("T")

# Defaults of the page: seconds of the service level, and the period of a row, which is the month in the API.
USUAL_WITHIN = 20
USUAL_AGGREGATION = Aggregation.DAY
# A list is sent as JSON, which is written faster than an array: there may be hundreds of logins.
_AGENTS = """
SELECT id, login, name, surname FROM telephony_agent a
WHERE (login IN (SELECT jsonb_array_elements_text(%(logins)s::jsonb))
  OR group_id IN (SELECT unnest(%(groups)s::bigint[]))){inside} ORDER BY login
"""


def read(params: QueryDict, faults: list[Fault], within: int | None = None, scope: Scope = ALL) -> Question:
    """Read the API's parameters. Agents, groups and queues outside the scope are unknown. Raises Invalid with these
    faults and its own.
    """
    agents = _agents(params, faults, scope)
    begin, end = (_instant(params, name, faults) for name in ("date_from", "date_to"))
    aggregation = _one(params, "aggregate_by", faults, _aggregation, Aggregation.MONTH)
    if begin and end and begin >= end:
        faults.append(Fault(ErrorCode.REPORT_ENDS_BEFORE_START, "date_to"))
    elif begin and end and aggregation.periods_in(begin, end) > MOST_PERIODS:
        faults.append(Fault(ErrorCode.TOO_MANY_PERIODS, "aggregate_by", {"limit": MOST_PERIODS}))
    # No queue has the id 0, which means all calls in the rollups.
    queues = tuple(queue or -1 for queue in _read(query_list(params, "queues_ids"), "queues_ids", faults, parse_id))
    if _outside(queues, scope):
        faults.append(Fault(ErrorCode.QUEUE_UNKNOWN, "queues_ids"))
    threshold = _one(params, "outbound_threshold", faults, lambda text: parse_integer(text, 0, INT32), 0)
    if faults or begin is None or end is None:
        raise Invalid(faults)
    return Question(
        agents=agents,
        begin=min(max(begin, FIRST), LAST),
        end=max(min(end, LAST), FIRST),
        aggregation=aggregation,
        now=timezone.now().replace(microsecond=0),
        threshold=threshold,
        queues=queues or None,
        within=within,
    )


def read_table(params: QueryDict, scope: Scope) -> tuple[Question, list[Measure], dict[str, Any]]:
    """Read the question and the columns of a page, and the terms under which an export has them as a file.

    Parameters are the API's, and `answered_within` and `columns[]` besides. If no agents are named, it is about all
    agents of the scope. Raises Invalid.
    """
    faults: list[Fault] = []
    within = _one(params, "answered_within", faults, lambda text: parse_integer(text, 0, MOST_SECONDS), USUAL_WITHIN)
    names = query_list(params, "columns") or USUAL
    if any(name not in NAMES for name in names):
        faults.append(Fault(ErrorCode.NOT_CHOICE, "columns", {"choices": ", ".join(NAMES)}))
    logins, groups = query_list(params, "agent_logins"), query_list(params, "agent_group_ids")
    asked = params.copy()
    if not asked.get("aggregate_by", "").strip():
        asked["aggregate_by"] = USUAL_AGGREGATION.value
    if not logins and not groups:
        asked.setlist("agent_logins", scope.within(Agent.objects.order_by("login")).values_list("login", flat=True))
    question = read(asked, faults, within, scope)
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
    return question, columns_of(names), terms


def _agents(params: QueryDict, faults: list[Fault], scope: Scope) -> dict[int, dict[str, str]]:
    """Find the agents of the logins and groups, by login; an unknown login or group is a fault."""
    groups = _read(query_list(params, "agent_group_ids"), "agent_group_ids", faults, parse_integer)
    logins = [login for text in query_list(params, "agent_logins") if (login := text.strip())]
    if not logins and not query_list(params, "agent_group_ids"):
        faults.append(Fault(ErrorCode.AGENTS_REQUIRED, "agent_logins"))
    # All together: there may be hundreds.
    if not _read(["".join(logins)], "agent_logins", faults, parse_text):
        logins = []
    with connection.cursor() as cursor:
        values = {"logins": json.dumps(logins), "groups": groups, **scope.by_column}
        cursor.execute(_AGENTS.format(inside=scope.sql(Agent, "a")), values)
        found = {
            pk: {"login": login, "name": name, "surname": surname} for pk, login, name, surname in cursor.fetchall()
        }
    known = {agent["login"] for agent in found.values()}
    if unknown := [login for login in dict.fromkeys(logins) if login not in known]:
        faults.append(Fault(ErrorCode.AGENTS_NOT_FOUND, "agent_logins", {"logins": ", ".join(unknown)}))
    if groups:
        there = set(scope.within(AgentGroup.objects.filter(pk__in=groups)).values_list("pk", flat=True))
        if missing := [str(group) for group in groups if group not in there]:
            faults.append(Fault(ErrorCode.AGENT_GROUPS_NOT_FOUND, "agent_group_ids", {"ids": ", ".join(missing)}))
    return found


def _outside(queues: Collection[int], scope: Scope) -> bool:
    """Return whether the scope lacks one of these queues."""
    if scope.call_queues is None and scope.ticket_queues is None:
        return False
    there = {
        pk
        for model in (Queue, TicketQueue)
        for pk in scope.within(model._default_manager.filter(pk__in=queues)).values_list("pk", flat=True)
    }
    return not there.issuperset(queues)


def _instant(params: QueryDict, name: str, faults: list[Fault]) -> datetime | None:
    """Read a bound of the span. The day, minute or second that the upper bound names is in the span."""
    text, is_upper_bound = params.get(name, "").strip(), name == "date_to"
    try:
        instant = parse_instant(text, is_upper_bound=is_upper_bound)
        return instant.replace(microsecond=0) + timedelta(seconds=1) if is_upper_bound else instant
    except (Reject, OverflowError):
        faults.append(Fault(ErrorCode.NOT_INSTANT if text else ErrorCode.EMPTY, name))
        return None


def _aggregation(text: str) -> Aggregation:
    if text not in [*Aggregation]:
        raise Reject(ErrorCode.NOT_CHOICE, choices=", ".join(Aggregation))
    return Aggregation(text)


def _one(params: QueryDict, name: str, faults: list[Fault], parse: Callable[[str], T], usual: T) -> T:
    text = params.get(name, "").strip()
    return next(iter(_read([text] if text else [], name, faults, parse)), usual)


def _read(texts: Iterable[str], name: str, faults: list[Fault], parse: Callable[[str], T]) -> list[T]:
    """Return the values, each once; add the faults of those that cannot be read."""
    found: dict[T, None] = {}
    for text in texts:
        try:
            found[parse(text)] = None
        except Reject as reject:
            faults.append(Fault(reject.fault.code, name, reject.fault.params))
    return [*found]
