"""Tell agents what happens in tickets: on their bar, and by mail. Follow a ticket.

A verb calls `notify` in its transaction. One statement decides who is told: the assignee, the followers and the agents
that a comment mentions, if they want to know and may see the ticket. A worker sends the mails after the commit.
"""

import re
from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Invalid
from callcentre.core.scope import Scope, has_right
from callcentre.core.statements import Statement, rows_of
from telephony.models import Agent
from tickets import html
from tickets.models.agent_preferences import NoticeKind
from tickets.models.message import Message
from tickets.models.notice import OF_ASSIGNEE, RANKED, Notice, TicketFollower
from tickets.models.rules import check_not_merged
from tickets.models.ticket import Ticket
from tickets.verbs.ticket_row import lock_ticket, log_ticket

# The most agents that the composer offers.
MOST_OFFERED = 1000
_MENTION = re.compile(r"(?<![\w.@/+-])@([\w.@+-]+)")
# The user `u` of the agent `a` may see tickets of the queue: by the rights and by the scope.
_SEES = Statement("""a.is_active AND u.is_staff AND {may_see}
  AND (u.scope_ticket_queues IS NULL OR %(queue)s::bigint = ANY(u.scope_ticket_queues))""").of(
    may_see=has_right("u", "tickets", "view_ticket", "change_ticket")
)
_TELL = Statement("""
WITH reason (agent_id, kind) AS (
  SELECT id, %(mentioned)s::text FROM telephony_agent
  WHERE %(logins)s::text[] <> ARRAY[]::text[] AND lower(login) = ANY(%(logins)s::text[])
  UNION ALL SELECT %(assignee)s::bigint, %(kind)s::text
  UNION ALL SELECT agent_id, %(to_followers)s::text FROM tickets_ticketfollower WHERE ticket_id = %(ticket)s::bigint
), told AS (
  SELECT r.agent_id, r.kind, NOT COALESCE(r.kind = ANY(w.not_on_bar), false) AS is_on_bar,
    COALESCE(r.kind = ANY(w.by_mail), false) AND a.email <> '' AS is_mailed
  FROM reason r JOIN telephony_agent a ON a.id = r.agent_id JOIN callcentre_user u ON u.id = a.user_id
  LEFT JOIN tickets_agentpreferences w ON w.agent_id = a.id
  WHERE r.kind IS NOT NULL AND a.id <> ALL(%(authors)s::bigint[]) AND u.id IS DISTINCT FROM %(user)s::bigint AND {sees}
), following AS (
  INSERT INTO tickets_ticketfollower (ticket_id, agent_id)
  SELECT %(ticket)s::bigint, agent_id FROM told WHERE kind = %(mentioned)s::text ON CONFLICT DO NOTHING
)
INSERT INTO tickets_notice
  (agent_id, ticket_id, kind, key, actor_name, created_at, closed_at, attempt_count, next_attempt_at)
SELECT agent_id, %(ticket)s::bigint, (array_agg(kind ORDER BY array_position(%(ranked)s::text[], kind)))[1],
  %(key)s::text, %(who)s::text, statement_timestamp(), CASE WHEN NOT bool_or(is_on_bar) THEN statement_timestamp() END,
  0, CASE WHEN bool_or(is_mailed) THEN statement_timestamp() END
FROM told WHERE is_on_bar OR is_mailed GROUP BY agent_id
ON CONFLICT (agent_id, key) DO NOTHING
RETURNING id, next_attempt_at IS NOT NULL
""").of(sees=_SEES)
_MENTIONABLE = Statement("""
SELECT a.login, concat_ws(' ', a.name, a.surname) FROM telephony_agent a JOIN callcentre_user u ON u.id = a.user_id
WHERE {sees}{{inside}} ORDER BY a.login LIMIT {most}
""").of(sees=_SEES, most=MOST_OFFERED)


def notify(
    ticket: Ticket,
    kind: NoticeKind | None,
    key: str,
    actor: Actor = SYSTEM,
    *,
    author: Agent | None = None,
    to_followers: NoticeKind | None = None,
    logins: Collection[str] = (),
) -> None:
    """Tell the assignee by a notice of this kind, the followers by another, and the agents with these logins.

    Each agent gets one notice, of the first of the RANKED kinds that the agent wants; none for what the agent did as
    the actor or the author, and none for a `key` that there was before. Mentioned agents follow the ticket from now on.
    """
    # The statement below takes milliseconds to plan, and most tickets have no follower.
    is_assigned = kind is not None and ticket.agent_id is not None
    if not (logins or is_assigned or (to_followers and TicketFollower.objects.filter(ticket=ticket).exists())):
        return
    is_named = kind != NoticeKind.ANSWERED and actor != SYSTEM
    values = {
        "ticket": ticket.pk,
        "queue": ticket.queue_id,
        "assignee": ticket.agent_id,
        "kind": kind and kind.value,
        "to_followers": to_followers and to_followers.value,
        "mentioned": NoticeKind.MENTIONED.value,
        "logins": list(logins),
        "authors": [pk for pk in (author and author.pk, actor.id if actor.kind == "agent" else None) if pk],
        "user": actor.id if actor.kind == "user" else None,
        "ranked": RANKED,
        "key": key,
        "who": ((author.full_name if author else "") or actor.name)[:150] if is_named else "",
    }
    for pk, is_mailed in rows_of(_TELL, values):
        if is_mailed:
            enqueue("tickets.mail_notice", pk)


def logins_in(text: str, text_type: str) -> list[str]:
    """Return the logins that a comment may mention, in lower case: "@anna" as a whole word, outside of addresses."""
    if "@" not in text:
        return []
    words = _MENTION.findall(html.as_text(text) if text_type == Message.BodyType.HTML else text)
    # A dot at the end may belong to the sentence.
    return sorted({each.lower() for word in words for each in (word, word.rstrip(".-+@"))})


def mentionable(ticket: Ticket, scope: Scope) -> list[tuple[str, str]]:
    """Return login and name of the agents within the scope who may see the ticket."""
    values = {"queue": ticket.queue_id, **scope.by_column}
    found = rows_of(_MENTIONABLE.format(inside=scope.sql(Agent, "a")), values)
    # Logins with a blank or another sign cannot be written as a mention.
    return [row for row in found if _MENTION.fullmatch(f"@{row[0]}")]


def close_notices(agent: Agent, **which: Any) -> None:
    """Take the agent's notices, or some of them, off the bar."""
    Notice.objects.filter(agent=agent, closed_at=None, **which).update(closed_at=timezone.now())


def close_outdated(ticket: Ticket) -> None:
    """Take notices of the assignee off the bars of agents who have not got the ticket any more, or of all if it is
    closed.
    """
    outdated = Notice.objects.filter(ticket=ticket, kind__in=OF_ASSIGNEE, closed_at=None)
    if ticket.closed_at is None:
        outdated = outdated.exclude(agent=ticket.agent_id)
    outdated.update(closed_at=timezone.now())


def follow_ticket(ticket: Ticket, agent: Agent, actor: Actor) -> None:
    """Let the agent follow the ticket. Nothing changes for a follower."""
    with transaction.atomic():
        ticket = lock_ticket(ticket)
        if faults := check_not_merged(ticket):
            raise Invalid(faults)
        if TicketFollower.objects.get_or_create(ticket=ticket, agent=agent)[1]:
            log_ticket(ticket, actor, "follow", {"follower": [None, agent.login]})


def unfollow_ticket(ticket: Ticket, agent: Agent, actor: Actor) -> None:
    with transaction.atomic():
        if TicketFollower.objects.filter(ticket=ticket, agent=agent).delete()[0]:
            log_ticket(ticket, actor, "unfollow", {"follower": [agent.login, None]})


def move_followers(source: Ticket, target: Ticket) -> None:
    """Let the followers of a ticket that is merged follow the other one, to which its notices lead from now on."""
    already = TicketFollower.objects.filter(ticket=target).values("agent")
    source.followers.exclude(agent__in=already).update(ticket=target)
    source.followers.all().delete()
    source.notices.update(ticket=target)
