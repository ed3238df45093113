"""The reports part of the admin."""

from reports.admin import exports, schedules
