"""The tickets' part of the admin."""

from tickets.admin import (
    agent_preferences,
    automation,
    canned_replies,
    chats,
    custom_fields,
    customer_history,
    customers,
    dispatches,
    marketplaces,
    people,
    ratings,
    received_mails,
    service_levels,
    statuses,
    stored_files,
    teams,
    ticket_queues,
    tickets,
)
