from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups
from callcentre.core.statements import row_of
from callcentre.core.times import zone
from webhooks.event_types import event_choices

# The upper bits of an advisory lock's key. The lower bits hold a lower bound of the ids that the transaction gets.
LOCK_SPACE = 0x6C65 << 48
LOCK_MASK = (1 << 48) - 1


def message(
    action: str, created_at: datetime, fields: Mapping[str, Any], event_id: UUID, sequence: int
) -> dict[str, Any]:
    """Return the message to a receiver: flat, and the same at each attempt."""
    date = created_at.astimezone(zone()).isoformat(" ", "seconds")[:19]
    return {"action": action, "date": date, **fields, "event_id": str(event_id), "sequence": sequence}


class EventQuerySet(models.QuerySet["Event"]):
    def settled(self) -> "EventQuerySet":
        """Events before which no running transaction can still insert one, so that a reader in order misses none.

        Ids are assigned in order but committed out of order. Each transaction that records events first takes a shared
        lock, whose key holds a lower bound of its ids (outbox.record). This reads the last assigned id, then the locks,
        then the events: the transaction of an id assigned before has committed by then, or still holds its lock.
        """
        (last,) = row_of("SELECT last_value FROM webhooks_event_id_seq")
        (oldest,) = row_of(
            "SELECT min((classid::bigint << 32 | objid::bigint) & %s) FROM pg_locks"
            " WHERE locktype = 'advisory' AND objsubid = 1 AND database ="
            " (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND (classid::bigint << 32 | objid::bigint) & ~%s::bigint = %s",
            [LOCK_MASK, LOCK_MASK, LOCK_SPACE],
        )
        return self.filter(pk__lte=last if oldest is None else min(last, oldest))


class Event(models.Model):
    """Something that happened, recorded in the transaction of the change, and frozen.

    The id is also the `sequence` that receivers order by. It grows for each subject, because the verb has locked the
    subject's row before. `payload` holds the fields of the action; action, date and ids are added on sending.
    """

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    # The header `webhook-id` of its deliveries.
    event_id = models.UUIDField(_("event id"), unique=True)
    action = models.CharField(_("action"), max_length=50, choices=event_choices)
    # The subject, such as "record:1204": a label to search by.
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
            # Retention finds the last old event by it.
            models.Index(fields=["created_at"], name="event_created_at"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"

    @property
    def message(self) -> dict[str, Any]:
        return message(self.action, self.created_at, self.payload, self.event_id, self.pk)
