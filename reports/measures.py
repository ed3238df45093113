"""The published measures of the report: one table, from which the API, the exports and the admin take theirs.

Definitions of the measures that only tables have are in docs/reports.md.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import lru_cache
from math import isinf
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.times import second, zone
from reports.sums import Sums
from telephony.models import Pause


# Cached: a page of the API has 1,700 of them, and nine hours have no more than these.
@lru_cache(maxsize=32_768)
def clock(seconds: int) -> str:
    """Spell a duration `hh:mm:ss`; hours grow past 99."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def mean(seconds: int, count: int) -> int:
    """Divide, rounded to the whole second, halves up; 0 where there is nothing to divide by."""
    return (2 * seconds + count) // (2 * count) if count else 0


def per_hour(count: int, seconds: int) -> float:
    """Divide, rounded to two decimals, halves up; 0 where there is no time."""
    return (2 * count * 360_000 + seconds) // (2 * seconds) / 100 if seconds else 0.0


def percent(part: int, whole: int) -> float | None:
    """Return a share, rounded to two decimals, halves up; None of nothing."""
    return (2 * part * 10_000 + whole) // (2 * whole) / 100 if whole else None


@dataclass(slots=True)
class ReportRow:
    """An agent's period: its sums, and the figures that are made of several of them."""

    agent_id: int
    agent: Mapping[str, str]
    period: str
    sums: Sums
    # Calls, chats and tickets are of some queues only; the agent's own time is not.
    is_narrowed: bool = False

    @property
    def first_login(self) -> datetime | None:
        epoch = self.sums.first_login_at
        return None if epoch is None else datetime.fromtimestamp(epoch, zone())

    @property
    def last_logout(self) -> datetime | None:
        """The last logout; None while the agent is logged in."""
        epoch = self.sums.last_logout_at
        return None if epoch is None or isinf(epoch) else datetime.fromtimestamp(epoch, zone())

    @property
    def calls_above(self) -> tuple[int, int]:
        """Outbound calls whose talk was longer than the threshold: how many began, seconds."""
        sums = self.sums
        return sums.calls - sums.calls_below, sums.calls_seconds - sums.calls_below_seconds

    @property
    def calls_below(self) -> tuple[int, int]:
        return self.sums.calls_below, self.sums.calls_below_seconds

    @property
    def pauses(self) -> tuple[int, int]:
        """Pauses of all reasons: how many began, seconds."""
        found = self.sums.pauses.values()
        return sum(count for count, _ in found), sum(seconds for _, seconds in found)

    @property
    def talk_seconds(self) -> int:
        return self.sums.talk_seconds + self.sums.calls_seconds

    @property
    def handle_seconds(self) -> int | None:
        """Handle time; None where calls are of some queues only, because a wrap-up belongs to no queue."""
        return None if self.is_narrowed else self.talk_seconds + self.sums.wrap_up_seconds

    @property
    def average_handle_seconds(self) -> int | None:
        seconds, count = self.handle_seconds, self.sums.answered + self.sums.calls_talked
        return None if seconds is None or not count else mean(seconds, count)

    @property
    def occupancy(self) -> float | None:
        """The share of handling in the time of handling calls and being ready for them, in per cent."""
        seconds = self.handle_seconds
        return None if seconds is None else percent(seconds, seconds + self.sums.free_seconds)

    @property
    def service_level(self) -> float | None:
        """The share of offers answered in time among those answered or not, in per cent."""
        return percent(self.sums.in_time, self.sums.answered + self.sums.not_answered)


class Unit(Enum):
    """The way in which a value is written."""

    TEXT = "text"
    COUNT = "count"
    DURATION = "duration"
    NUMBER = "number"
    PERCENT = "percent"
    MOMENT = "moment"


Value = str | int | float | datetime | None


@dataclass(frozen=True)
class Measure:
    """A published figure: a column of tables, and a field of the API where `in_api`, under the same name."""

    name: str
    group: Any
    label: Any
    unit: Unit
    value: Callable[[ReportRow], Value]
    example: Any = 0
    sentence: str = ""
    # Shown in tables without chosen columns.
    is_usual: bool = True
    in_api: bool = True

    @property
    def title(self) -> str:
        return f"{self.group}: {self.label}" if self.group else str(self.label)

    @property
    def wire(self) -> Callable[[ReportRow], Any]:
        """The function that returns the value as JSON has it."""
        value: Callable[[ReportRow], Any] = self.value
        match self.unit:
            case Unit.DURATION:
                return lambda row: clock(value(row))
            case Unit.MOMENT:
                return lambda row: second(value(row))
        return value

    def text(self, row: ReportRow) -> str:
        """Spell the value as the API does; per cent without their sign; nothing for None."""
        return text_of(self.unit, self.value(row))


def text_of(unit: Unit, value: Any) -> str:
    if value is None:
        return ""
    match unit:
        case Unit.DURATION:
            return clock(value)
        case Unit.MOMENT:
            return second(value)
        case Unit.NUMBER | Unit.PERCENT:
            return f"{value:.2f}"
    return str(value)


_INBOUND, _CHATS, _TICKETS = _("Inbound calls"), _("Chats"), _("Tickets")
_ABOVE, _BELOW = _("Outbound above the threshold"), _("Outbound up to the threshold")
_LOGIN, _PAUSES, _FREE, _WORK = pgettext_lazy("being logged in", "Login"), _("Pauses"), _("Ready"), _("Work")
_COUNT, _TIME, _AVERAGE = pgettext_lazy("how many", "number"), pgettext_lazy("for how long", "time"), _("average")
REASONS, IN_TIME, SERVICE_LEVEL = "pauses.reasons", "in_time", "service_level"
TEXT, COUNT, DURATION, NUMBER, PERCENT, MOMENT = Unit


def counted(
    name: str,
    group: Any,
    of: Callable[[ReportRow], tuple[int, int]],
    examples: tuple[int, int] = (0, 0),
    *,
    in_api: bool = True,
) -> list[Measure]:
    """Build the three measures of things that are counted and last: how many, how long, the average."""
    count, seconds = examples
    return [
        Measure(f"{name}.count", group, _COUNT, COUNT, lambda row: of(row)[0], count,
                "How many began in the period.", in_api=in_api),
        Measure(f"{name}.sum", group, _TIME, DURATION, lambda row: of(row)[1], seconds,
                "Their talk time in the period.", in_api=in_api),
        Measure(f"{name}.average", group, _AVERAGE, DURATION, lambda row: mean(*reversed(of(row))),
                mean(seconds, count), "Sum ÷ count.", is_usual=False, in_api=in_api),
    ]  # fmt: skip


# The columns that every table begins with.
FIXED = [
    Measure("agent.login", "", _("Login"), TEXT, lambda row: row.agent["login"], "agent1"),
    Measure("agent.name", "", pgettext_lazy("of a person", "Name"), TEXT, lambda row: row.agent["name"], "Anna"),
    Measure("agent.surname", "", _("Surname"), TEXT, lambda row: row.agent["surname"], "Nowak"),
    Measure("period", "", _("Period"), TEXT, lambda row: row.period, "2026-11"),
]
# fmt: off
MEASURES = [
    Measure("inbound.count", _INBOUND, _("offered"), COUNT, lambda row: row.sums.offered, 40,
            "Offers that began in the period."),
    Measure("inbound.answered_count", _INBOUND, _("answered"), COUNT, lambda row: row.sums.answered, 34,
            "Offers that the agent answered."),
    Measure("inbound.not_answered_count", _INBOUND, _("not answered"), COUNT, lambda row: row.sums.not_answered, 6,
            "Offers that ended without an answer."),
    Measure("inbound.transferred_count", _INBOUND, _("transferred"), COUNT, lambda row: row.sums.transferred, 2,
            "Offers whose call the agent transferred.", is_usual=False),
    Measure("inbound.sum", _INBOUND, _("talk time"), DURATION, lambda row: row.sums.talk_seconds, 8160,
            "The agent's talk time in the period."),
    Measure("inbound.average", _INBOUND, _("average talk"), DURATION,
            lambda row: mean(row.sums.talk_seconds, row.sums.answered), 240, "Sum ÷ answered."),
    Measure("inbound.wait_sum", _INBOUND, _("waiting in s"), COUNT, lambda row: row.sums.wait_seconds, 280,
            "Seconds for which callers waited for the agent to answer.", is_usual=False),
    Measure("inbound.wait_average", _INBOUND, _("average wait"), DURATION,
            lambda row: mean(row.sums.wait_seconds, row.sums.offered), 7, "Wait ÷ offers.", is_usual=False),
    Measure("inbound.calls_per_hour", _INBOUND, _("per hour"), NUMBER,
            lambda row: per_hour(row.sums.answered, row.sums.login_seconds), 4.25,
            "Answered ÷ logged-in hours of the period; 0 without a login.", is_usual=False),
    *counted("outbound_above_threshold", _ABOVE, lambda row: row.calls_above, (12, 3600)),
    *counted("outbound_below_threshold", _BELOW, lambda row: row.calls_below, (12, 0)),
    Measure("chat.closed", _CHATS, _("closed"), COUNT, lambda row: row.sums.chats_closed, 5,
            "Chats of the agent that were closed."),
    Measure("chat.responded", _CHATS, _("written in"), COUNT, lambda row: row.sums.chats_answered, 6,
            "Chats in which the agent wrote.", is_usual=False),
    Measure("ticket.closed", _TICKETS, _("closed"), COUNT, lambda row: row.sums.tickets_closed, 8,
            "Tickets that the agent closed."),
    Measure("ticket.responded", _TICKETS, _("replied to"), COUNT, lambda row: row.sums.tickets_answered, 9,
            "Tickets that the agent replied to."),
    Measure("ticket.total_responded", _TICKETS, _("replies"), COUNT, lambda row: row.sums.replies, 14,
            "Replies of the agent.", is_usual=False),
    Measure("login_date", _LOGIN, _("first"), MOMENT, lambda row: row.first_login, "2026-11-02 07:58:12",
            "When the first session began that touches the period; an empty string without one.", is_usual=False),
    Measure("logout_date", _LOGIN, _("last logout"), MOMENT, lambda row: row.last_logout, "2026-11-02 16:01:40",
            "When the last session ended; an empty string while the agent is logged in.", is_usual=False),
    Measure("login_sum", _LOGIN, _TIME, DURATION, lambda row: row.sums.login_seconds, 28800,
            "Time logged in, in the period."),
    # The API has pauses as a list.
    *counted("pauses.all", _PAUSES, lambda row: row.pauses, in_api=False),
    Measure("pauses.free.count", _FREE, _COUNT, COUNT, lambda row: row.sums.free_count, is_usual=False, in_api=False),
    Measure("pauses.free.sum", _FREE, _TIME, DURATION, lambda row: row.sums.free_seconds, in_api=False),
    Measure("talk_time", _WORK, _("talk time, in and out"), DURATION, lambda row: row.talk_seconds,
            is_usual=False, in_api=False),
    Measure("wrap_up", _WORK, _("wrap-up"), DURATION, lambda row: row.sums.wrap_up_seconds, in_api=False),
    Measure("handle_time", _WORK, _("handle time"), DURATION, lambda row: row.handle_seconds, in_api=False),
    Measure("average_handle_time", _WORK, _("average handle time"), DURATION,
            lambda row: row.average_handle_seconds, in_api=False),
    Measure("occupancy", _WORK, _("occupancy in per cent"), PERCENT, lambda row: row.occupancy, in_api=False),
    Measure(SERVICE_LEVEL, _INBOUND, _("service level in per cent"), PERCENT, lambda row: row.service_level,
            is_usual=False, in_api=False),
]
# Parts of other measures, which have no column of their own.
PARTS = [
    Measure(IN_TIME, _INBOUND, _("answered in time"), COUNT, lambda row: row.sums.in_time),
    Measure("talked_outbound", _("Outbound calls"), _("talked"), COUNT, lambda row: row.sums.calls_talked),
]
# fmt: on
USUAL = [measure.name for measure in MEASURES if measure.is_usual]
# The columns that can be chosen: each measure, and those of all reasons of pauses together.
NAMES = [*(measure.name for measure in MEASURES), REASONS]


def columns_of(names: Iterable[str]) -> list[Measure]:
    """Return agent, period and these columns, in the order of the report."""
    wanted = set(names)
    found = [*FIXED]
    for measure in MEASURES:
        if measure.name in wanted:
            found.append(measure)
        if measure.name == "pauses.free.sum" and REASONS in wanted:
            found += _columns_of_reasons()
    return found


def _columns_of_reasons() -> list[Measure]:
    """Build the columns of each reason that exists, used or not: a table has the same columns for every agent."""
    found = []
    for pk, name in Pause.objects.order_by("pk").values_list("pk", "name"):
        found += counted(f"pauses.{pk}", _("Pause %s") % name, _of_reason(pk))
    return found


def _of_reason(pk: int) -> Callable[[ReportRow], tuple[int, int]]:
    return lambda row: row.sums.pauses.get(pk, (0, 0))
