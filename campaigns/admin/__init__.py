"""The campaigns' part of the admin."""

from campaigns.admin import attempts, campaigns, changes, dialling, do_not_call, imports, records, statuses
