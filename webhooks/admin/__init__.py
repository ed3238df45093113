"""The webhooks' part of the admin."""

from webhooks.admin import changes, registrations, resends, sent

__all__ = ["changes", "registrations", "resends", "sent"]
