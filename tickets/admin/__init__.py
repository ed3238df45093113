"""The tickets' part of the admin."""

from tickets.admin import (
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
    ticket_queues,
    tickets,
)
