"""Presumed ends of calls that ended while the switch or the listener was down, and their correction.

Such a call is presumed to have ended at the last contact with the switch. Once its recording is fetched, the end of
the recording replaces the presumed end: in the call, its talks, offers and legs, and in the states of its agents.
"""

from datetime import datetime, timedelta

from django.db import transaction

from callcentre.core.changes import store
from telephony.calls import legs
from telephony.models import Connection, Recording
from telephony.verbs import ledger

# A recording that lasts until the end of the call was noticed proves nothing: the switch went on recording its bridge.
LEFT_OVER = timedelta(seconds=2)


def presume(connection_id: int, found_at: datetime) -> None:
    """Store that the end of a call is presumed, and when it was noticed. Correct it if the recording is there."""
    over = Connection.objects.filter(pk=connection_id, state=Connection.State.ENDED)
    if over.update(end_found_at=found_at):
        correct(connection_id)


@transaction.atomic
def correct(connection_id: int) -> None:
    """Replace a presumed end by the end of the last recording, once that is ready."""
    connection = legs.lock(connection_id)
    if connection is None or connection.end_found_at is None:
        return
    recording = Recording.objects.ready().filter(name=connection.recording_name).first()
    if recording is None:
        return
    found_at = connection.end_found_at
    store(connection, end_found_at=None)
    end = recording.started_at + timedelta(seconds=recording.seconds)
    if end < found_at - LEFT_OVER:
        _move_end(connection, max(end.replace(microsecond=0), connection.answered_at or connection.created_at))


def _move_end(connection: Connection, end: datetime) -> None:
    assert connection.ended_at is not None
    was = connection.ended_at
    agents = {connection.agent_id}
    for offer in connection.offers.filter(ended_at=was, answered_at__isnull=False):
        assert offer.answered_at is not None
        store(offer, ended_at=max(end, offer.answered_at))
        agents.add(offer.agent_id)
    for talk in connection.talks.filter(ended_at=was):
        store(talk, ended_at=max(end, talk.started_at))
        agents.add(talk.agent_id)
    connection.legs.filter(ended_at=was).update(ended_at=end)
    store(connection, ended_at=end)
    for agent_id in sorted(filter(None, agents)):
        ledger.move_end_of_talk(agent_id, connection.pk, connection.created_at, was, end)
