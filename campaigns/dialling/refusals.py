"""Calls that could not be made at all: the switch refused the number, or the agent's phone could not be rung.

The attempt keeps what was refused. The dialler reads it with the agents, and rests before it tries again: a campaign
whose last call was refused, or an agent whose phone could not be rung (campaigns/dialling/agents.py).
"""

from campaigns.models import Attempt
from telephony.models import Connection, Leg

NUMBER, PHONE = "number", "phone"
# Q.850: the number itself is wrong, so that the record has used an attempt up.
_INVALID_NUMBER = 28
# Q.850: the phone rang, or nothing is known about it.
_RANG = (None, 18, 19)


def note(attempt: Attempt, connection: Connection) -> None:
    """Store in the attempt what could not be called, if so. The caller saves the attempt."""
    if refused := _refused(connection):
        attempt.outcome = Attempt.Outcome.NOT_DIALLED
        attempt.figures = {**attempt.figures, "refused": refused}


def _refused(connection: Connection) -> str:
    for leg in connection.all_legs:
        if leg.role == Leg.Role.CUSTOMER and leg.was_refused and leg.cause != _INVALID_NUMBER:
            return NUMBER
        is_asked = leg.up_at is None and leg.hangup_asked_at is None and leg.ended_at is not None
        if leg.role == Leg.Role.AGENT and is_asked and (leg.was_refused or leg.cause not in _RANG):
            return PHONE
    return ""
