"""Finding few tickets among millions, by indexes alone."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from tickets.admin import customer_search
from tickets.models import CustomField, Ticket, TicketStatus
from tickets.models.custom_values import WrongValue, parse
from tickets.models.ticket import RESPONSE_IS_OWED

MAX_FOUND = 500
# Subjects have no index: every change of a ticket would cost one. Of so many tickets, the last changed, they are read.
SUBJECTS_READ = 20_000

# Of each status the last changed, then the last changed of these: the index is of the status, and knows no order over
# several.
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

_LIKE_SIGN = re.compile(r"[\\%_]")


def waiting_for_us(count: int) -> list[int]:
    """The last changed so many that are new or in progress."""
    kinds = (TicketStatus.Kind.NEW, TicketStatus.Kind.IN_PROGRESS)
    statuses = list(TicketStatus.objects.filter(kind__in=kinds).order_by().values_list("pk", flat=True))
    return _ids(_WAITING, [statuses, count, count])


def late(tickets: QuerySet[Ticket], count: int, now: datetime) -> list[int]:
    """Of these the so many that are late the longest, in that order: each kind of due time has an index of its own."""
    unfinished = tickets.filter(closed_at=None)
    due_at: dict[int, datetime] = {}
    for name, owed in (
        ("response_due_at", unfinished.filter(RESPONSE_IS_OWED, response_due_at__lt=now)),
        ("resolution_due_at", unfinished.filter(resolution_due_at__lt=now)),
    ):
        for pk, instant in owed.order_by(name).values_list("pk", name)[:count]:
            due_at[pk] = min(instant, due_at.get(pk, instant))
    return sorted(due_at, key=lambda pk: (due_at[pk], pk))[:count]


def ids_found(text: str) -> list[int]:
    """Tickets with this number; of customers with this address, number, identifier or name; with this value in a
    custom field; with these words in the subject."""
    text = text.strip().replace("\0", "")
    if not text:
        return []
    found = [*_by_number(text), *_by_custom_field(text)]
    # Few digits are a ticket's number: no name, no phone number, and in half of all subjects.
    if not re.fullmatch(r"\[?#?[0-9]{1,5}\]?", text):
        found += _of_customers(customer_search.ids_found(text))
        found += _by_sender(text) if "@" in text else _by_subject(text)
    return list(dict.fromkeys(found))[:MAX_FOUND]


def _by_number(text: str) -> list[int]:
    found = re.fullmatch(r"\[?#?([0-9]{1,18})\]?", text)
    return [int(found[1])] if found else []


def _by_custom_field(text: str) -> list[int]:
    """By the index of values: each field holds them in its own form."""
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
    words = [f"%{_LIKE_SIGN.sub(_escaped, word)}%" for word in text.split()[:10]]
    return _ids(_SUBJECTS, [SUBJECTS_READ, words, MAX_FOUND])


def _escaped(sign: re.Match[str]) -> str:
    return f"\\{sign[0]}"


def _last_changed(tickets: QuerySet[Ticket]) -> list[int]:
    # The sum keeps the planner from walking along all tickets in their order until it has met enough.
    return sorted(tickets.order_by().values_list("pk", flat=True)[:MAX_FOUND], reverse=True)


def _ids(statement: str, parameters: Any) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor.fetchall()]
