"""Phones in the browsers of agents: opened by their window, known to the switch, closed with the log-out.

The row is committed before the switch is asked. The switch keeps these phones in its memory, so the listener names them
again when it connects. A phone whose registration ends stays open, so that its window can register again.
"""

import logging
import secrets
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson
from django.db import transaction
from django.utils import timezone

from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.pubsub import publish
from callcentre.core.statements import rows_of
from telephony.calls import switch_requests
from telephony.models import Agent, BrowserPhone, Connection
from telephony.models.agent_intervals import StateKind
from telephony.switch.base import Switch, SwitchError
from telephony.verbs import ledger

logger = logging.getLogger(__name__)

_CLOSE_UNUSED = """
UPDATE telephony_browserphone phone SET closed_at = %(now)s, registered_at = NULL
FROM telephony_agent agent
WHERE phone.closed_at IS NULL AND agent.id = phone.agent_id AND (NOT agent.uses_browser_phone OR NOT EXISTS (
  SELECT FROM telephony_agentsession session WHERE session.agent_id = agent.id AND session.ended_at IS NULL))
RETURNING agent.number
"""


def open_phone(agent: Agent) -> BrowserPhone:
    """Open the phone for a window that replaces earlier ones, with a new password. Raises Conflict."""
    with transaction.atomic():
        if not ledger.lock(agent.pk).is_logged_in:
            raise Conflict(ErrorCode.AGENT_NOT_LOGGED_IN)
        if not agent.uses_browser_phone or not agent.number:
            raise Conflict(ErrorCode.AGENT_WITHOUT_BROWSER_PHONE)
        now, password = timezone.now(), secrets.token_urlsafe(24)
        values = {
            "token": uuid.uuid4(),
            "password": password,
            "opened_at": now,
            "seen_at": now,
            "registered_at": None,
            "closed_at": None,
            "trouble": "",
        }
        phone, _is_new = BrowserPhone.objects.update_or_create(agent=agent, defaults=values)
        switch_requests.send("add_phone", agent.number, password)
    return phone


def hear_of(agent: Agent, token: uuid.UUID, trouble: str) -> bool:
    """Store what the window reports. Return False if another window has the phone, or the agent has logged out."""
    current = BrowserPhone.objects.filter(agent=agent, token=token, closed_at=None)
    if current.exclude(trouble=trouble).update(trouble=trouble):
        publish("calls")
        publish("dialling")
    return bool(current.update(seen_at=timezone.now()))


def cannot_open(agent: Agent, trouble: str) -> None:
    """Store what a window lacks that cannot open the phone, unless the switch reaches another window."""
    now = timezone.now()
    if not BrowserPhone.objects.filter(agent=agent, registered_at=None).update(seen_at=now, trouble=trouble):
        unused = {"password": secrets.token_urlsafe(24), "opened_at": now, "seen_at": now, "closed_at": now}
        BrowserPhone.objects.get_or_create(agent=agent, defaults={**unused, "trouble": trouble})


def close_phone(agent: Agent, token: uuid.UUID) -> None:
    """Close the phone, if this window has it."""
    with transaction.atomic():
        current = BrowserPhone.objects.filter(agent=agent, token=token, closed_at=None)
        if current.update(closed_at=timezone.now(), registered_at=None):
            switch_requests.send("remove_phone", agent.number)


def close_unused(now: datetime) -> None:
    """Close the phones of agents who have logged out, or use another phone now."""
    for (number,) in rows_of(_CLOSE_UNUSED, {"now": now}):
        switch_requests.send("remove_phone", number)


def changed(number: str, at: datetime, *, is_online: bool) -> None:
    """Store that the switch reaches a phone, or does not any more."""
    phones = BrowserPhone.objects.filter(agent__number=number, closed_at=None)
    if phones.filter(registered_at__isnull=is_online).update(registered_at=at if is_online else None):
        publish("calls")
        publish("dialling")


def restore(switch: Switch) -> None:
    """Name the open phones to a switch that may have restarted, and store which of them it reaches."""
    phones = BrowserPhone.objects.filter(closed_at=None)
    try:
        for number, password in phones.values_list("agent__number", "password"):
            switch.add_phone(number, password)
        offline = switch.offline_phones() if phones.exists() else []
    except SwitchError as error:
        logger.warning("phones in browsers are not restored", extra={"error": str(error)})
        return
    phones.filter(registered_at=None).exclude(agent__number__in=offline).update(registered_at=timezone.now())
    phones.filter(agent__number__in=offline).update(registered_at=None)


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


def add_quality(connection: Connection, agent: Agent, reports: Sequence[Report]) -> None:
    loss, jitter, trip = (list(values) for values in zip(*reports, strict=True))
    of_call = {"connection": connection.pk, "agent": agent.pk}
    rows_of(_ADD, {**of_call, "loss": loss, "jitter": jitter, "trip": trip})
