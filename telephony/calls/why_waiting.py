"""The reasons why no phone rings for a waiting caller, from the parts of which the distribution is composed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from callcentre.core.statements import Statement, rows_of
from telephony.calls import campaign_hooks
from telephony.calls.candidates import (
    AGENTS,
    MEMBERS,
    OF_AGENT,
    OF_MEMBER,
    ORDER_OF_MEMBERS,
    ORDER_OF_WAITS,
    REST,
    WAITS,
    values_at,
)
from telephony.models import AgentState, Connection

_REST = {"seconds": int(REST.total_seconds())}
_NOT_TAKEN = _("has not taken this call, or the phone could not be reached: rests for %(seconds)s seconds")
TEXTS: dict[str, Any] = {
    "inactive": _("is inactive"),
    "logged_out": _("is not logged in"),
    "not_ready": _("is not ready: %(state)s"),
    "unskilled": _("lacks %(skills)s"),
    "without_number": _("has no phone"),
    "phone": _("has a phone in the browser that is not connected"),
    "rung": _("is rung for another call"),
    "supervises": _("listens to a call as a supervisor"),
    "line": _("has a standing line that is busy, rings or ends"),
    "failed": _NOT_TAKEN,
    "rests": _NOT_TAKEN,
    "rests_from_callback": _("has not taken a call-back: rests for %(seconds)s seconds"),
    "campaign": _("is wanted by an answered call of a campaign"),
}
# The members of the queue of a call, in the order in which they are rung, each with the conditions that do not hold and
# the required skills that the agent lacks. One row without a member for a queue without any.
_WHY = Statement("""
SELECT w.place, member.*
FROM (SELECT waits.*, row_number() OVER (ORDER BY {order_of_waits}) AS place FROM ({waits}) waits) w
LEFT JOIN LATERAL (
  SELECT m.agent_id, m.login, COALESCE(m.kind, ''), array_remove(ARRAY[{failed}], NULL) AS failed,
    ARRAY(
      SELECT concat(named.name, ' ', r.level)
      FROM telephony_requiredskill r JOIN telephony_skill named ON named.id = r.skill_id
      WHERE r.queue_id = m.queue_id AND NOT EXISTS (SELECT FROM telephony_agentskill k
        WHERE k.agent_id = m.agent_id AND k.skill_id = r.skill_id AND k.level >= r.level)
      ORDER BY named.name
    ) AS lacks,
    row_number() OVER (ORDER BY {order_of_members}) AS turn
  FROM ({members}) m
  WHERE m.queue_id = w.queue_id
) member ON true
WHERE w.connection_id = %(connection)s
ORDER BY member.failed <> '{{}}', member.turn
""").of(
    waits=WAITS,
    order_of_waits=ORDER_OF_WAITS.format("waits"),
    members=MEMBERS.format(agents=f"({AGENTS})"),
    order_of_members=ORDER_OF_MEMBERS,
    failed=", ".join(
        f"CASE WHEN ({condition}) IS NOT TRUE THEN '{name}' END" for name, condition in (OF_AGENT | OF_MEMBER).items()
    ),
)


@dataclass(slots=True)
class Member:
    """An agent of the queue, the reasons why the agent is not rung, and the text of each."""

    agent_id: int
    login: str
    state: str
    reasons: list[str]
    lacks: Sequence[str]

    @property
    def texts(self) -> list[str]:
        state = AgentState.Kind(self.state).label if self.state else ""
        facts = {**_REST, "state": state, "skills": ", ".join(self.lacks)}
        # An agent who is not logged in has no state and perhaps no phone.
        follows = ("not_ready", "phone") if "logged_out" in self.reasons else ()
        return [str(TEXTS[reason]) % facts for reason in self.reasons if reason not in follows]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The place of a caller among all who wait, and the members of the queue; first those who can be rung."""

    place: int
    members: Sequence[Member]

    @property
    def next(self) -> Member | None:
        """The agent who is rung in the turn of the caller."""
        return self.members[0] if self.members and not self.members[0].reasons else None


def explain(call: Connection, now: datetime) -> Explanation | None:
    """Explain why no phone rings for a caller; None for a call that does not wait, or for which a phone rings."""
    rows = rows_of(_WHY, {**values_at(now), "connection": call.pk})
    if not rows:
        return None
    members = [Member(pk, login, state, failed, lacks) for _place, pk, login, state, failed, lacks, _turn in rows if pk]
    # As the distribution does: only the agent who would be rung is asked for.
    while members and not members[0].reasons and campaign_hooks.is_wanted(members[0].agent_id):
        members[0].reasons = ["campaign"]
        members.sort(key=lambda member: bool(member.reasons))
    return Explanation(rows[0][0], members)
