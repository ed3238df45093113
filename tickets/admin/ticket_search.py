"""The search for tickets, and the lists of waiting and overdue ones, by indexes alone."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from tickets.admin import customer_search
from tickets.admin.ticket_page_composer import OPEN_KINDS
from tickets.models import CustomField, Ticket, TicketStatus
from tickets.models.custom_values import WrongValue, parse
from tickets.models.ticket import RESPONSE_IS_OWED

MAX_FOUND = 500
# Subjects have no index, as it would slow down each change of a ticket. The search reads those of the last changed.
SUBJECTS_READ = 20_000

# Find the last changed tickets of each status, then the last changed of all: the index orders within one status.
_WAITING = """
SELECT newest.id FROM unnest(%s::bigint[]) AS wanted(status) CROSS JOIN LATERAL (
  SELECT t.id, t.updated_at FROM tickets_ticket t WHERE t.status_id = wanted.status
  ORDER BY t.updated_at DESC, t.id DESC LIMIT %s
) newest ORDER BY newest.updated_at DESC, newest.id DESC LIMIT %s
"""
_SUBJECTS = """
SELECT id FROM (
  SELECT id, subject, updated_at FROM tickets_ticket ORDER BY updated_at DESC, id DESC LIMIT %s
) newest WHERE subject ILIKE ALL(%s) ORDER BY updated_at DESC, id DESC LIMIT %s
"""


def waiting_for_us(count: int) -> list[int]:
    """Return the last changed tickets that are new or in progress."""
    return _ids(_WAITING, [waiting_statuses(), count, count])


def waiting_statuses() -> list[int]:
    return list(TicketStatus.objects.filter(kind__in=OPEN_KINDS).order_by().values_list("pk", flat=True))


def late(tickets: QuerySet[Ticket], count: int, now: datetime) -> list[int]:
    """Return the tickets that are overdue the longest, in that order. Each kind of due time has an index of its own."""
    unfinished = tickets.filter(closed_at=None)
    due_at: dict[int, datetime] = {}
    for name, is_late in late_conditions(now).items():
        for pk, instant in unfinished.filter(is_late).order_by(name).values_list("pk", name)[:count]:
            due_at[pk] = min(instant, due_at.get(pk, instant))
    return sorted(due_at, key=lambda pk: (due_at[pk], pk))[:count]


def late_conditions(now: datetime) -> dict[str, Q]:
    """Return each due time with the condition that it has passed."""
    return {
        "response_due_at": RESPONSE_IS_OWED & Q(response_due_at__lt=now),
        "resolution_due_at": Q(resolution_due_at__lt=now),
    }


def ids_found(text: str) -> list[int]:
    """Return the ids of the tickets that a text finds.

    It finds them by their number, by their customer, by a custom field, by their sender or by words of the subject.
    """
    text = text.strip().replace("\0", "")
    if not text:
        return []
    found = [*_by_number(text), *_by_custom_field(text)]
    # Up to five digits are a ticket's number: no customer has them, and half of all subjects do.
    if not re.fullmatch(r"\[?#?[0-9]{1,5}\]?", text):
        found += _of_customers(customer_search.ids_found(text))
        found += _by_sender(text) if "@" in text else _by_subject(text)
    return list(dict.fromkeys(found))[:MAX_FOUND]


def _by_number(text: str) -> list[int]:
    found = re.fullmatch(r"\[?#?([0-9]{1,18})\]?", text)
    return [int(found[1])] if found else []


def _by_custom_field(text: str) -> list[int]:
    """Find tickets by the index of custom values. Each field has its own form of a value."""
    wanted = Q()
    for field in CustomField.objects.of(CustomField.Owner.TICKET):
        try:
            value = parse(field, text)
        except WrongValue:
            continue
        wanted |= Q(custom_fields__contains={str(field.pk): value})
    return _last_changed(Ticket.objects.filter(wanted)) if wanted else []


def _of_customers(customer_ids: Iterable[int]) -> list[int]:
    ids = list(customer_ids)
    return _last_changed(Ticket.objects.filter(customer__in=ids)) if ids else []


def _by_sender(text: str) -> list[int]:
    return _last_changed(Ticket.objects.exclude(sender="").filter(sender__iexact=text))


def _by_subject(text: str) -> list[int]:
    words = [customer_search.pattern_of(word) for word in text.split()[:10]]
    return _ids(_SUBJECTS, [SUBJECTS_READ, words, MAX_FOUND])


def _last_changed(tickets: QuerySet[Ticket]) -> list[int]:
    # Sorted here: with ORDER BY, the planner would scan all tickets in that order.
    return sorted(tickets.order_by().values_list("pk", flat=True)[:MAX_FOUND], reverse=True)


def _ids(statement: str, parameters: Any) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor.fetchall()]
