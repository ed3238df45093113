"""The quality of calls at phones in browsers, added up with each report of a window."""

from collections.abc import Sequence
from typing import Any

import orjson

from callcentre.core.statements import rows_of
from telephony.models import Agent, Connection
from telephony.models.agent_intervals import StateKind
from telephony.verbs import ledger

# The most reports of one request, and the highest values that are kept: per cent, milliseconds.
MOST = 20
HIGHEST = (100.0, 60_000.0, 60_000.0)
Report = tuple[float, float, float | None]

_ADD = """
INSERT INTO telephony_callquality AS q
  (connection_id, agent_id, reports, loss, loss_worst, jitter, jitter_worst, round_trip, round_trip_worst)
SELECT %(connection)s, %(agent)s, count(*), avg(loss), max(loss), avg(jitter), max(jitter), avg(trip), max(trip)
FROM unnest(%(loss)s::float8[], %(jitter)s::float8[], %(trip)s::float8[]) AS report (loss, jitter, trip)
ON CONFLICT (connection_id, agent_id) DO UPDATE SET
  reports = q.reports + excluded.reports,
  loss = (q.loss * q.reports + excluded.loss * excluded.reports) / (q.reports + excluded.reports),
  loss_worst = GREATEST(q.loss_worst, excluded.loss_worst),
  jitter = (q.jitter * q.reports + excluded.jitter * excluded.reports) / (q.reports + excluded.reports),
  jitter_worst = GREATEST(q.jitter_worst, excluded.jitter_worst),
  round_trip = COALESCE(
    (q.round_trip * q.reports + excluded.round_trip * excluded.reports) / (q.reports + excluded.reports),
    q.round_trip, excluded.round_trip),
  round_trip_worst = GREATEST(q.round_trip_worst, excluded.round_trip_worst)
RETURNING q.id
"""


def talk_of(agent: Agent) -> Connection | None:
    """Return the call in which the agent's phone talks now."""
    call = ledger.call_on_phone(agent.pk)
    if call is None or call.connection_id is None or call.kind != StateKind.TALKING:
        return None
    return Connection.objects.filter(pk=call.connection_id, state=Connection.State.TALKING).first()


def read_reports(text: str) -> list[Report]:
    """Read a JSON list of [loss in per cent, jitter in ms, round trip in ms or null]. Raises ValueError."""
    given = orjson.loads(text or "[]")
    if not isinstance(given, list) or len(given) > MOST:
        raise ValueError("no list of reports")
    return [_report(one) for one in given]


def _report(given: Any) -> Report:
    if not isinstance(given, list) or len(given) != len(HIGHEST):
        raise ValueError("no report")
    loss, jitter, trip = map(_bounded, given, HIGHEST)
    if loss is None or jitter is None:
        raise ValueError("no loss or jitter")
    return loss, jitter, trip


def _bounded(value: Any, highest: float) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float):
        raise ValueError("no number")
    return min(max(float(value), 0.0), highest)


def add(connection: Connection, agent: Agent, reports: Sequence[Report]) -> None:
    """Add reports of the agent's window to the quality of the call."""
    loss, jitter, trip = (list(values) for values in zip(*reports, strict=True))
    of_call = {"connection": connection.pk, "agent": agent.pk}
    rows_of(_ADD, {**of_call, "loss": loss, "jitter": jitter, "trip": trip})
