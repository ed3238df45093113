"""The tickets' part of the admin."""

from tickets.admin import statuses, tickets

__all__ = ["statuses", "tickets"]
