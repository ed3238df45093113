"""The events of alarms, recorded in the transaction of the change while the alarm is locked."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from webhooks import outbox
from webhooks.event_types import EventType

if TYPE_CHECKING:
    from callcentre.overview.models import Alarm


def alarms_changed(action: EventType, alarms: "Iterable[Alarm]") -> None:
    """Record that the alarms are raised, or cleared."""
    names = ("name", "subject", "value", "limit")
    outbox.record_many(
        action,
        [
            (f"alarm:{alarm.pk}", {"alarm_id": alarm.pk, **{name: getattr(alarm, name) for name in names}})
            for alarm in alarms
        ],
    )
