"""The campaigns' part of the admin."""

from campaigns.admin import campaigns, changes, records, statuses

__all__ = ["campaigns", "changes", "records", "statuses"]
