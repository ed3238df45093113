"""The tickets of messages that callers have left. Each message gets one, once its recording is stored or lost."""

import logging

from django.db import transaction
from django.urls import reverse

from callcentre.core.errors import Invalid
from telephony.customers import CallersMessage, open_ticket
from telephony.models import CallerMessage, Recording

logger = logging.getLogger(__name__)

# In a shorter recording nothing was said.
LEAST_SECONDS = 2
AT_ONCE = 100
_OVER = (Recording.State.READY, Recording.State.FAILED, Recording.State.REMOVED)


def open_tickets(recording_id: int | None = None) -> None:
    """Open the tickets that are due; of one recording only, if it is given."""
    due = CallerMessage.objects.filter(is_due=True, recording__state__in=_OVER)
    if recording_id:
        due = due.filter(pk=recording_id)
    for pk in due.values_list("pk", flat=True)[:AT_ONCE]:
        try:
            _open(pk)
        except Invalid as error:
            logger.warning("a message has no ticket yet", extra={"recording": pk, "error": str(error)})


@transaction.atomic
def _open(pk: int) -> None:
    locked = CallerMessage.objects.select_for_update(of=("self",), skip_locked=True).filter(pk=pk, is_due=True)
    message = locked.select_related("recording__connection__queue").first()
    if message is None:
        return
    recording, message.is_due = message.recording, False
    connection, queue = recording.connection, recording.connection.queue
    is_said = recording.seconds >= LEAST_SECONDS or recording.state == Recording.State.FAILED
    if is_said and queue and queue.voicemail_ticket_queue_id:
        content = CallersMessage(
            number=connection.src,
            customer_id=connection.customer_id,
            queue=queue.name,
            at=recording.started_at,
            seconds=round(recording.seconds),
            path=reverse("admin:telephony_connection_change", args=[connection.pk]),
        )
        message.ticket_id = open_ticket(content, queue.voicemail_ticket_queue_id)
    message.save(update_fields=["is_due", "ticket_id"])
