"""The sender of the request under way: the person or program, and the address.

Verbs get their actor as an argument. The trigger that writes the audit log in the database, and the address in
histories, have no such argument and read the sender.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache

from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.network import parse_address


@dataclass(frozen=True, slots=True)
class Sender:
    """The source of changes: `find_actor` is asked only when something changes, when the log-in has been checked."""

    find_actor: Callable[[], Actor]
    # The client's address as text; "" for the service's own work.
    find_address: Callable[[], str] = str
    # Whether the rows are so many that the work writes one entry of its own into the audit log.
    is_bulk: bool = False

    @property
    def address(self) -> str | None:
        """The address as PostgreSQL's `inet` takes it, or None."""
        return _inet(self.find_address())


@lru_cache(maxsize=4096)
def _inet(address: str) -> str | None:
    return str(parsed) if (parsed := parse_address(address)) else None


_SERVICE = Sender(lambda: SYSTEM)
_sender: ContextVar[Sender] = ContextVar("sender", default=_SERVICE)


def sender() -> Sender:
    return _sender.get()


@contextmanager
def sending(given: Sender) -> Iterator[None]:
    """Make this the sender until the block ends."""
    token = _sender.set(given)
    try:
        yield
    finally:
        _sender.reset(token)


def acting(actor: Actor, address: str | None, *, is_bulk: bool = False) -> AbstractContextManager[None]:
    """Make this actor the sender of a task until the block ends; the address is that of the request that asked."""
    return sending(Sender(lambda: actor, lambda: address or "", is_bulk=is_bulk))
