"""Spans of agents' time in which the ledgers have changed. Each verb that changes them adds rows; reports read them."""

from datetime import datetime
from typing import Any

from django.db import connection


def record(agent_id: int, since: datetime, until: datetime) -> None:
    """Store that the agent's time between two instants has changed: an interval has ended, or was corrected."""
    record_rows("VALUES (%s, %s, %s)", [agent_id, since, until])


def record_rows(select: str, parameters: Any) -> None:
    """Store the spans that a query selects: agent, since, until."""
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO telephony_ledgerchange (agent_id, since, until) {select}", parameters)


def record_everything(since: datetime, until: datetime) -> None:
    """Store that the time of every agent between two instants may have changed, as after rows were generated."""
    record_rows("SELECT id, %s, %s FROM telephony_agent", [since, until])
