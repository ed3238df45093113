"""The events of alarms, recorded in the transaction of the change while the alarm is locked."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from webhooks import outbox
from webhooks.event_types import EventType

if TYPE_CHECKING:
    from callcentre.overview.models import Alarm


def alarms_raised(alarms: "Iterable[Alarm]") -> None:
    _record(EventType.ALARM_RAISED, alarms)


def alarms_cleared(alarms: "Iterable[Alarm]") -> None:
    _record(EventType.ALARM_CLEARED, alarms)


def _record(action: EventType, alarms: "Iterable[Alarm]") -> None:
    outbox.record_many(
        action,
        [
            (
                f"alarm:{alarm.pk}",
                {
                    "alarm_id": alarm.pk,
                    "name": alarm.name,
                    "subject": alarm.subject,
                    "value": alarm.value,
                    "limit": alarm.limit,
                },
            )
            for alarm in alarms
        ],
    )
