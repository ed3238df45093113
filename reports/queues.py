"""The report by queue: the inbound calls of each queue, by the period in which they came.

A call counts as on the overview (telephony.inbound_day): in the queue that it was in last. It is abandoned if the
caller hung up before an agent answered. A call that overflowed, that waits, or whose caller is called back, is neither
answered nor abandoned. A call-back counts in the period in which it was asked for, a missed caller when the call ended.
"""

from dataclasses import dataclass
from operator import attrgetter as of

from django.utils.translation import gettext_lazy as _

from reports.counting import Counting, Source, SubjectRow, figure, in_span
from reports.figures import mean, percent
from reports.measures import COUNT, PERCENT, SECONDS, TEXT, Measure
from telephony.models import Connection

# All results are named so that the index by direction and result finds the calls of the span.
_RESULTS = ", ".join(f"'{result}'" for result in ["", *Connection.Disposition.values])
_CALLS = f"c.direction = 'INBOUND' AND c.disposition IN ({_RESULTS}) AND {in_span('c.created_at', 'c.queue_id')}"


def _source(*joins: str) -> Source:
    """Build a source of calls, joined with rows of other tables."""
    return Source(" ".join(["telephony_connection c", *joins]), "c.queue_id", "c.created_at", _CALLS)


_SOURCES = {
    "calls": _source(),
    # Talks of the agents, holding included.
    "talks": _source("JOIN telephony_offer o ON o.connection_id = c.id AND o.answered_at IS NOT NULL"),
    # Behind a fence: the planner would rather read all calls in the order of their ids.
    "wrap_ups": _source(
        "CROSS JOIN LATERAL (SELECT started_at, ended_at FROM telephony_agentstate"
        " WHERE connection_id = c.id AND kind = 'wrap_up' OFFSET 0) s"
    ),
    "callbacks": Source("telephony_callback b", "b.queue_id", "b.created_at", in_span("b.created_at", "b.queue_id")),
    "missed": Source("telephony_missedcaller m", "m.queue_id", "m.missed_at", in_span("m.missed_at", "m.queue_id")),
}
# A caller who waits has waited until now.
_WAIT = """(c.wait_seconds + CASE WHEN c.state = 'waiting'
  THEN GREATEST(floor(date_part('epoch', %(now)s - c.waiting_since)), 0) ELSE 0 END)::bigint"""


def _length(row: str, start: str) -> str:
    return f"sum(GREATEST(floor(date_part('epoch', COALESCE({row}.ended_at, %(now)s) - {row}.{start})), 0))::bigint"


@dataclass(slots=True)
class QueueRow(SubjectRow):
    """The calls of a queue that came in a period."""

    offered: int = figure(calls="count(*)")
    answered: int = figure(calls="count(c.answered_at)")
    abandoned: int = figure(
        calls="count(*) FILTER (WHERE c.answered_at IS NULL AND c.state = 'ended' AND c.hung_up_by = 'customer')"
    )
    in_time: int = figure(calls="count(*) FILTER (WHERE c.answered_at IS NOT NULL AND c.wait_seconds <= %(within)s)")
    wait_seconds: int = figure(calls=f"sum({_WAIT})::bigint")
    wait_max: int = figure("COALESCE(max({r}), 0)::bigint", calls=f"max({_WAIT})")
    talk_seconds: int = figure(talks=_length("o", "answered_at"))
    wrap_up_seconds: int = figure(wrap_ups=_length("s", "started_at"))
    callbacks: int = figure(callbacks="count(*)")
    callbacks_answered: int = figure(callbacks="count(*) FILTER (WHERE b.disposition = 'ANSWERED')")
    callback_seconds: int = figure(callbacks="(sum(b.wait_seconds) FILTER (WHERE b.disposition = 'ANSWERED'))::bigint")
    missed: int = figure(missed="count(*)")
    missed_unanswered: int = figure(missed="count(*) FILTER (WHERE m.answered_by_id IS NULL)")

    @property
    def service_level(self) -> float | None:
        """The share of calls answered in time among those answered or abandoned, as on the overview."""
        return percent(self.in_time, self.answered + self.abandoned)

    @property
    def wait_average(self) -> int:
        return mean(self.wait_seconds, self.offered)

    @property
    def callback_average(self) -> int:
        return mean(self.callback_seconds, self.callbacks_answered)

    @property
    def talk_average(self) -> int:
        return mean(self.talk_seconds, self.answered)

    @property
    def handle_seconds(self) -> int:
        return self.talk_seconds + self.wrap_up_seconds

    @property
    def handle_average(self) -> int:
        return mean(self.handle_seconds, self.answered)


COUNTING = Counting(QueueRow, _SOURCES)
_CALLS_TITLE, _WAITS, _HANDLING, _LATER = _("Calls"), _("Waiting"), _("Handling"), _("Call-backs")
FIXED = [
    Measure("queue_id", "", _("Queue id"), COUNT, lambda row: row.subject["id"], 3, "The queue."),
    Measure("queue_name", "", _("Queue"), TEXT, lambda row: row.subject["name"], "Sales", "Its name."),
    Measure("period", "", _("Period"), TEXT, of("period"), "2026-11", "The period."),
]
# fmt: off
MEASURES = [
    Measure("offered", _CALLS_TITLE, _("offered"), COUNT, of("offered"), 120,
            "Inbound calls of the queue that came in the period."),
    Measure("answered", _CALLS_TITLE, _("answered"), COUNT, of("answered"), 108,
            "Those that an agent answered."),
    Measure("abandoned", _CALLS_TITLE, _("abandoned"), COUNT, of("abandoned"), 12,
            "Those whose caller hung up before an answer."),
    Measure("answered_in_threshold", _CALLS_TITLE, _("answered in time"), COUNT, of("in_time"), 97,
            "Those that an agent answered within `answered_within` seconds of waiting."),
    Measure("service_level", _CALLS_TITLE, _("service level in per cent"), PERCENT, of("service_level"), 80.83,
            "Answered in time ÷ (answered + abandoned), in per cent; null without any.", may_be_none=True),
    Measure("wait_average", _WAITS, _("average wait"), SECONDS, of("wait_average"), 14,
            "Seconds of waiting ÷ offered."),
    Measure("wait_max", _WAITS, _("longest wait"), SECONDS, of("wait_max"), 95,
            "Seconds of the longest wait."),
    Measure("wait_sum", _WAITS, _("all waits"), SECONDS, of("wait_seconds"), 1680, is_usual=False, in_api=False),
    Measure("talk_average", _HANDLING, _("average talk"), SECONDS, of("talk_average"), 185,
            "Seconds of talk of agents, holding included, ÷ answered."),
    Measure("handle_average", _HANDLING, _("average handle time"), SECONDS, of("handle_average"), 201,
            "Seconds of talk and of wrap-up after it ÷ answered."),
    Measure("callbacks", _LATER, _("call-backs"), COUNT, of("callbacks"), 9,
            "Call-backs that were asked for in the period, by callers or clients."),
    Measure("callbacks_answered", _LATER, _("call-backs answered"), COUNT, of("callbacks_answered"), 7,
            "Those in which an agent talked with the person."),
    Measure("callback_wait_average", _LATER, _("average wait for a call-back"), SECONDS, of("callback_average"), 340,
            "Seconds from the start of the wait until an agent talked with the person ÷ call-backs answered."),
    Measure("missed", _LATER, _("missed callers"), COUNT, of("missed"), 11,
            "Calls that ended in the period without an agent and without a call-back."),
    Measure("missed_unanswered", _LATER, _("missed without an answer"), COUNT, of("missed_unanswered"), 3,
            "Those with whose number no agent has talked since."),
    Measure("talk_sum", _HANDLING, _("talk time"), SECONDS, of("talk_seconds"), 19_980, is_usual=False, in_api=False),
    Measure("wrap_up", _HANDLING, _("wrap-up"), SECONDS, of("wrap_up_seconds"), 1728, is_usual=False, in_api=False),
]
# fmt: on
