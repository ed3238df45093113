"""The published measures of the report: one table, from which the API, the exports and the admin take theirs.

Definitions of the measures that only tables have are in docs/reports.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from math import isinf
from operator import attrgetter as of
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.exporting.formats import Unit
from callcentre.core.times import second, spell_length, zone
from reports.figures import Row, mean, percent
from telephony.models import Pause


# Cached: a page of the API has 1,700 of them, and nine hours have no more than these.
@lru_cache(maxsize=32_768)
def clock(seconds: int | None) -> str:
    """Spell a duration `hh:mm:ss`, or "" for None; hours grow past 99."""
    return "" if seconds is None else f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _moment(epoch: float | None) -> datetime | None:
    """Return an instant; None where there is none, or where it is infinite because a session goes on."""
    return None if epoch is None or isinf(epoch) else datetime.fromtimestamp(epoch, zone())


_SPELLED: dict[Unit, Callable[[Any], str]] = {Unit.DURATION: clock, Unit.MOMENT: second}
Value = str | int | float | datetime | list[dict[str, Any]] | None


@dataclass(frozen=True)
class Measure:
    """A published figure: a column of tables, and a field of the API where `in_api`, under the same name."""

    name: str
    group: Any
    label: Any
    unit: Unit
    value: Callable[[Any], Value]
    example: Any = 0
    sentence: str = ""
    # Shown in tables without chosen columns.
    is_usual: bool = True
    in_api: bool = True
    # The value is None where there is nothing to divide, or nothing to name.
    may_be_none: bool = False
    # The parts to which its cells lead, of a figure that no single list holds: a sum over several lists, a quotient.
    parts: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.group}: {self.label}" if self.group else str(self.label)

    @cached_property
    def wire(self) -> Callable[[Any], Any]:
        """The function that returns the value as JSON has it."""
        value: Callable[[Any], Any] = self.value
        spell = _SPELLED.get(self.unit)
        return (lambda row: spell(value(row))) if spell else value

    @property
    def width(self) -> int:
        return 19 if self.unit in (Unit.TEXT, Unit.MOMENT, Unit.COUNTS) else 13

    def cell(self, row: Any) -> tuple[Unit, Any]:
        return self.unit, self.text(row) if self.unit is Unit.COUNTS else self.value(row)

    def text(self, row: Any) -> str:
        """Spell the value as the API does; per cent without their sign; nothing for None."""
        value = self.wire(row)
        if value is None:
            return ""
        if self.unit is Unit.COUNTS:
            # A total has results of several campaigns, whose statuses may have the same name.
            counts = Counter[str]()
            for entry in value:
                counts[entry["name"]] += entry["count"]
            return ", ".join(f"{name}: {count}" for name, count in counts.items())
        return f"{value:.2f}" if self.unit in (Unit.NUMBER, Unit.PERCENT) else str(value)

    def shown(self, row: Any) -> str:
        """Spell the value for people: lengths as on all pages, per cent with their sign, a dash for None."""
        if self.unit in (Unit.SECONDS, Unit.DURATION):
            seconds: Any = self.value(row)
            return "–" if seconds is None else spell_length(seconds)
        text = self.text(row) or "–"
        return f"{text} %" if self.unit is Unit.PERCENT and text != "–" else text


_INBOUND, _CHATS, _TICKETS = _("Inbound calls"), _("Chats"), _("Tickets")
_ABOVE, _BELOW = _("Outbound above the threshold"), _("Outbound up to the threshold")
_LOGIN, _PAUSES, _FREE, _WORK = pgettext_lazy("being logged in", "Login"), _("Pauses"), _("Ready"), _("Work")
_COUNT, _TIME, _AVERAGE = pgettext_lazy("how many", "number"), pgettext_lazy("for how long", "time"), _("average")
REASONS = "pauses.reasons"
TEXT, COUNT, DURATION, SECONDS, NUMBER, PERCENT, MOMENT, COUNTS = Unit


def counted(
    name: str,
    group: Any,
    count: Callable[[Row], int],
    seconds: Callable[[Row], int],
    examples: tuple[int, int] = (0, 0),
    *,
    in_api: bool = True,
    is_usual: bool = True,
) -> list[Measure]:
    """Build the three measures of things that are counted and last: how many, how long, the average."""
    return [
        Measure(f"{name}.count", group, _COUNT, COUNT, count, examples[0],
                "How many began in the period.", is_usual=is_usual, in_api=in_api),
        Measure(f"{name}.sum", group, _TIME, DURATION, seconds, examples[1],
                "Their talk time in the period.", is_usual=is_usual, in_api=in_api),
        Measure(f"{name}.average", group, _AVERAGE, DURATION, lambda row: mean(seconds(row), count(row)),
                mean(*reversed(examples)), "Sum ÷ count.", is_usual=False, in_api=in_api,
                parts=(f"{name}.sum", f"{name}.count")),
    ]  # fmt: skip


_TALK = ("inbound.sum", "outbound_above_threshold.sum", "outbound_below_threshold.sum")
# The columns that every table begins with.
FIXED = [
    Measure("agent.login", "", _("Login"), TEXT, lambda row: row.agent["login"], "agent1"),
    Measure("agent.name", "", pgettext_lazy("of a person", "Name"), TEXT, lambda row: row.agent["name"], "Anna"),
    Measure("agent.surname", "", _("Surname"), TEXT, lambda row: row.agent["surname"], "Nowak"),
    Measure("period", "", _("Period"), TEXT, of("period"), "2026-11"),
]
# fmt: off
MEASURES = [
    Measure("inbound.count", _INBOUND, _("offered"), COUNT, of("offered"), 40,
            "Offers that began in the period."),
    Measure("inbound.answered_count", _INBOUND, _("answered"), COUNT, of("answered"), 34,
            "Offers that the agent answered."),
    Measure("inbound.not_answered_count", _INBOUND, _("not answered"), COUNT, of("not_answered"), 6,
            "Offers that ended without an answer."),
    Measure("inbound.transferred_count", _INBOUND, _("transferred"), COUNT, of("transferred"), 2,
            "Offers whose call the agent transferred.", is_usual=False),
    Measure("inbound.sum", _INBOUND, _("talk time"), DURATION, of("talk_seconds"), 8160,
            "The agent's talk time in the period."),
    Measure("inbound.average", _INBOUND, _("average talk"), DURATION,
            lambda row: mean(row.talk_seconds, row.answered), 240, "Sum ÷ answered.",
            parts=("inbound.sum", "inbound.answered_count")),
    Measure("inbound.wait_sum", _INBOUND, _("waiting in s"), COUNT, of("wait_seconds"), 280,
            "Seconds for which callers waited for the agent to answer.", is_usual=False),
    Measure("inbound.wait_average", _INBOUND, _("average wait"), DURATION,
            lambda row: mean(row.wait_seconds, row.offered), 7, "Wait ÷ offers.", is_usual=False,
            parts=("inbound.wait_sum", "inbound.count")),
    Measure("inbound.calls_per_hour", _INBOUND, _("per hour"), NUMBER,
            lambda row: mean(360_000 * row.answered, row.login_seconds) / 100, 4.25,
            "Answered ÷ logged-in hours of the period; 0 without a login.", is_usual=False,
            parts=("inbound.answered_count", "login_sum")),
    *counted("outbound_above_threshold", _ABOVE, lambda row: row.calls - row.calls_below,
             lambda row: row.calls_seconds - row.calls_below_seconds, (12, 3600)),
    # Without a threshold there are none.
    *counted("outbound_below_threshold", _BELOW, of("calls_below"), of("calls_below_seconds"), (12, 0), is_usual=False),
    Measure("chat.closed", _CHATS, _("closed"), COUNT, of("chats_closed"), 5,
            "Chats of the agent that were closed."),
    Measure("chat.responded", _CHATS, _("written in"), COUNT, of("chats_answered"), 6,
            "Chats in which the agent wrote.", is_usual=False),
    Measure("ticket.closed", _TICKETS, _("closed"), COUNT, of("tickets_closed"), 8,
            "Tickets that the agent closed."),
    Measure("ticket.responded", _TICKETS, _("replied to"), COUNT, of("tickets_answered"), 9,
            "Tickets that the agent replied to."),
    Measure("ticket.total_responded", _TICKETS, _("replies"), COUNT, of("replies"), 14,
            "Replies of the agent.", is_usual=False),
    Measure("login_date", _LOGIN, _("first"), MOMENT, lambda row: _moment(row.first_login_at), "2026-11-02 07:58:12",
            "When the first session began that touches the period; an empty string without one.", is_usual=False),
    Measure("logout_date", _LOGIN, _("last logout"), MOMENT, lambda row: _moment(row.last_logout_at),
            "2026-11-02 16:01:40", "When the last session ended; an empty string while the agent is logged in.",
            is_usual=False),
    Measure("login_sum", _LOGIN, _TIME, DURATION, of("login_seconds"), 28800,
            "Time logged in, in the period."),
    # The API has pauses as a list.
    *counted("pauses.all", _PAUSES, of("pause_count"), of("pause_seconds"), in_api=False),
    Measure("pauses.free.count", _FREE, _COUNT, COUNT, of("free_count"), is_usual=False, in_api=False),
    Measure("pauses.free.sum", _FREE, _TIME, DURATION, of("free_seconds"), in_api=False),
    Measure("talk_time", _WORK, _("talk time, in and out"), DURATION, of("talk_in_and_out"),
            is_usual=False, in_api=False, parts=_TALK),
    Measure("consultations.count", _WORK, _("consultations"), COUNT, of("consultations"), is_usual=False, in_api=False),
    Measure("consultations.sum", _WORK, _("consulted for"), DURATION, of("consulting_seconds"),
            is_usual=False, in_api=False),
    Measure("wrap_up", _WORK, _("wrap-up"), DURATION, of("wrap_up_seconds"), in_api=False),
    Measure("handle_time", _WORK, _("handle time"), DURATION, of("handle_seconds"), in_api=False,
            parts=(*_TALK, "wrap_up")),
    Measure("average_handle_time", _WORK, _("average handle time"), DURATION,
            of("handle_average"), in_api=False,
            parts=(*_TALK, "wrap_up", "inbound.answered_count", "talked_outbound")),
    Measure("occupancy", _WORK, _("occupancy in per cent"), PERCENT, of("occupancy"), in_api=False,
            parts=(*_TALK, "wrap_up", "pauses.free.sum")),
    Measure("service_level", _INBOUND, _("service level in per cent"), PERCENT,
            lambda row: percent(row.in_time, row.answered + row.not_answered), is_usual=False, in_api=False,
            parts=("in_time", "inbound.answered_count", "inbound.not_answered_count")),
]
# Parts of other measures, which have no column of their own.
PARTS = [
    Measure("in_time", _INBOUND, _("answered in time"), COUNT, of("in_time")),
    Measure("talked_outbound", _("Outbound calls"), _("talked"), COUNT, of("calls_talked")),
]
# fmt: on
USUAL = [measure.name for measure in MEASURES if measure.is_usual]
# The columns that can be chosen: each measure, and those of all reasons of pauses together.
NAMES = [*(measure.name for measure in MEASURES), REASONS]


def columns_of(names: Iterable[str]) -> list[Measure]:
    """Return agent, period and these columns, in the order of the report."""
    wanted, found = set(names), [*FIXED]
    for measure in MEASURES:
        if measure.name in wanted:
            found.append(measure)
        if measure.name == "pauses.free.sum" and REASONS in wanted:
            # Each reason that exists, used or not: a table has the same columns for every agent.
            for pk, reason in Pause.objects.order_by("pk").values_list("pk", "name"):
                found += counted(f"pauses.{pk}", _("Pause %s") % reason, _of_reason(pk, 0), _of_reason(pk, 1))
    return found


def _of_reason(pk: int, place: int) -> Callable[[Row], int]:
    return lambda row: row.pauses.get(pk, (0, 0))[place]
