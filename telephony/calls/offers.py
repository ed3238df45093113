"""Offers of a call to agents, one of them open at a time, and the talks of transferred outbound calls.

The connection is locked. The talks of other calls need no rows: of an inbound call the offers say the same.
"""

from datetime import datetime

from callcentre.core.changes import store
from telephony.models import Agent, Connection, Leg, Offer, Talk
from telephony.verbs import presence

Outcome = Offer.Outcome

USER_BUSY, NO_USER_RESPONDING, NO_ANSWER, CALL_REJECTED = 17, 18, 19, 21
_OUTCOMES = {
    USER_BUSY: Outcome.REFUSED,
    CALL_REJECTED: Outcome.REFUSED,
    NO_USER_RESPONDING: Outcome.NOT_ANSWERED,
    NO_ANSWER: Outcome.NOT_ANSWERED,
}


def outcome_of(leg: Leg) -> str:
    """Return the outcome for an agent whose phone was not picked up.

    A phone that rang and ended for an unknown cause was not answered. A phone that never rang could not be reached,
    which is no fault of the agent.
    """
    if leg.cause is None and leg.ringing_at:
        return Outcome.NOT_ANSWERED
    outcome = _OUTCOMES.get(leg.cause or 0, Outcome.FAILED)
    return Outcome.FAILED if outcome == Outcome.NOT_ANSWERED and leg.ringing_at is None else outcome


def current(connection: Connection) -> Offer | None:
    """Return the open offer: the agent rings, or talks with the caller."""
    return connection.offers.select_related("agent").filter(ended_at=None).first()


def open_for(connection: Connection, agent: Agent, at: datetime) -> None:
    """Offer an inbound call to the agent to whom it was transferred, in no queue. An agent has one open offer only."""
    if (
        connection.direction == Connection.Direction.INBOUND
        and not Offer.objects.filter(agent=agent, ended_at=None).exists()
    ):
        Offer.objects.create(connection=connection, agent=agent, offered_at=at)


def add_answered(connection: Connection, agent: Agent, answered_at: datetime, ended_at: datetime) -> None:
    """Store the talk of an agent who took part beside the agent of the call."""
    times = {"offered_at": answered_at, "answered_at": answered_at, "ended_at": max(ended_at, answered_at)}
    Offer.objects.create(connection=connection, agent=agent, outcome=Outcome.ANSWERED, **times)


def answer(offer: Offer, at: datetime) -> None:
    store(offer, answered_at=max(at, offer.offered_at), outcome=Outcome.ANSWERED)


def close(offer: Offer, at: datetime, outcome: str = "", *, is_transferred: bool = False) -> None:
    """End an offer. An answered one stays answered, another gets this outcome."""
    at = max(at, offer.answered_at or offer.offered_at)
    outcome = offer.outcome if offer.answered_at else outcome
    store(offer, ended_at=at, transferred_at=at if is_transferred else None, outcome=outcome)


def count_wait(connection: Connection, at: datetime) -> None:
    """Add the caller's wait in the queue, which ends now, to the connection. The caller of this function saves it."""
    if connection.state == Connection.State.WAITING and connection.waiting_since:
        connection.wait_seconds += max(int((at - connection.waiting_since).total_seconds()), 0)


def end_with_call(connection: Connection, at: datetime) -> None:
    """End the offer and the wait of a call that is about to end. An agent whose phone rings leaves the call."""
    count_wait(connection, at)
    offer = current(connection)
    if offer is None:
        return
    close(offer, at, Outcome.ABANDONED)
    # Two agents: one rings, another talked before the call was transferred. Both are locked, in their order.
    ringing: set[Agent] = {offer.agent, *([connection.agent] if connection.agent else [])}
    if offer.outcome == Outcome.ABANDONED:
        for agent in sorted(ringing, key=lambda agent: agent.pk):
            presence.leave_call(agent, connection, at)


def transfer_talk(connection: Connection, at: datetime) -> None:
    """End the talk of the agent who transfers the call. The first transfer stores the talk up to then."""
    if connection.direction == Connection.Direction.OUTBOUND and connection.agent:
        _store_first(connection, at)
        end_talk(connection, at)


def _store_first(connection: Connection, at: datetime) -> None:
    if connection.agent and not connection.has_talks:
        _store(connection, connection.agent, connection.created_at, connection.answered_at or at)
        store(connection, has_talks=True)


def _store(
    connection: Connection, agent: Agent, counted_at: datetime, started_at: datetime, ended_at: datetime | None = None
) -> None:
    times = {"counted_at": counted_at, "started_at": started_at, "ended_at": ended_at}
    Talk.objects.create(connection=connection, agent=agent, queue=connection.queue, **times)


def add_talk(connection: Connection, agent: Agent, started_at: datetime, ended_at: datetime) -> None:
    """Store the talk of an agent who took part in an outbound call beside its agent."""
    _store_first(connection, started_at)
    _store(connection, agent, started_at, started_at, max(ended_at, started_at))


def begin_talk(connection: Connection, agent: Agent, at: datetime) -> None:
    """Begin the talk of the agent who picks up a transferred outbound call. Do nothing for any other call."""
    if connection.has_talks:
        _store(connection, agent, at, at)


def end_talk(connection: Connection, at: datetime) -> None:
    if talk := Talk.objects.filter(connection=connection, ended_at=None).first():
        store(talk, ended_at=max(at, talk.started_at))
