from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from callcentre.core.times import zone
from webhooks.event_types import EventType

# The upper bits of an advisory lock's key; the lower ones hold the id that the locking transaction cannot be below.
LOCK_SPACE = 0x6C65 << 48
LOCK_MASK = (1 << 48) - 1


def message(
    action: str, created_at: datetime, fields: Mapping[str, Any], event_id: UUID, sequence: int
) -> dict[str, Any]:
    """What a receiver is told: flat, and the same at every attempt."""
    date = created_at.astimezone(zone()).isoformat(" ", "seconds")[:19]
    return {"action": action, "date": date, **fields, "event_id": str(event_id), "sequence": sequence}


class EventQuerySet(models.QuerySet["Event"]):
    def settled(self) -> "EventQuerySet":
        """Those that no running transaction can still precede: whoever has read them in order has missed none.

        Ids are given out in order but committed out of order. Each transaction that records events first takes a
        shared lock that names an id it will not be below (outbox.record). We look at the last id given out, then at
        the locks, then at the events: an id given out before has committed by then, or its transaction holds a lock.
        """
        with connection.cursor() as cursor:
            cursor.execute("SELECT last_value FROM webhooks_event_id_seq")
            last = cursor.fetchone()[0]
            cursor.execute(
                "SELECT min((classid::bigint << 32 | objid::bigint) & %s) FROM pg_locks"
                " WHERE locktype = 'advisory' AND objsubid = 1 AND database ="
                " (SELECT oid FROM pg_database WHERE datname = current_database())"
                " AND (classid::bigint << 32 | objid::bigint) & ~%s::bigint = %s",
                [LOCK_MASK, LOCK_MASK, LOCK_SPACE],
            )
            oldest = cursor.fetchone()[0]
        return self.filter(pk__lte=last if oldest is None else min(last, oldest))

    def after(self, event_id: int) -> "EventQuerySet":
        return self.filter(pk__gt=event_id).order_by("id")


class Event(models.Model):
    """Something that happened, written in the transaction of the change itself; frozen from then on.

    The id is also the `sequence` that receivers order by: it only grows per subject, because the verb has locked the
    subject's row before. `payload` holds the event's own fields; action, date and ids are added when it is sent.
    """

    # Also the `webhook-id` of its deliveries.
    event_id = models.UUIDField(_("event id"), unique=True)
    action = models.CharField(_("action"), max_length=50, choices=EventType)
    # What it happened to, such as "record:1204"; nothing but a label to search by.
    subject = models.CharField(_("subject"), max_length=80)
    payload = models.JSONField(_("payload"))
    created_at = models.DateTimeField(_("date"), db_default=Now(), editable=False)

    objects = EventQuerySet.as_manager()

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["subject", "id"], name="event_subject"),
            models.Index(fields=["action", "id"], name="event_action"),
            # Retention: finds the last event that is old enough.
            models.Index(fields=["created_at"], name="event_created_at"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"

    @property
    def message(self) -> dict[str, Any]:
        return message(self.action, self.created_at, self.payload, self.event_id, self.pk)
