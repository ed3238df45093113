"""The webhooks' part of the admin."""

from webhooks.admin import deliveries, webhooks
