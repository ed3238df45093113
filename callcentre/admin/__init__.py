"""The admin: what every app's admin shares, and the people and programs that may come in."""

from callcentre.admin.asking import asks_first
from callcentre.admin.base import (
    Admin,
    Inline,
    ReadOnlyAdmin,
    actor_of,
    cut,
    display,
    page_action,
    without_buttons,
)
from callcentre.admin.dates import DatesFilter
from callcentre.admin.deletions import DeletableMixin
from callcentre.admin.history import ChangeMixin, HistoryMixin
from callcentre.admin.lists import ChangeList, UncountedChangeList, UncountedMixin
from callcentre.admin.periods import PeriodFilter
from callcentre.admin.remembering import AskingAgain

# Registers what is our own.
from callcentre.admin import api_users, users  # noqa: F401  # isort: skip

__all__ = [
    "Admin",
    "AskingAgain",
    "ChangeList",
    "ChangeMixin",
    "DatesFilter",
    "DeletableMixin",
    "HistoryMixin",
    "Inline",
    "PeriodFilter",
    "ReadOnlyAdmin",
    "UncountedChangeList",
    "UncountedMixin",
    "actor_of",
    "asks_first",
    "cut",
    "display",
    "page_action",
    "without_buttons",
]
