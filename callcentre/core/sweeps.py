"""Work on one row after another, in which the failure of one row does not stop the others."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError, connection
from prometheus_client import Counter

logger = logging.getLogger(__name__)


@contextmanager
def going_on(message: str, failures: Counter | None = None, **context: object) -> Iterator[None]:
    """Log and count a failure of the block. The absence of the database stops everything, and is raised."""
    try:
        yield
    except Exception as error:
        # A deadlock, for one, is an OperationalError of a connection that works.
        if isinstance(error, (OperationalError, InterfaceError)) and not connection.is_usable():
            raise
        logger.exception(message, extra=context)
        if failures:
            failures.inc()
