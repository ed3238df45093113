"""The number of statements that a piece of code takes: at most its usual one, and a few to spare."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.test.utils import CaptureQueriesContext

# What a harmless branch may add to an operation before a test asks about it.
SPARE = 3


def most(usual: int) -> int:
    """Return the most statements of an operation that usually takes so many: exactly that for the shortest ones."""
    return usual if usual <= SPARE else usual + SPARE


@contextmanager
def few_statements(usual: int) -> Iterator[None]:
    """Fail if the block takes more than its usual statements, and a few.

    A test gives the block many rows: one more statement for each is more than the spare ones, so the number is the same
    for one row and for fifty.
    """
    with CaptureQueriesContext(connection) as queries:
        yield
    assert len(queries) <= most(usual), "\n".join(query["sql"] for query in queries)
