"""The assignment of tickets: by teams, to their members, and to the agent who takes the next one.

A team gives its tickets in transactions of their own, one ticket each, by a worker: as soon as a ticket without an
agent is the team's, and every few seconds for members who come back. So the ticket that wants work first gets the free
member, also if a newer ticket comes in at that moment. One lock, taken before all others, lets one such transaction run
at a time: its statement sees all tickets that were given before, so that no member gets more than the limit.
"""

from collections.abc import Sequence

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from callcentre.core.actor import Actor
from callcentre.core.advisory_locks import lock_until_commit, try_lock
from callcentre.core.errors import Fault, Invalid
from callcentre.core.scope import has_right
from callcentre.core.statements import Statement, row_of
from telephony.models import Agent
from tickets.models.rules import active_agent
from tickets.models.status import OPEN_KINDS
from tickets.models.team import Team, TeamMember
from tickets.models.ticket import Ticket
from tickets.verbs.tickets import edit_ticket

_ASSIGNING, _ASSIGNING_TEAM = 7_313, 7_314
# The most tickets that a team gives in one run. The next run, seconds later, takes the rest.
MOST_AT_ONCE = 100
# How many tickets of each team "take next" looks at: more, if agents who ask at the same time have locked the first.
_LOOKED_AT = (4, 40, 400)

# The tickets to take, of one team or of none, in their order: the index `ticket_to_take` has it. The subselect is done
# once, and the index is read in its order until there are enough; a join would read and sort all tickets that wait.
_IS_FREE = """t.agent_id IS NULL AND t.closed_at IS NULL
  AND t.status_id = ANY(ARRAY(SELECT id FROM tickets_ticketstatus WHERE kind = ANY(%(open)s)))"""
_DUE = "LEAST(CASE WHEN t.awaiting_since IS NOT NULL THEN t.response_due_at END, t.resolution_due_at)"
_ORDER = Statement("t.priority DESC, {due}, t.created_at, t.id").of(due=_DUE)

# The first ticket of a team that a member may get, and the member.
_GIVE = Statement("""
WITH able AS MATERIALIZED (
  SELECT * FROM (
    SELECT m.id, a.login, m.assigned_at, u.scope_ticket_queues AS queues, team.assignment, team.most_open,
      CASE WHEN team.most_open IS NOT NULL OR team.assignment = 'least_loaded' THEN (
        SELECT count(*) FROM tickets_ticket o JOIN tickets_ticketstatus s ON s.id = o.status_id
        WHERE o.agent_id = m.agent_id AND o.closed_at IS NULL AND s.kind = ANY(%(open)s)) END AS load
    FROM tickets_team team JOIN tickets_teammember m ON m.team_id = team.id
    JOIN telephony_agent a ON a.id = m.agent_id AND a.is_active
    LEFT JOIN callcentre_user u ON u.id = a.user_id
    WHERE team.id = %(team)s AND team.is_active AND team.assignment <> 'by_hand' AND (u.id IS NULL OR {may_work})
      AND EXISTS (SELECT FROM telephony_agentsession WHERE agent_id = a.id AND ended_at IS NULL)
      AND NOT EXISTS (SELECT FROM telephony_agentstate WHERE agent_id = a.id AND ended_at IS NULL AND kind = 'paused')
      AND NOT EXISTS (SELECT FROM tickets_agentpreferences WHERE agent_id = a.id AND away_from <= %(now)s
        AND (away_until IS NULL OR away_until > %(now)s))
  ) members WHERE most_open IS NULL OR load < most_open
)
SELECT t.id, member.id, member.login FROM tickets_ticket t CROSS JOIN LATERAL (
  SELECT * FROM able WHERE able.queues IS NULL OR t.queue_id = ANY(able.queues)
  ORDER BY CASE WHEN able.assignment = 'least_loaded' THEN able.load END, able.assigned_at NULLS FIRST, able.id
  LIMIT 1
) member
WHERE EXISTS (SELECT FROM able) AND COALESCE(t.team_id, 0) = %(team)s AND {is_free}
ORDER BY {order} LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED
""").of(may_work=has_right("u", "tickets", "change_ticket"), is_free=_IS_FREE, order=_ORDER)

# The first ticket of the agent's teams, or of no team, within the scope of the agent's user.
_TAKE = Statement("""
SELECT t.id FROM (
  SELECT 0 AS id UNION ALL SELECT team_id FROM tickets_teammember WHERE agent_id = %(agent)s
) team CROSS JOIN LATERAL (
  SELECT t.id FROM tickets_ticket t WHERE COALESCE(t.team_id, 0) = team.id AND {is_free}
    AND COALESCE(t.queue_id = ANY((SELECT u.scope_ticket_queues FROM callcentre_user u
      JOIN telephony_agent a ON a.user_id = u.id WHERE a.id = %(agent)s)::bigint[]), true)
  ORDER BY {order} LIMIT %(looked_at)s
) first JOIN tickets_ticket t ON t.id = first.id WHERE {is_free}
ORDER BY {order} LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED
""").of(is_free=_IS_FREE, order=_ORDER)


def take_next(agent: Agent, actor: Actor) -> Ticket | None:
    """Assign the ticket to the agent that wants work first: by priority, due time and age. Return it, or None.

    Tickets of a team are for its members. Agents who ask at the same time get different tickets.
    """
    with transaction.atomic():
        facts = {"agent": agent.pk, "open": OPEN_KINDS}
        found = (row_of(_TAKE, {**facts, "looked_at": count}) for count in _LOOKED_AT)
        row = next((row for row in found if row), None)
        if row is None:
            return None
        ticket = Ticket(pk=row[0])
        edit_ticket(ticket, actor, agent_login=agent.login, author=agent)
    return ticket


def take_next_as(actor: Actor, faults: Sequence[Fault] = (), *, agent_login: str = "") -> Ticket | None:
    """Take the next ticket for the active agent with this login."""
    faults = list(faults)
    agent = active_agent(agent_login, faults)
    if faults or agent is None:
        raise Invalid(faults)
    return take_next(agent, actor)


def assign_waiting(team: Team) -> int:
    """Give the tickets of a team that have no agent to its members, as far as these may get some. Return the count.

    Nothing is done while another worker gives those of this team.
    """
    count = 0
    with try_lock(_ASSIGNING_TEAM, team.pk) as is_ours:
        while is_ours and count < MOST_AT_ONCE and _assign_first(team):
            count += 1
    return count


def _assign_first(team: Team) -> bool:
    with transaction.atomic():
        lock_until_commit(_ASSIGNING)
        now = timezone.now()
        row = row_of(_GIVE, {"team": team.pk, "now": now, "open": OPEN_KINDS})
        if row is None:
            return False
        ticket_id, member_id, login = row
        with override(settings.LANGUAGE_CODE):
            why = _("%(way)s of the team %(team)s") % {"way": team.get_assignment_display(), "team": team.name}
        TeamMember.objects.filter(pk=member_id).update(assigned_at=now)
        edit_ticket(Ticket(pk=ticket_id), Actor("system", None, why), agent_login=login)
    return True
