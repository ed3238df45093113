"""Millions of rows as from real work, for load tests. Random values come from a seed."""

from django.db import connection

from telephony.models import Agent

AGENTS, DAYS = 40, 730
# Rows of one transaction, so that its list of foreign keys to check stays small.
BATCH = 100_000


def batches(count: int) -> list[dict[str, int]]:
    """Return the parameters `first`, `last` and `count` of each transaction."""
    firsts = range(1, count + 1, BATCH)
    return [{"count": count, "first": first, "last": min(first + BATCH - 1, count)} for first in firsts]


def agents() -> list[int]:
    """Return the ids of the agents with phones. If they are too few, add those of a call centre first."""
    known = Agent.objects.exclude(number="").order_by("id")
    if known.count() < AGENTS:
        logins = [f"load{number:03}" for number in range(1, AGENTS + 1)]
        new = [Agent(login=login, name="Load", surname="Test", number=login) for login in logins]
        Agent.objects.bulk_create(new, ignore_conflicts=True)
    return list(known.values_list("id", flat=True))


def analyse(*tables: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(tables)}")
