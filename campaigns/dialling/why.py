"""The reasons why a record is not called now, computed from rows at each request and not stored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

import orjson
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.field_tables import named_rows
from callcentre.core.statements import Statement
from campaigns.dialling import obstacles
from campaigns.dialling.choice import FOR_GOOD
from campaigns.dialling.hours import Hours, closure, next_opening, read_hours
from campaigns.dialling.numbers import NumberFacts, numbers_of
from campaigns.models import Campaign, Record, SystemStatus
from campaigns.models.dialling import ALL_DIALLING_RUNS
from campaigns.models.record import IS_LEASED

_OF_CAMPAIGN = ("campaign_inactive", "outside_dates", "dialling_paused", "all_dialling_stopped", "no_agent")
TEXTS: dict[str, Any] = {
    **{code: obstacles.TEXTS[code] for code in _OF_CAMPAIGN},
    "in_call": _("A call of the record goes on, or waits for its result."),
    "reserved": _("The record is reserved for a call or shown to an agent."),
    "status_not_called": _("Records with this status are not called."),
    "attempts_used": _("The record has had all its attempts."),
    "retry_not_due": _("The time of the next call has not come."),
    "agent_not_free": _("The agent of the record is not free."),
    "number_wrong": _("The number is marked as wrong."),
    "do_not_call": _("The number is on the do-not-call list."),
    "number_paused": _("The number was called for another record a short time ago."),
    "outside_hours": _("It is outside the calling hours of the campaign, in the callee's time zone."),
    "legal_hours": _("The law does not allow the call at this hour: %(rule)s."),
    "holiday": _("It is a holiday: %(rule)s."),
    "zone_unreadable": _("The time zone of the record is not known."),
    "held": _("The dialler looks at the record again later."),
}
_IS_CALLED = frozenset((*SystemStatus.untimed(), *SystemStatus.needing_next_call()))

# An agent who is logged in for the dialling of the campaign `c`.
_READY_AGENT = """
  SELECT FROM campaigns_campaign_agents m JOIN telephony_agent a ON a.id = m.agent_id
  JOIN telephony_agentsession s ON s.agent_id = a.id AND s.ended_at IS NULL
  WHERE m.campaign_id = c.id AND a.is_active AND a.outbound_mode AND a.number <> ''
"""
_FACTS = Statement("""
SELECT r.id, r.system_status, r.fields, r.next_call_at, r.held_until, r.leased_until, r.agent_id, c.code,
  {is_leased} AS is_leased, c.id AS campaign_id, c.is_active, c.start_date, c.end_date, c.is_dialling, c.zone_field_id,
  c.is_crm, c.holiday_country, c.ignores_hours,
  {all_dialling_runs} AS is_running,
  EXISTS ({ready_agent}) AS has_agent,
  EXISTS ({ready_agent} AND a.id = r.agent_id AND EXISTS (
    SELECT FROM telephony_agentstate t WHERE t.agent_id = a.id AND t.ended_at IS NULL AND t.kind = 'free'
  )) AS is_agent_free
FROM campaigns_record r JOIN campaigns_campaign c ON c.id = r.campaign_id
""").of(is_leased=IS_LEASED, all_dialling_runs=ALL_DIALLING_RUNS, ready_agent=_READY_AGENT)
_BY_NUMBER = f"{_FACTS} WHERE c.code = %s AND r.is_primary AND r.number = %s"
_BY_ID = f"{_FACTS} WHERE r.id = %s"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason, and the time until which it holds; None if that is not known."""

    code: str
    until: datetime | None = None
    rule: str = ""

    @property
    def text(self) -> str:
        return str(TEXTS[self.code]) % {"rule": self.rule}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons why a record is not called now, and the time of its next call as far as it is known."""

    reasons: Sequence[Reason]
    next_call_at: datetime | None

    @property
    def is_callable(self) -> bool:
        return not self.reasons


def explain_number(code: str, number: str, now: datetime) -> Explanation | None:
    """Explain the oldest record of a number (normal form) in a campaign, in three statements; None if there is none."""
    return _explain(_BY_NUMBER, [code, number], now)


def explain_record(record_id: int, now: datetime) -> Explanation | None:
    return _explain(_BY_ID, [record_id], now)


def _explain(sql: str, values: list[Any], now: datetime) -> Explanation | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows = named_rows(cursor)
    if not rows:
        return None
    (facts,) = rows
    campaign = Campaign(
        pk=facts["campaign_id"],
        zone_field_id=facts["zone_field_id"],
        is_crm=facts["is_crm"],
        holiday_country=facts["holiday_country"],
        ignores_hours=facts["ignores_hours"],
    )
    record = Record(pk=facts["id"], fields=orjson.loads(facts["fields"]))
    numbers, hours = numbers_of(campaign, record, now), read_hours(campaign)
    reasons = [*_of_campaign(facts, now), *_of_record(facts, now)]
    of_numbers = _of_numbers(numbers, hours, now)
    if not reasons and not of_numbers and facts["held_until"]:
        reasons.append(Reason("held", _known(facts["held_until"])))
    return Explanation([*reasons, *of_numbers], _next_call(reasons, numbers, hours, now))


def _of_campaign(facts: dict[str, Any], now: datetime) -> Iterator[Reason]:
    today = timezone.localdate(now)
    if not facts["is_active"]:
        yield Reason("campaign_inactive")
    if facts["start_date"] > today:
        yield Reason("outside_dates", timezone.make_aware(datetime.combine(facts["start_date"], time.min)))
    elif facts["end_date"] and facts["end_date"] < today:
        yield Reason("outside_dates")
    if not facts["is_dialling"]:
        yield Reason("dialling_paused")
    if not facts["is_running"]:
        yield Reason("all_dialling_stopped")
    if not facts["has_agent"]:
        yield Reason("no_agent")


def _of_record(facts: dict[str, Any], now: datetime) -> Iterator[Reason]:
    status, next_call_at = facts["system_status"], facts["next_call_at"]
    if facts["is_leased"]:
        # A call holds the record without an end.
        yield Reason("reserved", facts["leased_until"]) if facts["leased_until"] else Reason("in_call")
    elif status == SystemStatus.ABANDONED_AFTER_N_TRIES:
        yield Reason("attempts_used")
    elif status not in _IS_CALLED:
        yield Reason("status_not_called")
    if status in SystemStatus.obeying_next_call() and next_call_at and next_call_at > now:
        yield Reason("retry_not_due", next_call_at)
    elif status == SystemStatus.MY_RECORD and facts["has_agent"] and not facts["is_agent_free"]:
        yield Reason("agent_not_free")


def _of_numbers(numbers: Sequence[NumberFacts], hours: Hours, now: datetime) -> list[Reason]:
    """Return the reasons of all numbers; none if one of them may be called. One reason has one entry."""
    found: dict[tuple[str, str], Reason] = {}
    for facts in numbers:
        reasons = list(_of_number(facts, hours, now))
        if not reasons:
            return []
        for reason in reasons:
            known = found.get((reason.code, reason.rule))
            if known is None or (reason.until or FOR_GOOD) < (known.until or FOR_GOOD):
                found[reason.code, reason.rule] = reason
    return list(found.values())


def _of_number(facts: NumberFacts, hours: Hours, now: datetime) -> Iterator[Reason]:
    if facts.is_wrong:
        yield Reason("number_wrong")
        return
    if facts.listed_until:
        yield Reason("do_not_call", _known(facts.listed_until))
    if facts.paused_until:
        yield Reason("number_paused", facts.paused_until)
    if closed := closure(hours, facts.zone, facts.number, now):
        opening = next_opening(hours, facts.zone, facts.number, now)
        yield Reason(closed.code, opening, closed.rule)


def _next_call(
    reasons: Sequence[Reason], numbers: Sequence[NumberFacts], hours: Hours, now: datetime
) -> datetime | None:
    """Return the first instant at which no reason is left; None if one of them has no known end."""
    if any(reason.until is None for reason in reasons):
        return None
    begins = max((reason.until for reason in reasons if reason.until), default=now)
    openings = []
    for facts in numbers:
        if facts.is_wrong or facts.listed_until == FOR_GOOD:
            continue
        at = max(until for until in (begins, facts.listed_until, facts.paused_until) if until)
        if opening := next_opening(hours, facts.zone, facts.number, at):
            openings.append(opening)
    return min(openings, default=None)


def _known(until: datetime) -> datetime | None:
    return None if until >= FOR_GOOD - timedelta(days=1) else until
