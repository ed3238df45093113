"""The bridge in which the legs of a connection talk, and the supervisors beside it or in it. The connection is locked.

Requests are sent after the commit. Repeating those for supervisors is harmless. A call without supervisors, which its
row says, costs nothing.
"""

from datetime import datetime

from django.conf import settings
from django.db import transaction

from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import store
from telephony import causes
from telephony.calls import lines, switch_requests
from telephony.models import Connection, Leg, Supervision
from telephony.verbs import recordings


def join(connection: Connection, *legs: Leg, is_repeated: bool = False, is_apart: bool = False) -> None:
    """Join legs in the bridge, recorded if calls are. `connection.join_count` includes this bridge already.

    A talk apart from the customer is not recorded, and no supervisor hears it.

    The switch refuses if a leg is gone. After the first request it records nothing then. A repeated request is refused
    because the call has ended since, and the first request may have recorded it: that recording stays expected.
    """
    record_as = recordings.expect(connection) if settings.RECORD_CALLS and not is_apart else ""
    channel_ids = [leg.channel_id for leg in legs]

    def request() -> None:
        with lines.alone(channel_ids):
            switch_requests.send_now(
                "join",
                connection.bridge_id,
                channel_ids,
                record_as=record_as,
                refused=None if is_repeated else lambda error: recordings.withdraw(record_as),
            )

    transaction.on_commit(request, robust=True)
    if not is_apart:
        _follow(connection, is_in_talk=True)


def destroy(connection: Connection) -> None:
    """Destroy the bridge of a call that goes on. A supervisor in it hears what the customer hears from now on."""
    destroy_left_over(connection.bridge_id)
    _follow(connection, is_in_talk=False)


def destroy_left_over(bridge_id: str) -> None:
    switch_requests.send("destroy_bridge", bridge_id)


Mode = Supervision.Mode


def supervisors_in(connection: Connection) -> list[Supervision]:
    if not connection.is_supervised:
        return []
    return list(connection.supervisions.select_related("agent").filter(ended_at=None))


def place_supervisor(connection: Connection, row: Supervision, *, is_in_talk: bool) -> None:
    """Move a supervisor whose phone is up to the place of the mode. Barging in waits until both talk."""
    if row.mode == Mode.BARGE and is_in_talk:
        switch_requests.send("barge", row.channel_id, connection.bridge_id)
    elif customer := connection.leg_of(Leg.Role.CUSTOMER):
        is_heard = row.mode != Mode.LISTEN
        switch_requests.send("listen", row.channel_id, customer.channel_id, is_heard=is_heard)


def _follow(connection: Connection, *, is_in_talk: bool) -> None:
    """Move those who barge, and no others: with the bridge of the call, or before it is destroyed, to the customer."""
    for row in supervisors_in(connection):
        if row.mode == Mode.BARGE and row.up_at:
            place_supervisor(connection, row, is_in_talk=is_in_talk)


def end_supervision(connection: Connection, row: Supervision, at: datetime, cause_text: str = "") -> None:
    """End the part of a supervisor, and hang the phone up if it is not gone already."""
    ended_at = max(at, row.up_at or row.asked_at)
    store(row, ended_at=ended_at, cause_text=cause_text[: causes.LONGEST])
    remove_supervisor(row.channel_id)
    seconds = int((ended_at - row.up_at).total_seconds()) if row.up_at else 0
    changes = {"agent": [row.agent.login, None], "mode": [row.mode, None], "seconds": [None, seconds]}
    record(row.actor, AuditAction.END_MONITORING, connection, changes=changes)


def remove_supervisor(channel_id: str) -> None:
    """Hang a supervisor up, with all that listening needs at the switch."""
    switch_requests.send("stop_listening", channel_id)
    switch_requests.hang_up(channel_id)
