"""The rows of a consultation: the party that an agent has called during a talk. The connection is locked.

Its leg has the role CONSULTED until it leaves, or gets the call and is a TARGET. On hold, the agent and this party talk
apart from the customer; otherwise all three talk.
"""

from datetime import datetime

from callcentre.core.changes import store
from telephony.calls import offers
from telephony.models import Connection, Consultation, Leg
from telephony.verbs import ledger, presence


def leg_of(connection: Connection) -> Leg | None:
    return connection.leg_of(Leg.Role.CONSULTED)


def current(connection: Connection) -> Consultation | None:
    everything = connection.consultations.select_related("agent", "from_agent", "queue")
    return everything.filter(ended_at=None).first()


def end(connection: Connection, at: datetime, cause_text: str = "") -> Consultation | None:
    """End the open consultation, if there is one. A consulted agent leaves the call, after a talk with a wrap-up.

    The talk with the customer is stored as that of each agent: an offer of an inbound call, else a talk.
    """
    if (row := current(connection)) is None:
        return None
    close(row, at, cause_text)
    if row.agent:
        ledger.lock_in_order(sorted({row.agent.pk, connection.agent_id or row.agent.pk}))
        if row.joined_at and connection.direction == Connection.Direction.INBOUND:
            offers.add_answered(connection, row.agent, row.joined_at, at)
        elif row.joined_at:
            offers.add_talk(connection, row.agent, row.joined_at, at)
        presence.leave_call(row.agent, connection, at, connection.wrap_up_seconds if row.joined_at else 0)
    return row


def close(row: Consultation, at: datetime, cause_text: str = "") -> None:
    ended_at = max(at, row.joined_at or row.up_at or row.asked_at)
    store(row, joined_at=row.joined_at, ended_at=ended_at, cause_text="" if row.up_at else cause_text)
