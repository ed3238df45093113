"""The tickets' part of the admin."""

from tickets.admin import (
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
    statuses,
    stored_files,
    ticket_queues,
    tickets,
)
