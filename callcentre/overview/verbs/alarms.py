"""Verbs that change the state of alarms."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.enqueue import enqueue
from callcentre.overview.models import Alarm, AlarmMail
from webhooks import outbox
from webhooks.event_types import EventType


def settle(alarms: Sequence[Alarm], values: Mapping[int, float | None], now: datetime) -> list[Alarm]:
    """Raise and clear locked alarms by the present values of their figures, and return those that have changed.

    None stands for a figure that is not watched at present: the queue is closed, or the alarm inactive. States, events
    and mails are written in the caller's transaction.
    """
    raised, cleared = list[Alarm](), list[Alarm]()
    for alarm in alarms:
        value = values[alarm.pk]
        is_beyond = value is not None and Alarm.Subject(alarm.subject).is_beyond(value, alarm.limit)
        if is_beyond == (alarm.raised_at is not None):
            continue
        alarm.raised_at, alarm.value = (now if is_beyond else None), value
        (raised if is_beyond else cleared).append(alarm)
    if changed := [*raised, *cleared]:
        Alarm.objects.bulk_update(changed, ["raised_at", "value"])
        for action, some in ((EventType.ALARM_RAISED, raised), (EventType.ALARM_CLEARED, cleared)):
            outbox.record_many(action, [(f"alarm:{alarm.pk}", _content(alarm)) for alarm in some])
        _write_mails(changed, now)
    return changed


def delete_alarm(alarm: Alarm) -> None:
    """Delete the alarm. A raised one is cleared first, so that receivers of events do not wait for its end."""
    with transaction.atomic():
        found = Alarm.objects.select_for_update(no_key=True).filter(pk=alarm.pk).first()
        if found is None:
            return
        if found.raised_at:
            settle([found], {found.pk: None}, timezone.now())
        found.delete()


def _content(alarm: Alarm) -> dict[str, Any]:
    return {"alarm_id": alarm.pk} | {name: getattr(alarm, name) for name in ("name", "subject", "value", "limit")}


def _write_mails(alarms: Iterable[Alarm], now: datetime) -> None:
    mails = [
        AlarmMail(
            alarm=alarm,
            recipient=recipient,
            is_raised=alarm.raised_at is not None,
            at=now,
            value=alarm.value,
            limit=alarm.limit,
        )
        for alarm in alarms
        if alarm.may_be_mailed
        for recipient in alarm.recipients
    ]
    for mail in AlarmMail.objects.bulk_create(mails):
        enqueue("overview.mail_alarm", mail.pk)
