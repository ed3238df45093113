"""Offers of a waiting call to agents: one at a time is open, each ends once. All under the lock of the connection."""

from datetime import datetime

from django.db import connection as database

from telephony.models import Agent, Connection, Leg, Offer
from telephony.verbs import presence

Outcome = Offer.Outcome

USER_BUSY, NO_USER_RESPONDING, NO_ANSWER, CALL_REJECTED = 17, 18, 19, 21
_OUTCOMES = {
    USER_BUSY: Outcome.REFUSED,
    CALL_REJECTED: Outcome.REFUSED,
    NO_USER_RESPONDING: Outcome.NOT_ANSWERED,
    NO_ANSWER: Outcome.NOT_ANSWERED,
}
# With its entry in the change log (telephony.verbs.ledger_changes): what has ended counts in the report.
_CLOSE = """
WITH ended AS (
  UPDATE telephony_offer SET ended_at = %s, transferred_at = %s, outcome = %s WHERE id = %s
  RETURNING agent_id, offered_at, ended_at
)
INSERT INTO telephony_ledgerchange (agent_id, since, until) SELECT agent_id, offered_at, ended_at FROM ended
"""


def outcome_of(leg: Leg, cause: int | None) -> str:
    """Return what a phone that was not picked up says of its agent (Q.850).

    A phone that rang and of which nobody heard why it stopped was not answered. One that never rang could not be
    reached: that is no fault of the agent's.
    """
    if cause is None and leg.ringing_at:
        return Outcome.NOT_ANSWERED
    outcome = _OUTCOMES.get(cause or 0, Outcome.FAILED)
    return Outcome.FAILED if outcome == Outcome.NOT_ANSWERED and leg.ringing_at is None else outcome


def current(connection: Connection) -> Offer | None:
    """The one that rings an agent now, or by which he talks."""
    return connection.offers.select_related("agent").filter(ended_at=None).first()


def open_for(connection: Connection, agent: Agent, at: datetime) -> None:
    """A caller is handed on to this agent, in no queue. One whom another call has already is offered none besides."""
    if (
        connection.direction != Connection.Direction.INBOUND
        or Offer.objects.filter(agent=agent, ended_at=None).exists()
    ):
        return
    Offer.objects.create(connection=connection, agent=agent, offered_at=at)


def answer(offer: Offer, at: datetime) -> None:
    """The agent whom it rings has picked up."""
    offer.answered_at, offer.outcome = max(at, offer.offered_at), Outcome.ANSWERED
    offer.save(update_fields=["answered_at", "outcome"])


def close(offer: Offer, at: datetime, outcome: str = "", *, is_transferred: bool = False) -> None:
    """It ends; one that was answered stays so. `is_transferred`: he hands the call on."""
    offer.ended_at = max(at, offer.answered_at or offer.offered_at)
    offer.transferred_at = offer.ended_at if is_transferred else None
    offer.outcome = offer.outcome if offer.answered_at else outcome
    with database.cursor() as cursor:
        cursor.execute(_CLOSE, [offer.ended_at, offer.transferred_at, offer.outcome, offer.pk])


def count_wait(connection: Connection, at: datetime) -> None:
    """The caller's wait in the queue is over; for the caller of this to save."""
    if connection.state == Connection.State.WAITING and connection.waiting_since:
        connection.wait_seconds += max(int((at - connection.waiting_since).total_seconds()), 0)


def end_with_call(connection: Connection, at: datetime) -> None:
    """The call is about to end: so do its offer and its wait, and nobody rings any more."""
    count_wait(connection, at)
    offer = current(connection)
    if offer is None:
        return
    close(offer, at, Outcome.ABANDONED)
    # Both are locked, in their order: who rings, and who talked before the call was handed on.
    ringing: set[Agent] = {offer.agent, *([connection.agent] if connection.agent else [])}
    if offer.outcome == Outcome.ABANDONED:
        for agent in sorted(ringing, key=lambda agent: agent.pk):
            presence.leave_call(agent, connection, at)
