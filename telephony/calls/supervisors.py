"""Where supervisors in a call are: beside it, where they hear the customer and the agent, or in its bridge.

The connection is locked. Requests are sent after the commit, and repeating them is harmless. A call without
supervisors, which its row says, costs nothing.
"""

from datetime import datetime

from callcentre.core.audit import AuditAction, record
from telephony import causes
from telephony.calls import switch_requests
from telephony.models import Connection, Leg, Supervision

Mode = Supervision.Mode


def open_in(connection: Connection) -> list[Supervision]:
    if not connection.is_supervised:
        return []
    return list(connection.supervisions.select_related("agent").filter(ended_at=None))


def place(connection: Connection, row: Supervision, *, is_in_talk: bool) -> None:
    """Move a supervisor whose phone is up to the place of the mode. Barging in waits until both talk."""
    if row.mode == Mode.BARGE and is_in_talk:
        switch_requests.send("barge", row.channel_id, connection.bridge_id)
    elif customer := connection.leg_of(Leg.Role.CUSTOMER):
        is_heard = row.mode != Mode.LISTEN
        switch_requests.send("listen", row.channel_id, customer.channel_id, is_heard=is_heard)


def follow(connection: Connection, *, is_in_talk: bool) -> None:
    """Move those who barge, and no others: with the bridge of the call, or before it is destroyed, to the customer."""
    for row in open_in(connection):
        if row.mode == Mode.BARGE and row.up_at:
            place(connection, row, is_in_talk=is_in_talk)


def end(connection: Connection, row: Supervision, at: datetime, cause_text: str = "") -> None:
    """End the part of a supervisor, and hang the phone up if it is not gone already."""
    row.ended_at, row.cause_text = max(at, row.up_at or row.asked_at), cause_text[: causes.LONGEST]
    row.save(update_fields=["ended_at", "cause_text"])
    remove(row.channel_id)
    seconds = int((row.ended_at - row.up_at).total_seconds()) if row.up_at else 0
    changes = {"agent": [row.agent.login, None], "mode": [row.mode, None], "seconds": [None, seconds]}
    record(row.actor, AuditAction.END_MONITORING, connection, changes=changes)


def remove(channel_id: str) -> None:
    """Hang a supervisor up, with all that listening needs at the switch."""
    switch_requests.send("stop_listening", channel_id)
    switch_requests.hang_up(channel_id)
