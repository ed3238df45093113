"""Connections to PostgreSQL that no pooler shares. An advisory lock of a session lasts as long as such a connection.

A pooler in transaction mode gives each transaction another session: a lock stays with the session, which belongs to
other processes afterwards. Everything else works through a pooler, for it leaves nothing in a session.
"""

from typing import Any

import psycopg
from django.conf import settings
from django.core.management import CommandError
from django.db import connection
from django.db.utils import ConnectionHandler

# A machine that vanishes loses its locks after 10 + 3 * 5 s, instead of the system's two hours.
_KEEPALIVES = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
# What both addresses must agree on.
_PLACE = "SELECT current_database(), pg_postmaster_start_time()"


def connect_directly(name: str, **limits: Any) -> psycopg.Connection[tuple[Any, ...]]:
    """Open a connection by DATABASE_DIRECT_URL, else by DATABASE_URL. Raise CommandError if it leads to a pooler."""
    limits = {"connect_timeout": 5, "tcp_user_timeout": 10_000, **limits}
    parameters = {**_parameters(), **limits, "application_name": f"callcentre {name}"}
    own: psycopg.Connection[tuple[Any, ...]] = psycopg.connect(**parameters, autocommit=True)
    own.execute(_KEEPALIVES)
    row = own.execute("SELECT pg_backend_pid()").fetchone()
    # A pooler invents the id of the process that it tells its clients.
    if row != (own.info.backend_pid,):
        own.close()
        raise CommandError(
            "The database is reached through a pooler, which would give the locks of this process to others: set"
            " DATABASE_DIRECT_URL to the address of PostgreSQL itself."
        )
    return own


def _parameters() -> dict[str, Any]:
    if settings.DIRECT_DATABASE is None:
        return connection.get_connection_params()
    return ConnectionHandler({"default": settings.DIRECT_DATABASE})["default"].get_connection_params()


def fault_of_direct_connection() -> str:
    """Return a sentence if locks cannot be kept; "" if they can."""
    try:
        own = connect_directly("check")
    except CommandError as error:
        return str(error)
    with own, connection.cursor() as cursor:
        cursor.execute(_PLACE)
        if own.execute(_PLACE).fetchone() != cursor.fetchone():
            return "DATABASE_DIRECT_URL and DATABASE_URL lead to different databases."
    return ""
