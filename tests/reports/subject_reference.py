"""The reports by queue, campaign and ticket queue in plain Python: every row held against every period.

Slow, and written without a look at how the service does it: what it says is right.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import cache
from typing import Any

from callcentre.core.times import zone
from campaigns.models import Attempt, Campaign, Record, RecordStatus
from telephony.models import AgentState, CallBack, Connection, MissedCaller, Offer, Queue
from tests.reports.reference import holds, periods
from tickets.models import Rating, ServiceLevel, Ticket, TicketQueue

Row = dict[str, Any]
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@dataclass
class Span:
    """What is asked: a span, and the length of its periods."""

    begin: datetime
    end: datetime
    aggregation: str
    now: datetime

    @property
    def periods(self) -> dict[str, list[tuple[datetime, datetime]]]:
        return periods(self.begin, self.end, self.aggregation, zone())


def average(values: Iterable[int], count: int) -> int:
    return int(sum(values) / count + 0.5) if count else 0


def share(part: int, whole: int) -> float | None:
    return int(10_000 * part / whole + 0.5) / 100 if whole else None


def length(start: datetime, end: datetime | None, now: datetime) -> int:
    return max(int(((end or now) - start).total_seconds()), 0)


# Queues


def queue_rows(span: Span, within: int = 20) -> list[Row]:
    return [
        {"queue_id": queue.pk, "queue_name": queue.name, "period": label, **figures}
        for queue in Queue.objects.order_by("name")
        for every in [list(Connection.objects.filter(direction="INBOUND", queue=queue))]
        for label, pieces in sorted(span.periods.items())
        if (figures := queue_figures(queue, every, pieces, span.now, within))["offered"]
        or figures["callbacks"]
        or figures["missed"]
    ]


def queue_figures(queue: Queue, every: list[Connection], pieces: Any, now: datetime, within: int) -> Row:
    callbacks = [one for one in CallBack.objects.filter(queue=queue) if holds(one.created_at, pieces)]
    reached = [one for one in callbacks if one.disposition == "ANSWERED"]
    missed = [one for one in MissedCaller.objects.filter(queue=queue) if holds(one.missed_at, pieces)]
    calls = [call for call in every if holds(call.created_at, pieces)]
    answered = [call for call in calls if call.answered_at]
    abandoned = [call for call in calls if not call.answered_at and call.ended_at and call.hung_up_by == "customer"]
    waits = [
        call.wait_seconds
        + (length(call.waiting_since, None, now) if call.state == "waiting" and call.waiting_since else 0)
        for call in calls
    ]
    ids = [call.pk for call in calls]
    offers = Offer.objects.filter(connection__in=ids, answered_at__isnull=False)
    talks = [length(offer.answered_at, offer.ended_at, now) for offer in offers if offer.answered_at]
    states = AgentState.objects.filter(connection__in=ids, kind="wrap_up")
    wrap_ups = [length(state.started_at, state.ended_at, now) for state in states]
    in_time = sum(1 for call in answered if call.wait_seconds <= within)
    return {
        "offered": len(calls),
        "answered": len(answered),
        "abandoned": len(abandoned),
        "answered_in_threshold": in_time,
        "service_level": share(in_time, len(answered) + len(abandoned)),
        "wait_average": average(waits, len(calls)),
        "wait_max": max(waits, default=0),
        "talk_average": average(talks, len(answered)),
        "handle_average": average([*talks, *wrap_ups], len(answered)),
        "callbacks": len(callbacks),
        "callbacks_answered": len(reached),
        "callback_wait_average": average([one.wait_seconds for one in reached], len(reached)),
        "missed": len(missed),
        "missed_unanswered": sum(one.answered_by is None for one in missed),
    }


# Campaigns


def campaign_rows(span: Span) -> list[Row]:
    every = [attempt for attempt in Attempt.objects.order_by("dialled_at", "pk") if attempt.outcome != "not_dialled"]
    over = Record.objects.filter(system_status__in=["NO_CALL", "ABANDONED_AFTER_N_TRIES"]).values_list("pk", flat=True)
    last = {attempt.record_id: attempt.pk for attempt in every}
    ends = {last[record] for record in over if record in last}
    names = dict(RecordStatus.objects.values_list("pk", "name"))
    rows = []
    for campaign in Campaign.objects.order_by("name"):
        of_campaign = [attempt for attempt in every if attempt.campaign_id == campaign.pk]
        for label, pieces in sorted(span.periods.items()):
            figures = campaign_figures(of_campaign, pieces, span.now, ends, names)
            if figures["attempts"]:
                rows.append({"outbound_id": campaign.code, "name": campaign.name, "period": label, **figures})
    return rows


def campaign_figures(every: list[Attempt], pieces: Any, now: datetime, ends: set[int], names: dict[int, str]) -> Row:
    """Return the figures of a campaign. `ends` are the last attempts of the records that are done."""
    attempts = [one for one in every if holds(one.dialled_at, pieces)]
    live = [one for one in attempts if one.joined_at or one.outcome == "dropped"]
    drops = [
        one
        for one in attempts
        if one.outcome == "dropped"
        or (one.joined_at and one.answered_at and one.joined_at - one.answered_at > 2 * SECOND)
    ]
    results = Counter(
        one.result["values"]["status_id"] for one in attempts if one.result and one.result["values"]["status_id"]
    )
    return {
        "attempts": len(attempts),
        "live_answers": len(live),
        "drops": len(drops),
        "drop_rate": share(len(drops), len(live)) or 0.0,
        "by_status": [{"status_id": pk, "name": names.get(pk, ""), "count": results[pk]} for pk in sorted(results)],
        "talk_sum": sum(length(one.joined_at, one.ended_at, now) for one in attempts if one.joined_at),
        "records_done": sum(1 for one in attempts if one.pk in ends),
    }


# Tickets


def ticket_rows(span: Span) -> list[Row]:
    found = []
    for queue in TicketQueue.objects.order_by("name"):
        tickets = list(Ticket.objects.filter(queue=queue).select_related("queue"))
        given = list(Rating.objects.filter(message__ticket__queue=queue))
        passed: list[Any] = []
        for label, pieces in sorted(span.periods.items()):
            figures = ticket_figures(tickets, pieces, span.now)
            passed += pieces
            ratings = [one.value for one in given if holds(one.given_at, pieces)]
            figures["ratings"] = len(ratings)
            figures["rating_average"] = round(sum(ratings) / len(ratings), 2) if ratings else None
            figures["backlog"] = None if span.aggregation == "hour_of_day" else backlog(tickets, span.begin, passed)
            is_over = pieces[0][0] >= span.now
            if any(figures[name] for name in ("opened", "closed", "reopened", "ratings")) or (
                figures["backlog"] and not is_over
            ):
                found.append({"ticket_queue_id": queue.pk, "name": queue.name, "period": label, **figures})
    return found


def ticket_figures(tickets: list[Ticket], pieces: Any, now: datetime) -> Row:
    opened = [ticket for ticket in tickets if holds(ticket.created_at, pieces)]
    closed = [ticket for ticket in tickets if holds(ticket.closed_at, pieces)]
    responded = [ticket for ticket in opened if ticket.first_agent_responded_at]
    responses = [working_seconds(one, one.created_at, one.first_agent_responded_at) for one in responded]
    late = [
        one
        for one in opened
        if not (one.first_agent_responded_at or one.closed_at or len(one.waits) % 2)
        and (due := due_at(one, one.created_at, level_of(one).first_response_minutes))
        and due < now
    ]
    answered = [
        in_time(one, one.created_at, one.first_agent_responded_at, level_of(one).first_response_minutes)
        for one in responded
    ]
    resolved = [one for one in closed if one.merged_into_id is None]
    resolutions = [working_seconds(one, one.targets_began_at or one.created_at, one.closed_at) for one in resolved]
    ended = [
        in_time(one, one.targets_began_at or one.created_at, one.closed_at, level_of(one).resolution_minutes)
        for one in resolved
    ]
    return {
        "opened": len(opened),
        "closed": len(closed),
        "reopened": sum(1 for ticket in tickets if holds(ticket.targets_began_at, pieces)),
        "first_response_average": average(responses, len(responses)) if responses else None,
        "first_response_met": met(answered, len(late)),
        "resolution_average": average(resolutions, len(resolutions)) if resolutions else None,
        "resolution_met": met(ended, 0),
    }


def backlog(tickets: list[Ticket], begin: datetime, passed: list[Any]) -> int:
    """Count the tickets that were open at the end of the last of these periods. A minute may have two ends."""
    before = sum(1 for one in tickets if one.created_at < begin and (not one.closed_at or one.closed_at >= begin))
    opened = sum(1 for one in tickets if holds(one.created_at, passed))
    return before + opened - sum(1 for one in tickets if holds(one.closed_at, passed))


def met(in_time: list[bool | None], late: int) -> float | None:
    due = [one for one in in_time if one is not None]
    return share(sum(due), len(due) + late)


def level_of(ticket: Ticket) -> ServiceLevel:
    """The level of its queue, of which each has one."""
    (level,) = (one for one in ServiceLevel.objects.all() if one.conditions[0]["values"] == [str(ticket.queue_id)])
    return level


def in_time(ticket: Ticket, start: datetime, end: datetime | None, limit: int | None) -> bool | None:
    due = due_at(ticket, start, limit, end)
    return None if due is None or end is None else end <= due


def due_at(ticket: Ticket, start: datetime, limit: int | None, until: datetime | None = None) -> datetime | None:
    """Find the first minute after which the working time is used up, one by one."""
    if limit is None:
        return None
    at = start
    while working_seconds(ticket, start, at, until) < limit * 60:
        at += MINUTE
        if until and at > until:
            return at
    return at


@cache
def working_minute(hours: tuple[Any, ...], minute: datetime) -> bool:
    local = minute.astimezone(zone())
    return not hours or any(
        day == local.isoweekday() and opens <= local.time() and (local.time() < closes or closes == time())
        for day, opens, closes in hours
    )


@cache
def hours_of(level_id: int) -> tuple[Any, ...]:
    calendar = ServiceLevel.objects.get(pk=level_id).calendar
    return tuple(calendar.hours.values_list("weekday", "opens_at", "closes_at")) if calendar else ()


def working_seconds(ticket: Ticket, start: datetime, end: datetime | None, until: datetime | None = None) -> int:
    """Count the minutes of working time one by one: all instants of a scene are whole minutes."""
    assert end is not None
    pauses = list(zip(ticket.waits[::2], [*ticket.waits[1::2], until or end], strict=False))
    hours = hours_of(level_of(ticket).pk)
    minutes = [start + n * MINUTE for n in range(max(int((end - start) / MINUTE), 0))]
    return 60 * sum(
        1
        for minute in minutes
        if working_minute(hours, minute) and not any(since <= minute < until for since, until in pauses)
    )
