"""The tickets' part of the admin."""

from tickets.admin import (
    chats,
    companies,
    custom_fields,
    customer_history,
    customer_settings,
    customers,
    dispatches,
    files,
    ratings,
    received_mails,
    replies,
    statuses,
    ticket_queues,
    tickets,
)

__all__ = [
    "chats",
    "companies",
    "custom_fields",
    "customer_history",
    "customer_settings",
    "customers",
    "dispatches",
    "files",
    "ratings",
    "received_mails",
    "replies",
    "statuses",
    "ticket_queues",
    "tickets",
]
