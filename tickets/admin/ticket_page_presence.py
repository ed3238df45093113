"""Who has a ticket open now. Redis knows, for as long as their pages tell it; without Redis nobody is known of."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import redis

from callcentre.core import redis_client
from callcentre.models import User

# A page tells of itself three times before it is forgotten.
EVERY_SECONDS = 12
FORGOTTEN_AFTER_SECONDS = 3 * EVERY_SECONDS


@dataclass(frozen=True, slots=True)
class Visitor:
    name: str
    is_writing: bool


def tell(ticket_id: int, user: User, *, is_writing: bool) -> Sequence[Visitor]:
    """Say that the user has the ticket open; who else has."""
    key, now = f"cc:ticket:{ticket_id}:open", time.time()
    mine = f"{user.pk}"
    try:
        pipe = redis_client.client().pipeline(transaction=False)
        pipe.hset(key, mine, f"{now:.0f} {int(is_writing)} {user.get_full_name() or user.get_username()}")
        pipe.expire(key, FORGOTTEN_AFTER_SECONDS)
        pipe.hgetall(key)
        known: dict[bytes, bytes] = pipe.execute()[-1]
    except redis.RedisError:
        return ()
    others = []
    for user_id, value in known.items():
        at, is_writing_too, name = value.decode().split(" ", 2)
        if user_id.decode() != mine and now - int(at) < FORGOTTEN_AFTER_SECONDS:
            others.append(Visitor(name, is_writing_too == "1"))
    return sorted(others, key=lambda visitor: visitor.name)


def leave(ticket_id: int, user: User) -> None:
    try:
        redis_client.client().hdel(f"cc:ticket:{ticket_id}:open", f"{user.pk}")
    except redis.RedisError:
        return
