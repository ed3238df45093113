"""Deletion of recordings, and of a customer's data in calls. The calls stay, because they count as agents' work."""

from collections import Counter
from collections.abc import Sequence

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from callcentre.core.actor import SYSTEM
from callcentre.core.deletions import Busy, Consequences, Deletion, Kind, Part, register
from callcentre.core.due_work import LEASE
from callcentre.core.file_removals import FileRemoval
from telephony import events, models
from telephony.customers import customers_of

# Calls of one step.
BATCH = 500
_REMOVABLE = ~Q(state=models.Recording.State.REMOVED)


def _consequences(recording: models.Recording) -> Consequences:
    found = Consequences([Part("telephony.recording", 1)])
    found.deleted.append(
        Part("telephony.transcription", models.Transcription.objects.filter(pk=recording.connection_id).count())
    )
    found.remarks = [_("The call stays, and that it was recorded.")]
    if settings.RECORDINGS_FOLDER:
        found.remarks.append(_("The file in RECORDINGS_FOLDER stays: the folder belongs to the switch."))
    if recording.connection.state != models.Connection.State.ENDED:
        found.obstacle = _("The call still goes on.")
    elif recording.state == models.Recording.State.REMOVED:
        found.obstacle = _("The recording was removed already.")
    return found


def _delete(deletion: Deletion) -> None:
    with deletion.step() as deleted:
        connection_id = (
            models.Recording.objects.values_list("connection_id", flat=True).filter(pk=deletion.object_id).first()
        )
        if connection_id is None:
            return
        call = models.Connection.objects.select_for_update(no_key=True, of=("self",)).get(pk=connection_id)
        if call.state != models.Connection.State.ENDED:
            raise Busy(gettext_noop("The call still goes on."))
        deleted.update(remove_recordings(Q(pk=deletion.object_id), [connection_id]))


def remove_recordings(which: Q, connection_ids: Sequence[int]) -> Counter[str]:
    """Delete recordings, here and at the switch, and transcriptions. The calls are locked.

    The row of a recording stays, without its file, as after the retention time.
    """
    recordings = models.Recording.objects.filter(_REMOVABLE, which, connection__in=connection_ids)
    rows = list(recordings.select_for_update(no_key=True, of=("self",)))
    FileRemoval.add(sorted({path for row in rows for path in (row.path, row.file.name or "")}))
    # A worker that fetches a recording now may still write its file.
    FileRemoval.add([row.path for row in rows if row.state == models.Recording.State.FETCHING], after=2 * LEASE)
    recordings.filter(pk__in=[row.pk for row in rows]).update(
        state=models.Recording.State.REMOVED,
        file="",
        error="",
        next_attempt_at=None,
        leaves_switch_at=None if settings.RECORDINGS_FOLDER else timezone.now(),
    )
    words = models.Transcription.objects.filter(pk__in={row.connection_id for row in rows}).delete()[0]
    return Counter({"telephony.recording": len(rows), "telephony.transcription": words})


def calls_of(customer_ids: Sequence[int]) -> int:
    return models.Connection.objects.filter(customer_id__in=customer_ids).count()


def spoken_of(customer_ids: Sequence[int]) -> list[Part]:
    """Count the recordings and transcriptions of these customers' calls, their call-backs and priorities."""
    calls = Q(connection__customer_id__in=customer_ids)
    return [
        Part("telephony.recording", models.Recording.objects.filter(_REMOVABLE, calls).count()),
        Part("telephony.transcription", models.Transcription.objects.filter(calls).count()),
        Part("telephony.callback", models.CallBack.objects.filter(customer_id__in=customer_ids).count()),
        Part("telephony.callerpriority", len(priorities_of(customer_ids))),
    ]


def priorities_of(customer_ids: Sequence[int]) -> list[int]:
    """Return the rows of these customers, and of their numbers: a row may be older than the customer."""
    rows = list(models.CallerPriority.objects.values_list("pk", "customer_id", "number"))
    owners = customers_of({number for _pk, customer_id, number in rows if customer_id is None})
    known = {number: customer.id for number, customer in owners.items()}
    return [pk for pk, customer_id, number in rows if (customer_id or known.get(number)) in customer_ids]


def forget_priorities(customer_ids: Sequence[int]) -> int:
    return models.CallerPriority.objects.filter(pk__in=priorities_of(customer_ids)).delete()[0]


def forget_customers(deletion: Deletion, customer_ids: Sequence[int]) -> None:
    """Remove id, number, recordings, words, comments and field values from all calls of these customers.

    Time, agent, queue and result of each call stay. Call-backs are deleted. Raises Busy while one of the calls is open.
    """
    theirs = Q(customer_id__in=customer_ids)
    forget_calls(deletion, theirs, models.CallBack.objects.filter(theirs))


def forget_calls(deletion: Deletion, which: Q, callbacks: "QuerySet[models.CallBack]") -> None:
    """Empty these calls as `forget_customers` does, and delete these call-backs."""
    over = models.Connection.objects.filter(which, state=models.Connection.State.ENDED).order_by()
    while over.exists():
        with deletion.step() as deleted:
            calls = list(over.select_for_update(no_key=True, of=("self",))[:BATCH])
            deleted.update(_forget(calls))
            deletion.count_emptied("telephony.connection", len(calls))
    with deletion.step() as deleted:
        events.forget_callbacks(list(callbacks.values_list("pk", flat=True)))
        deleted["telephony.callback"] += callbacks.delete()[0]
    if models.Connection.objects.filter(which).exists():
        raise Busy(gettext_noop("A call still goes on."))


def forget_now(which: "QuerySet[models.Connection]") -> None:
    """Empty these calls, which are over, in the transaction of the caller."""
    if calls := list(which.select_for_update(no_key=True, of=("self",))):
        _forget(calls)


def _forget(calls: Sequence[models.Connection]) -> Counter[str]:
    ids = [call.pk for call in calls]
    is_inbound = Q(direction=models.Connection.Direction.INBOUND)
    for side, theirs in (("src", is_inbound), ("dst", ~is_inbound)):
        emptied = {side: "", f"{side}_number": ""}
        models.Connection.objects.filter(theirs, pk__in=ids).update(**emptied)
    models.Connection.objects.filter(pk__in=ids).update(customer_id=None)
    models.Leg.objects.filter(connection__in=ids, role=models.Leg.Role.CUSTOMER).update(number="")
    models.ConnectionTopic.objects.filter(pk__in=ids).update(comment="", fields=[])
    models.Consultation.objects.filter(connection__in=ids).update(note="")
    models.Transfer.objects.filter(connection__in=ids).exclude(actor_kind=SYSTEM.kind).update(note="")
    events.forget_numbers(calls)
    return remove_recordings(Q(), ids)


def register_kinds() -> None:
    register("recording", Kind("telephony.recording", _consequences, _delete))
