"""A person decides about a message that did not go out."""

from django.db import transaction
from django.utils import timezone

from callcentre.actor import Actor
from callcentre.errors import Conflict, ErrorCode
from callcentre.models import actor_columns
from callcentre.wake import wake
from tickets.models.mail import Dispatch
from tickets.models.ticket import TicketChange


def send_again(actor: Actor, dispatch: Dispatch) -> None:
    """Queue a message that has failed, or whose outcome nobody knows: at once, with all its attempts before it.

    Raises Conflict for one that is on its way or has arrived. Where it had arrived unknown to us, the customer has it
    twice: with one Message-ID, by which his program may tell.
    """
    with transaction.atomic():
        now = timezone.now()
        failed = Dispatch.objects.filter(pk=dispatch.pk, state=Dispatch.State.FAILED)
        queued = failed.update(
            state=Dispatch.State.QUEUED,
            attempt_count=0,
            next_attempt_at=now,
            begun_at=None,
            is_unknown=False,
            error="",
        )
        if not queued:
            raise Conflict(ErrorCode.NOT_FAILED)
        TicketChange.objects.create(
            ticket_id=dispatch.message.ticket_id,
            action="send_again",
            changes={"message": [None, dispatch.message_id]},
            **actor_columns(actor),
        )
        wake("tickets.dispatch", dispatch.pk)
