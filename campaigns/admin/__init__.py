"""The campaigns' part of the admin."""

from campaigns.admin import (
    attempts,
    campaigns,
    changes,
    dialling,
    do_not_call,
    hours,
    imports,
    records,
    screen_pops,
    statuses,
)

__all__ = [
    "attempts",
    "campaigns",
    "changes",
    "dialling",
    "do_not_call",
    "hours",
    "imports",
    "records",
    "screen_pops",
    "statuses",
]
