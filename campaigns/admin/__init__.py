"""The campaigns' part of the admin."""

from campaigns.admin import campaigns, changes, imports, records, statuses

__all__ = ["campaigns", "changes", "imports", "records", "statuses"]
