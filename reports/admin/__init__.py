"""The reports part of the admin."""

from reports.admin import exports

__all__ = ["exports"]
