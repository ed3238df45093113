"""The question that a request asks: every parameter read and checked, all faults at once."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import connection
from django.http import QueryDict
from django.utils import timezone

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.parsing import INT32, Reject, parse_id, parse_instant, parse_integer, parse_text, query_list
from reports.builder import Question
from reports.limits import MOST_PERIODS
from reports.periods import FIRST, LAST, Aggregation
from telephony.models import AgentGroup

SECOND = timedelta(seconds=1)
# A list is sent as JSON, which is written faster than an array: there may be hundreds.
_AGENTS = """
SELECT id, login, name, surname FROM telephony_agent
WHERE login IN (SELECT jsonb_array_elements_text(%s::jsonb)) OR group_id IN (SELECT unnest(%s::bigint[])) ORDER BY login
"""


@dataclass(frozen=True)
class Wanted:
    """What is asked, of agents who are still to be found: the question has none."""

    logins: Sequence[str]
    groups: Sequence[int]
    asked: Question

    def question(self) -> tuple[Question, Mapping[int, dict[str, str]]]:
        """With the agents, and them as the answer names them. Raises Invalid where one of them is unknown."""
        faults: list[Fault] = []
        agents = _find(self.logins, self.groups, faults)
        if faults:
            raise Invalid(faults)
        return replace(self.asked, agents=list(agents)), agents


def read(params: QueryDict, faults: list[Fault]) -> Wanted:
    """What is asked. Raises Invalid with these faults and its own, unknown agents among them."""
    logins, groups = _agents(params, faults)
    place = len(faults)
    begin, end = _instant(params, "date_from", faults), _instant(params, "date_to", faults, is_upper_bound=True)
    aggregation = _aggregation(params, faults)
    if begin and end and begin >= end:
        faults.append(Fault(ErrorCode.REPORT_ENDS_BEFORE_START, "date_to"))
    elif begin and end and aggregation and aggregation.periods_in(begin, end) > MOST_PERIODS:
        faults.append(Fault(ErrorCode.TOO_MANY_PERIODS, "aggregate_by", {"limit": MOST_PERIODS}))
    # No queue has the id 0, by which the rollups mean all calls.
    queues = [queue or -1 for queue in _ids(params, "queues_ids", faults, parse_id)]
    threshold = _integer(params, "outbound_threshold", faults)
    if faults or begin is None or end is None or aggregation is None:
        unknown: list[Fault] = []
        _find(logins, groups, unknown)
        faults[place:place] = unknown
        raise Invalid(faults)
    asked = Question(
        agents=(),
        begin=min(max(begin, FIRST), LAST),
        end=max(min(end, LAST), FIRST),
        aggregation=aggregation,
        now=timezone.now().replace(microsecond=0),
        threshold=threshold,
        queues=queues or None,
    )
    return Wanted(logins, groups, asked)


def _agents(params: QueryDict, faults: list[Fault]) -> tuple[list[str], list[int]]:
    """Those who are named, and the groups."""
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
    """The agents of these names and groups, by login; who is unknown is a fault."""
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
    """A bound of the span. What is named in the upper one is in the span: the day, the minute, the second."""
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


def _integer(params: QueryDict, name: str, faults: list[Fault]) -> int:
    try:
        return parse_integer(text, 0, INT32) if (text := params.get(name, "").strip()) else 0
    except Reject as reject:
        faults.append(Fault(reject.fault.code, name, reject.fault.params))
        return 0


def _ids(params: QueryDict, name: str, faults: list[Fault], parse: Callable[[str], int] = parse_integer) -> list[int]:
    found = []
    for text in query_list(params, name):
        try:
            found.append(parse(text))
        except Reject as reject:
            faults.append(Fault(reject.fault.code, name, reject.fault.params))
    return list(dict.fromkeys(found))
