"""What others may hear of campaigns and their records: the payload and the recording of each event."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from callcentre.api.fields import minute
from webhooks import outbox
from webhooks.event_types import EventType


class RecordFacts(NamedTuple):
    """A record as an event tells of it."""

    id: int
    campaign_code: str
    phone_number: str
    system_status: str
    status_id: int | None
    next_call_at: datetime | None
    agent_login: str

    @property
    def event(self) -> tuple[str, dict[str, Any]]:
        return f"record:{self.id}", {
            "record_id": self.id,
            "outbound_id": self.campaign_code,
            "phone_number": self.phone_number,
            "system_status": self.system_status,
            "status_id": self.status_id,
            "next_call_date": minute(self.next_call_at) or None,
            "agent_login": self.agent_login or None,
        }


def campaign_created(code: str, name: str) -> None:
    outbox.record(EventType.OUTBOUND_CREATED, f"outbound:{code}", {"outbound_id": code, "name": name})


def records_created(records: Iterable[RecordFacts]) -> None:
    outbox.record_many(EventType.OUTBOUND_RECORD_CREATED, [record.event for record in records])


def statuses_changed(records: Iterable[RecordFacts]) -> None:
    outbox.record_many(EventType.OUTBOUND_RECORD_STATUS_CHANGED, [record.event for record in records])
