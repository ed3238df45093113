"""The account of events (callcentre/core/accounts.py). Deliveries are due work."""

from callcentre.core.accounts import account

account(
    "events",
    "Each event has a delivery to each webhook that has wanted it for a minute: a change of a webhook takes a moment.",
    """SELECT 'event ' || e.event_id || ' (' || e.action || ') to webhook ' || w.id
    FROM webhooks_webhook w
    JOIN webhooks_event e ON e.action = ANY(w.actions) AND e.created_at > w.updated_at + interval '1 minute'
    WHERE w.is_active AND w.deleted_at IS NULL
      AND NOT EXISTS (SELECT FROM webhooks_delivery d WHERE d.event_id = e.id AND d.webhook_id = w.id)""",
)
