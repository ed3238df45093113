"""The events of campaigns and records: their payloads, and the calls that record them."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from callcentre.core.times import minute, second, zone
from webhooks import outbox
from webhooks.event_types import EventType

if TYPE_CHECKING:
    from campaigns.models import Record

# The same in the database as `record_status_changed` says. {rows}: the facts and the position of each event.
_EVENTS = """
SELECT 'record:' || id, jsonb_build_object(
  'record_id', id, 'outbound_id', campaign_code, 'phone_number', phone_number, 'system_status', system_status,
  'status_id', status_id, 'next_call_date', to_char(next_call_at AT TIME ZONE %(zone)s, 'YYYY-MM-DD HH24:MI'),
  'agent_login', NULLIF(agent_login, ''))
FROM ({rows}) AS facts
ORDER BY position
"""
_CREATED = """
SELECT r.*, c.code AS campaign_code, a.login AS agent_login, given.position
FROM ({records}) AS given(id, position)
JOIN campaigns_record r ON r.id = given.id
JOIN campaigns_campaign c ON c.id = r.campaign_id
LEFT JOIN telephony_agent a ON a.id = r.agent_id
"""


def campaign_created(code: str, name: str) -> None:
    outbox.record(EventType.OUTBOUND_CREATED, f"outbound:{code}", {"outbound_id": code, "name": name})


def _record_from_query(
    action: EventType, changes: str, rows: str, parameters: Mapping[str, Any], result: str = "NULL"
) -> Any:
    """Make the changes, which are WITH queries, and record an event for each of the rows that are selected of them.

    Return the value of the expression `result`, which may read these queries too.
    """
    values = {**parameters, "zone": zone().key}
    return outbox.record_from_query(action, _EVENTS.format(rows=rows), values, changes=changes, result=result)


records_created_by = partial(_record_from_query, EventType.OUTBOUND_RECORD_CREATED)
statuses_changed_by = partial(_record_from_query, EventType.OUTBOUND_RECORD_STATUS_CHANGED)


def records_created_in_bulk(records: str) -> None:
    """Record an event for each record of a query that selects ids and positions; events are in the order of these."""
    records_created_by("", _CREATED.format(records=records), {})


def record_status_changed(record: "Record") -> None:
    payload = {
        "record_id": record.pk,
        "outbound_id": record.campaign.code,
        "phone_number": record.phone_number,
        "system_status": record.system_status,
        "status_id": record.status_id,
        "next_call_date": minute(record.next_call_at) or None,
        "agent_login": record.agent.login if record.agent else None,
    }
    outbox.record(EventType.OUTBOUND_RECORD_STATUS_CHANGED, f"record:{record.pk}", payload)


def record_offered(record_id: int, campaign_code: str, agent_login: str, expires_at: datetime) -> None:
    payload = {
        "outbound_id": campaign_code,
        "record_id": record_id,
        "agent_login": agent_login,
        "expires_at": second(expires_at),
    }
    outbox.record(EventType.RECORD_OFFERED, f"record:{record_id}", payload)


def record_dropped(record_id: int, campaign_code: str, connection_uid: str) -> None:
    payload = {"outbound_id": campaign_code, "record_id": record_id, "connection_id": connection_uid}
    outbox.record(EventType.RECORD_DROPPED, f"record:{record_id}", payload)
