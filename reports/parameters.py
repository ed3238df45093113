"""The parameters of the report, in the API and on the page: read, checked, and their faults reported together."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.http import QueryDict
from django.utils import timezone

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.parsing import INT32, Reject, parse_id, parse_instant, parse_integer, parse_text, query_list
from callcentre.core.retention import LEAST_DAYS, Retention
from callcentre.core.scope import ALL, Scope
from callcentre.core.statements import rows_of
from callcentre.core.times import zone
from reports.description import Report, Subjects
from reports.measures import Measure
from reports.models import RollupProgress
from reports.models.export import MOST_SECONDS
from reports.periods import FIRST, LAST, MOST_PERIODS, Aggregation, start_of
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
    span = _span(params, faults, Aggregation.MONTH)
    queues = _queues(params, faults)
    threshold = _one(params, "outbound_threshold", faults, lambda text: parse_integer(text, 0, INT32), 0)
    if faults or span is None:
        raise Invalid(faults)
    now = timezone.now().replace(microsecond=0)
    question = Question(agents, *span, now, threshold, queues_within(scope, queues), within)
    refuse_gone(question)
    return question


def _read_agents_table(
    report: Report, params: QueryDict, scope: Scope
) -> tuple[Question, list[Measure], dict[str, Any]]:
    """Read the question and the columns of a page, and the terms under which an export has them as a file.

    Parameters are the API's, and `answered_within` and `columns[]` besides; all agents where none are named. Rows are
    those of the scope. Raises Invalid.
    """
    faults: list[Fault] = []
    within = _within(params, faults)
    names = _columns(params, report.names, report.usual, faults)
    logins, groups = query_list(params, "agent_logins"), query_list(params, "agent_group_ids")
    asked = params.copy()
    if not asked.get("aggregate_by", "").strip():
        asked["aggregate_by"] = USUAL_AGGREGATION.value
    if not logins and not groups:
        asked.setlist("agent_logins", scope.within(Agent.objects.order_by("login")).values_list("login", flat=True))
    question = read(asked, faults, within, scope)
    named = {login.strip() for login in logins}
    terms = {
        "agent_ids": [pk for pk, agent in question.subjects.items() if agent["login"] in named],
        "agent_group_ids": list(dict.fromkeys(map(int, groups))),
        "aggregation": question.aggregation.value,
        "threshold": question.threshold,
        "answered_within": within,
        "queue_ids": list(_queues(params, [])),
        "columns": [name for name in report.names if name in names],
    }
    return question, report.columns_of(names), terms


def read_grouped(
    report: Report,
    params: QueryDict,
    faults: list[Fault],
    *,
    usual: Aggregation = Aggregation.MONTH,
    scope: Scope = ALL,
) -> Question:
    """Read the parameters of a report by queue or campaign. Raises Invalid with these faults and its own."""
    assert report.subjects
    subjects = _subjects(report.subjects, query_list(params, report.subjects.parameter), faults, scope)
    span = _span(params, faults, usual)
    within = _within(params, faults) if report.has_within else None
    if faults or span is None:
        raise Invalid(faults)
    question = Question(subjects, *span, timezone.now().replace(microsecond=0), within=within)
    refuse_gone(question, report.ledgers)
    return question


def refuse_gone(question: Question, ledgers: Sequence[str] = ()) -> None:
    """Raise Invalid if the answer needs rows that a retention has deleted. Without ledgers it is the agents work
    report, which has sums of hours, days and months for that time.
    """
    if question.begin >= question.now - timedelta(days=LEAST_DAYS):
        return
    final = RollupProgress.objects.filter(level=RollupProgress.FINAL).values_list("until", flat=True)
    deleted = Retention.objects.filter(kind__in=ledgers, deleted_before__isnull=False)
    until = max(deleted.values_list("deleted_before", flat=True) if ledgers else final, default=FIRST)
    if question.begin >= until:
        return
    day = {"day": until.astimezone(zone()).date().isoformat()}
    if ledgers:
        raise Invalid([Fault(ErrorCode.ROWS_GONE, "date_from", day)])
    if question.aggregation is Aggregation.MINUTE:
        raise Invalid([Fault(ErrorCode.SUMS_ONLY, "aggregate_by", day)])
    if question.queues is not None:
        raise Invalid([Fault(ErrorCode.SUMS_ONLY, "queues_ids", day)])
    bounds = {"date_from": question.begin, "date_to": question.end}
    torn = [name for name, at in bounds.items() if at < until and start_of(Aggregation.HOUR, at) != at]
    if torn:
        raise Invalid([Fault(ErrorCode.SUMS_ONLY, name, day) for name in torn])


def read_table(report: Report, params: QueryDict, scope: Scope) -> tuple[Question, list[Measure], dict[str, Any]]:
    """Read the question and the columns of a page, and the terms of its export. Raises Invalid."""
    if report.subjects is None:
        return _read_agents_table(report, params, scope)
    faults: list[Fault] = []
    names = _columns(params, report.names, report.usual, faults)
    question = read_grouped(report, params, faults, usual=USUAL_AGGREGATION, scope=scope)
    is_named = any(text.strip() for text in query_list(params, report.subjects.parameter))
    terms = {
        "report": report.kind,
        "aggregation": question.aggregation.value,
        "answered_within": USUAL_WITHIN if question.within is None else question.within,
        "columns": [name for name in report.names if name in names],
        report.subjects.field: list(question.subjects) if is_named else [],
    }
    return question, report.columns_of(names), terms


def subjects_of(subjects: Subjects, scope: Scope, ids: Iterable[int] = ()) -> dict[int, dict[str, Any]]:
    """Return the rows of the scope with these ids, or all of them, in the order of the report."""
    rows = scope.within(subjects.model._default_manager.order_by(*subjects.order))
    if wanted := list(ids):
        rows = rows.filter(pk__in=wanted)
    found = rows.values_list("pk", *subjects.names.values())
    return {pk: dict(zip(subjects.names, names, strict=True)) for pk, *names in found}


def _subjects(subjects: Subjects, texts: Iterable[str], faults: list[Fault], scope: Scope) -> dict[int, dict[str, Any]]:
    """Find the queues or campaigns that are named, or all; an unknown one is a fault."""
    every = subjects_of(subjects, scope)
    named = [text.strip() for text in texts if text.strip()]
    if not named:
        return every
    wanted = _read(named, subjects.parameter, faults, subjects.parse)
    by_key = {row["id"]: pk for pk, row in every.items()}
    # As they were sent: a number beyond all ids is read as the last one.
    missing = [
        text
        for text in dict.fromkeys(named)
        if any(key not in by_key for key in _read([text], subjects.parameter, [], subjects.parse))
    ]
    if missing:
        faults.append(Fault(subjects.not_found, subjects.parameter, {"ids": ", ".join(missing)}))
    found = {by_key[key] for key in wanted if key in by_key}
    return {pk: row for pk, row in every.items() if pk in found}


def _span(params: QueryDict, faults: list[Fault], usual: Aggregation) -> tuple[datetime, datetime, Aggregation] | None:
    """Read the span and the periods. Return None if a bound could not be read."""
    begin, end = (_instant(params, name, faults) for name in ("date_from", "date_to"))
    aggregation = _one(params, "aggregate_by", faults, _aggregation, usual)
    if begin and end and begin >= end:
        faults.append(Fault(ErrorCode.REPORT_ENDS_BEFORE_START, "date_to"))
    elif begin and end and aggregation.periods_in(begin, end) > MOST_PERIODS:
        faults.append(Fault(ErrorCode.TOO_MANY_PERIODS, "aggregate_by", {"limit": MOST_PERIODS}))
    if begin is None or end is None:
        return None
    return min(max(begin, FIRST), LAST), max(min(end, LAST), FIRST), aggregation


def _within(params: QueryDict, faults: list[Fault]) -> int:
    return _one(params, "answered_within", faults, lambda text: parse_integer(text, 0, MOST_SECONDS), USUAL_WITHIN)


def _columns(params: QueryDict, known: Sequence[str], usual: Sequence[str], faults: list[Fault]) -> Sequence[str]:
    names = query_list(params, "columns") or usual
    if any(name not in known for name in names):
        faults.append(Fault(ErrorCode.NOT_CHOICE, "columns", {"choices": ", ".join(known)}))
    return names


def _queues(params: QueryDict, faults: list[Fault]) -> tuple[int, ...]:
    # No queue has the id 0, which means all calls in the rollups.
    return tuple(queue or -1 for queue in _read(query_list(params, "queues_ids"), "queues_ids", faults, parse_id))


def queues_within(scope: Scope, ids: Sequence[int]) -> tuple[int, ...] | None:
    """Return the queues of calls and of tickets that the agents work report counts; None for all.

    A person whose scope names queues gets these, or those of them that are asked for.
    """
    if scope.call_queues is None and scope.ticket_queues is None:
        return tuple(ids) or None
    found = {
        pk
        for rows in (Queue.objects.order_by(), TicketQueue.objects.order_by())
        for pk in scope.within(rows).values_list("pk", flat=True)
    }
    return tuple(sorted(found & set(ids) if ids else found)) or (-1,)


def _agents(params: QueryDict, faults: list[Fault], scope: Scope) -> dict[int, dict[str, str]]:
    """Find the agents of the logins and groups, by login; an unknown login or group is a fault."""
    groups = _read(query_list(params, "agent_group_ids"), "agent_group_ids", faults, parse_integer)
    logins = [login for text in query_list(params, "agent_logins") if (login := text.strip())]
    if not logins and not query_list(params, "agent_group_ids"):
        faults.append(Fault(ErrorCode.AGENTS_REQUIRED, "agent_logins"))
    # All together: there may be hundreds.
    if not _read(["".join(logins)], "agent_logins", faults, parse_text):
        logins = []
    values = {"logins": json.dumps(logins), "groups": groups, **scope.by_column}
    rows = rows_of(_AGENTS.format(inside=scope.sql(Agent, "a")), values)
    found = {pk: {"login": login, "name": name, "surname": surname} for pk, login, name, surname in rows}
    known = {agent["login"] for agent in found.values()}
    if unknown := [login for login in dict.fromkeys(logins) if login not in known]:
        faults.append(Fault(ErrorCode.AGENTS_NOT_FOUND, "agent_logins", {"logins": ", ".join(unknown)}))
    if groups:
        there = set(scope.within(AgentGroup.objects.filter(pk__in=groups)).values_list("pk", flat=True))
        if missing := [str(group) for group in groups if group not in there]:
            faults.append(Fault(ErrorCode.AGENT_GROUPS_NOT_FOUND, "agent_group_ids", {"ids": ", ".join(missing)}))
    return found


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
