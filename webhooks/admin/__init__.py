"""The webhooks' part of the admin."""

from webhooks.admin import changes, deliveries, resends, webhooks
