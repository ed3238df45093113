"""The columns of a table of the report: those of the API under its names, and further ones."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.times import second
from reports.figures import Line, clock, mean, per_hour
from telephony.models import Pause


class Kind(Enum):
    """How a value is written: as text, a whole number, seconds, a number, per cent, or an instant."""

    TEXT = "text"
    COUNT = "count"
    DURATION = "duration"
    NUMBER = "number"
    PERCENT = "percent"
    MOMENT = "moment"


Value = str | int | float | datetime | None


@dataclass(frozen=True)
class Column:
    name: str
    group: Any
    label: Any
    kind: Kind
    value: Callable[[Line], Value]
    # Is in a table for which nobody has chosen columns.
    is_usual: bool = True

    @property
    def title(self) -> str:
        return f"{self.group}: {self.label}" if self.group else str(self.label)

    def text(self, line: Line) -> str:
        """As the API writes it; per cent without their sign; nothing for None."""
        return text_of(self.kind, self.value(line))


def text_of(kind: Kind, value: Any) -> str:
    if value is None:
        return ""
    match kind:
        case Kind.DURATION:
            return clock(value)
        case Kind.MOMENT:
            return second(value)
        case Kind.NUMBER | Kind.PERCENT:
            return f"{value:.2f}"
    return str(value)


_INBOUND, _CHATS, _TICKETS = _("Inbound calls"), _("Chats"), _("Tickets")
_ABOVE, _BELOW = _("Outbound above the threshold"), _("Outbound up to the threshold")
_LOGIN, _PAUSES, _FREE, _WORK = pgettext_lazy("being logged in", "Login"), _("Pauses"), _("Ready"), _("Work")
_COUNT, _TIME, _AVERAGE = pgettext_lazy("how many", "number"), pgettext_lazy("for how long", "time"), _("average")
REASONS = "pauses.reasons"


def _calls(name: str, group: Any, of: Callable[[Line], tuple[int, int]]) -> list[Column]:
    return [
        Column(f"{name}.count", group, _COUNT, Kind.COUNT, lambda line: of(line)[0]),
        Column(f"{name}.sum", group, _TIME, Kind.DURATION, lambda line: of(line)[1]),
        Column(f"{name}.average", group, _AVERAGE, Kind.DURATION, lambda line: mean(*reversed(of(line))), False),
    ]


_FIXED = [
    Column("agent.login", "", _("Login"), Kind.TEXT, lambda line: line.agent["login"]),
    Column("agent.name", "", pgettext_lazy("of a person", "Name"), Kind.TEXT, lambda line: line.agent["name"]),
    Column("agent.surname", "", _("Surname"), Kind.TEXT, lambda line: line.agent["surname"]),
    Column("period", "", _("Period"), Kind.TEXT, lambda line: line.period),
]
COLUMNS = [
    Column("inbound.count", _INBOUND, _("offered"), Kind.COUNT, lambda line: line.row.offered),
    Column("inbound.answered_count", _INBOUND, _("answered"), Kind.COUNT, lambda line: line.row.answered),
    Column("inbound.not_answered_count", _INBOUND, _("not answered"), Kind.COUNT, lambda line: line.row.not_answered),
    Column(
        "inbound.transferred_count", _INBOUND, _("transferred"), Kind.COUNT, lambda line: line.row.transferred, False
    ),
    Column("inbound.sum", _INBOUND, _("talk time"), Kind.DURATION, lambda line: line.row.talk_seconds),
    Column(
        "inbound.average",
        _INBOUND,
        _("average talk"),
        Kind.DURATION,
        lambda line: mean(line.row.talk_seconds, line.row.answered),
    ),
    Column("inbound.wait_sum", _INBOUND, _("waiting in s"), Kind.COUNT, lambda line: line.row.wait_seconds, False),
    Column(
        "inbound.wait_average",
        _INBOUND,
        _("average wait"),
        Kind.DURATION,
        lambda line: mean(line.row.wait_seconds, line.row.offered),
        False,
    ),
    Column(
        "inbound.calls_per_hour",
        _INBOUND,
        _("per hour"),
        Kind.NUMBER,
        lambda line: per_hour(line.row.answered, line.row.login_seconds),
        False,
    ),
    *_calls("outbound_above_threshold", _ABOVE, lambda line: line.calls_above),
    *_calls("outbound_below_threshold", _BELOW, lambda line: line.calls_below),
    Column("chat.closed", _CHATS, _("closed"), Kind.COUNT, lambda line: line.row.chats_closed),
    Column("chat.responded", _CHATS, _("written in"), Kind.COUNT, lambda line: line.row.chats_answered, False),
    Column("ticket.closed", _TICKETS, _("closed"), Kind.COUNT, lambda line: line.row.tickets_closed),
    Column("ticket.responded", _TICKETS, _("replied to"), Kind.COUNT, lambda line: line.row.tickets_answered),
    Column("ticket.total_responded", _TICKETS, _("replies"), Kind.COUNT, lambda line: line.row.replies, False),
    Column("login_date", _LOGIN, _("first"), Kind.MOMENT, lambda line: line.row.first_login_at, False),
    Column("logout_date", _LOGIN, _("last logout"), Kind.MOMENT, lambda line: line.logged_out_at, False),
    Column("login_sum", _LOGIN, _TIME, Kind.DURATION, lambda line: line.row.login_seconds),
    Column("pauses.all.count", _PAUSES, _COUNT, Kind.COUNT, lambda line: line.pauses[0]),
    Column("pauses.all.sum", _PAUSES, _TIME, Kind.DURATION, lambda line: line.pauses[1]),
    Column("pauses.all.average", _PAUSES, _AVERAGE, Kind.DURATION, lambda line: mean(*reversed(line.pauses)), False),
    Column("pauses.free.count", _FREE, _COUNT, Kind.COUNT, lambda line: line.row.free_count, False),
    Column("pauses.free.sum", _FREE, _TIME, Kind.DURATION, lambda line: line.row.free_seconds),
    # Further ones
    Column("talk_time", _WORK, _("talk time, in and out"), Kind.DURATION, lambda line: line.talk_seconds, False),
    Column("wrap_up", _WORK, _("wrap-up"), Kind.DURATION, lambda line: line.row.wrap_up_seconds),
    Column("handle_time", _WORK, _("handle time"), Kind.DURATION, lambda line: line.handle_seconds),
    Column(
        "average_handle_time", _WORK, _("average handle time"), Kind.DURATION, lambda line: line.average_handle_seconds
    ),
    Column("occupancy", _WORK, _("occupancy in per cent"), Kind.PERCENT, lambda line: line.occupancy),
    Column(
        "service_level", _INBOUND, _("service level in per cent"), Kind.PERCENT, lambda line: line.service_level, False
    ),
]
BY_NAME = {column.name: column for column in COLUMNS}
USUAL = [column.name for column in COLUMNS if column.is_usual]
# What can be chosen: each of the columns, and those of each reason of a pause together.
NAMES = [*BY_NAME, REASONS]
# Those for which more is asked than the report.
AVERAGE_HANDLE_TIME, SERVICE_LEVEL = "average_handle_time", "service_level"


def columns_of(names: Iterable[str]) -> list[Column]:
    """Agent and period, then these, in the order of the report, whichever order they are named in."""
    wanted = set(names)
    reasons = _of_reasons() if REASONS in wanted else []
    found = [*_FIXED]
    for column in COLUMNS:
        if column.name in wanted:
            found.append(column)
        if column.name == "pauses.free.sum":
            found += reasons
    return found


def _of_reasons() -> list[Column]:
    """The columns of each reason that there is, used or not: a table has the same ones for everybody."""
    found = []
    for pk, name in Pause.objects.order_by("pk").values_list("pk", "name"):
        found += _calls(f"pauses.{pk}", _("Pause %s") % name, _of_reason(pk))
    return found


def _of_reason(pk: int) -> Callable[[Line], tuple[int, int]]:
    return lambda line: line.row.pauses.get(pk, (0, 0))
