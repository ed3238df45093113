"""The watch of alarms: it reads the figures of all alarms, raises or clears those beyond their limit, and mails."""

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from callcentre.core.mail_outbox import Letter, Outbox
from callcentre.core.times import second
from callcentre.overview.models import Alarm, AlarmMail
from callcentre.overview.verbs.alarms import settle
from campaigns.dialling import trunk
from campaigns.dialling.day_counts import days_of
from telephony import queue_waits
from telephony.models import Queue
from telephony.queue_waits import Situation

Subject = Alarm.Subject


def set_alarm_of_trunk() -> None:
    """Set an alarm when the trunk first fails, as no person may have done so. It may be changed, or made inactive."""
    if trunk.present_failure() and not Alarm.objects.filter(subject=Subject.TRUNK_FAILED).exists():
        alarm = Alarm(name="Trunk", subject=Subject.TRUNK_FAILED, limit=0, sounds=True)
        Alarm.objects.bulk_create([alarm], ignore_conflicts=True)


def watch() -> int:
    """Bring the states of all alarms up to date, and return how many have changed.

    An alarm that another worker holds is left out: that worker decides about it, and its row has the new state before
    it is free again. A worker that dies leaves no part of the change behind.
    """
    with transaction.atomic():
        # Of inactive alarms, those that are raised may change too.
        watched = Alarm.objects.filter(Q(is_active=True) | Q(raised_at__isnull=False)).order_by("pk")
        alarms = list(watched.select_for_update(skip_locked=True, no_key=True))
        if not alarms:
            return 0
        now = timezone.now()
        return len(settle(alarms, values_of(alarms, now), now))


def values_of(alarms: Sequence[Alarm], now: datetime) -> dict[int, float | None]:
    """Return the present figure of each alarm, or None for one that is not watched at present."""
    active = [alarm for alarm in alarms if alarm.is_active]
    situations = queue_waits.situations({alarm.queue_id for alarm in active if alarm.queue_id is not None})
    days = days_of({alarm.campaign_id for alarm in active if alarm.campaign_id is not None}, now)
    open_ids = _open_queues([alarm for alarm in active if alarm.subject == Subject.QUEUE_FREE_AGENTS], now)
    values: dict[int, float | None] = dict.fromkeys(alarm.pk for alarm in alarms)
    for alarm in active:
        if alarm.queue_id is not None:
            values[alarm.pk] = _of_queue(alarm.subject, situations[alarm.queue_id], now, alarm.queue_id in open_ids)
        elif alarm.subject == Subject.CAMPAIGN_DROP_RATE and alarm.campaign_id is not None:
            values[alarm.pk] = days[alarm.campaign_id][0].drop_rate
        elif alarm.subject == Subject.TRUNK_FAILED:
            failure = trunk.present_failure()
            values[alarm.pk] = max((now - failure.began_at).total_seconds(), 0.001) if failure else 0.0
    return values


def _of_queue(subject: str, situation: Situation, now: datetime, is_open: bool) -> float | None:
    match subject:
        case Subject.QUEUE_WAIT:
            since = situation.longest_since
            return max((now - since).total_seconds(), 0.0) if since else 0.0
        case Subject.QUEUE_CALLERS:
            return situation.waiting
        case Subject.QUEUE_FREE_AGENTS if is_open:
            return situation.free
    return None


def _open_queues(alarms: Sequence[Alarm], now: datetime) -> set[int]:
    """Return the queues of these alarms that take calls now: others need no agents."""
    if not alarms:
        return set()
    queues = Queue.objects.filter(alarms__in=alarms).prefetch_related("opening_hours")
    return {queue.pk for queue in queues if queue.is_open(now)}


def _letters(mail: AlarmMail) -> list[Letter]:
    alarm = mail.alarm
    title = _("Alarm: %(name)s") if mail.is_raised else _("Alarm is over: %(name)s")
    lines = [
        f"{alarm.place}: {Alarm.Subject(alarm.subject).sentence(mail.limit)}",
        *([_("Value: %(value)s") % {"value": f"{mail.value:g}"}] if mail.value is not None else []),
        _("Time: %(time)s") % {"time": second(mail.at)},
    ]
    if settings.PUBLIC_URL:
        lines.append(settings.PUBLIC_URL + reverse("admin:index"))
    return [Letter(mail.recipient, title % {"name": alarm.name}, lines)]


outbox = Outbox(
    AlarmMail,
    compose=_letters,
    language=attrgetter("alarm.language"),
    written_at=attrgetter("at"),
    related=["alarm__queue", "alarm__campaign"],
)
