"""The search for tickets, and the lists of waiting and overdue ones, by indexes alone."""

import re
from collections.abc import Iterable
from itertools import chain
from typing import Any

from django.db.models import Q, QuerySet

from callcentre.core.scope import ALL, Scope
from callcentre.core.search import Hit, SearchText, candidates, ids_inside, read_by_list, union
from callcentre.core.statements import rows_of
from callcentre.core.times import minute
from tickets.admin import customer_search
from tickets.models import CustomField, Ticket, TicketStatus
from tickets.models.custom_field import WrongValue, parse
from tickets.models.status import OPEN_KINDS, as_read

MAX_FOUND = 500
# Of a word that more tickets have, the index returns some by chance (migrations/0001_initial.sql).
_FREQUENT = 1_000

# Find the last changed tickets of each status, then the last changed of all: the index orders within one status.
_WAITING = """
SELECT newest.id FROM unnest(%(statuses)s::bigint[]) AS wanted(status) CROSS JOIN LATERAL (
  SELECT t.id, t.updated_at FROM tickets_ticket t WHERE t.status_id = wanted.status{inside}
  ORDER BY t.updated_at DESC, t.id DESC LIMIT %(count)s
) newest ORDER BY newest.updated_at DESC, newest.id DESC LIMIT %(count)s
"""
_WITH_WORDS = """
SELECT ticket_id FROM tickets_with_words(
  to_tsquery('callcentre_words', %(query)s), to_tsquery('callcentre_words', %(begun)s), %(most)s)
"""
_BY_ID = "SELECT id FROM tickets_ticket WHERE id = %(id)s"
# Only fields of free text: others repeat their values in many tickets.
_WITH_FIELD = """
SELECT found.id FROM tickets_customfield f CROSS JOIN LATERAL (
  SELECT t.id FROM tickets_ticket t WHERE t.custom_fields @> jsonb_build_object(f.id::text, %(text)s::text)
  LIMIT 50) AS found
WHERE f.owner = 'ticket' AND f.type = 'text'
"""
_FROM = "SELECT id FROM tickets_ticket WHERE UPPER(sender) LIKE UPPER(%(address)s) AND sender <> ''"
_HITS = """
SELECT t.id, t.subject, trim(c.name || ' ' || c.surname), concat_ws(' - ', s.name, u.name), t.updated_at
FROM tickets_ticket t JOIN tickets_ticketstatus s ON s.id = t.status_id
LEFT JOIN tickets_ticketsubstatus u ON u.id = t.substatus_id
LEFT JOIN tickets_customer c ON c.id = t.customer_id
WHERE t.id IN ({branches}){inside} ORDER BY t.id = %(id)s DESC NULLS LAST, t.id DESC LIMIT %(shown)s
"""


def waiting_for_us(count: int, scope: Scope = ALL) -> list[int]:
    """Return the last changed tickets that are new or in progress."""
    values = {"statuses": waiting_statuses(), "count": count, **scope.by_column}
    return _ids(_WAITING.format(inside=scope.sql(Ticket, "t")), values)


def waiting_statuses() -> list[int]:
    return list(TicketStatus.objects.filter(kind__in=OPEN_KINDS).order_by().values_list("pk", flat=True))


def find(text: str, scope: Scope = ALL) -> tuple[list[int], bool]:
    """Return the ids of the tickets that a text finds, and whether the search stopped before it found all.

    It finds them by their number, by their customer, by a custom field, by their sender, or by words of the subject and
    of messages.
    """
    text = text.strip().replace("\0", "")
    if not text:
        return [], False
    most = read_by_list(MAX_FOUND, Ticket, scope)
    branches = [_by_number(text), _by_custom_field(text, most)]
    is_cut = False
    # Up to five digits are a ticket's number: no customer has them, and half of all subjects do.
    if not re.fullmatch(r"\[?#?[0-9]{1,5}\]?", text):
        customers = customer_search.ids_found(text)
        branches.append(_of_customers(customers, most))
        search = SearchText.read(text)
        if search.address:
            branches.append(sorted(_ids(f"{_FROM} LIMIT {most}", search.parameters), reverse=True))
        words = []
        if search.query and not search.is_address:
            words = _ids(_WITH_WORDS, {**search.parameters, "most": most})
        branches.append(words)
        is_cut = len(customers) == customer_search.MAX_FOUND or len(words) >= min(most, _FREQUENT)
    is_cut = is_cut or any(len(branch) >= most for branch in branches)
    ids = ids_inside(list(dict.fromkeys(chain.from_iterable(branches))), Ticket, scope)[:MAX_FOUND]
    return ids, is_cut or len(ids) == MAX_FOUND


def tickets(search: SearchText, count: int, scope: Scope = ALL) -> list[Hit]:
    """Return tickets by number, sender, a field of free text, or words of the subject and of messages, newest first."""
    ids = _by_number(search.text)
    branches = [_BY_ID, _WITH_FIELD]
    if search.address:
        branches.append(_FROM)
    if search.query and not search.is_address:
        branches.append(_WITH_WORDS)
    most = candidates(scope)
    values = {**search.parameters, "id": ids[0] if ids else None, "most": most, "shown": count, **scope.by_column}
    rows = rows_of(_HITS.format(branches=union(branches, most), inside=scope.sql(Ticket, "t")), values)
    return [
        Hit(pk, f"#{pk} {subject}", tuple(filter(None, (customer, as_read(status), minute(changed)))))
        for pk, subject, customer, status, changed in rows
    ]


def _by_number(text: str) -> list[int]:
    found = re.fullmatch(r"\[?#?([0-9]{1,18})\]?", text)
    return [int(found[1])] if found else []


def _by_custom_field(text: str, most: int) -> list[int]:
    """Find tickets by the index of custom values. Each field has its own form of a value."""
    wanted = Q()
    for field in CustomField.objects.of(CustomField.Owner.TICKET):
        try:
            value = parse(field, text)
        except WrongValue:
            continue
        wanted |= Q(custom_fields__contains={str(field.pk): value})
    return _last_changed(Ticket.objects.filter(wanted), most) if wanted else []


def _of_customers(customer_ids: Iterable[int], most: int) -> list[int]:
    ids = list(customer_ids)
    return _last_changed(Ticket.objects.filter(customer__in=ids), most) if ids else []


def _last_changed(tickets: QuerySet[Ticket], most: int) -> list[int]:
    # Sorted here: with ORDER BY, the planner would scan all tickets in that order.
    return sorted(tickets.order_by().values_list("pk", flat=True)[:most], reverse=True)


def _ids(statement: str, parameters: Any) -> list[int]:
    return [pk for (pk,) in rows_of(statement, parameters)]
