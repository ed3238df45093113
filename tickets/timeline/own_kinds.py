"""Tickets, chats, notes and ratings in a timeline."""

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from callcentre.core.times import minute
from tickets.models import Chat, CustomerNote, Rating, Ticket, as_read
from tickets.models.rating import stars
from tickets.timeline.kind import Entry, Kind, Reader

_TICKETS = """
SELECT t.created_at, t.id FROM tickets_ticket t WHERE t.customer_id = (%(customers)s::bigint[])[1] AND {older}
ORDER BY t.created_at DESC, t.id DESC LIMIT %(rows)s
"""
_CHATS = """
SELECT newest.created_at, newest.id FROM unnest(%(emails)s::text[]) AS one(email) CROSS JOIN LATERAL (
  SELECT c.created_at, c.id FROM tickets_chat c
  WHERE UPPER(c.client_email) = UPPER(one.email) AND c.client_email <> '' AND {older}
  ORDER BY c.created_at DESC, c.id DESC LIMIT %(rows)s
) newest
"""
_NOTES = """
SELECT n.created_at, n.id FROM tickets_customernote n WHERE n.customer_id = (%(customers)s::bigint[])[1] AND {older}
ORDER BY n.created_at DESC, n.id DESC LIMIT %(rows)s
"""
# By the tickets of the customer, and the index of the few messages that have a rating.
_RATINGS = """
SELECT r.given_at, r.id FROM tickets_ticket t
JOIN tickets_message m ON m.ticket_id = t.id AND NOT m.ratings = '{{}}'
JOIN tickets_rating r ON r.message_id = m.id
WHERE t.customer_id = (%(customers)s::bigint[])[1] AND {older}
ORDER BY r.given_at DESC, r.id DESC LIMIT %(rows)s
"""


def _read_tickets(ids: Sequence[str], reader: Reader) -> dict[str, Entry]:
    tickets = Ticket.objects.filter(pk__in=ids).select_related("status", "substatus", "agent", "queue")
    return {
        str(ticket.pk): Entry(
            ticket.created_at,
            str(ticket.pk),
            ticket.agent_login,
            {
                "subject": ticket.subject,
                "source": ticket.source,
                "ticket_queue_id": ticket.queue_id,
                "full_status_name": ticket.full_status_name,
                "closed_at": minute(ticket.closed_at),
            },
            {"ticket": ticket, "status": as_read(ticket.full_status_name)},
        )
        for ticket in tickets.order_by()
    }


def _read_chats(ids: Sequence[str], reader: Reader) -> dict[str, Entry]:
    return {
        str(chat.pk): Entry(
            chat.created_at,
            str(chat.pk),
            chat.agent.login if chat.agent else "",
            {
                "client_name": chat.client_name,
                "chat_queue_id": chat.queue_id,
                "status": chat.state.value,
                "closed_at": minute(chat.closed_at),
            },
            {"chat": chat},
        )
        for chat in Chat.objects.filter(pk__in=ids).select_related("agent", "queue").order_by()
    }


def _read_notes(ids: Sequence[str], reader: Reader) -> dict[str, Entry]:
    return {
        str(note.pk): Entry(
            note.created_at,
            str(note.pk),
            note.agent.login if note.agent else "",
            {"message": note.message, "author_name": note.author_name},
        )
        for note in CustomerNote.objects.filter(pk__in=ids).select_related("agent").order_by()
    }


def _read_ratings(ids: Sequence[str], reader: Reader) -> dict[str, Entry]:
    return {
        str(rating.pk): Entry(
            rating.given_at,
            str(rating.pk),
            rating.message.agent.login if rating.message.agent else "",
            {"value": rating.value, "ticket_id": str(rating.message.ticket_id), "message_id": rating.message_id},
            {"stars": stars(rating.value), "subject": rating.message.ticket.subject},
        )
        for rating in Rating.objects.filter(pk__in=ids).select_related("message__ticket", "message__agent").order_by()
    }


TICKETS = Kind(
    name="ticket",
    label=_("ticket"),
    plural=_("Tickets"),
    icon="confirmation_number",
    app="tickets",
    model="ticket",
    api_right="tickets:read",
    keys=_TICKETS,
    time_column="t.created_at",
    key_column="t.id",
    narrowed_by=(Ticket, "t"),
    read=_read_tickets,
    template="admin/tickets/timeline/ticket.html",
)
CHATS = Kind(
    name="chat",
    label=_("chat"),
    plural=_("Chats"),
    icon="chat",
    app="tickets",
    model="chat",
    api_right="tickets:read",
    keys=_CHATS,
    time_column="c.created_at",
    key_column="c.id",
    key_type="uuid",
    narrowed_by=(Chat, "c"),
    read=_read_chats,
    template="admin/tickets/timeline/chat.html",
)
NOTES = Kind(
    name="note",
    label=_("note"),
    plural=_("Notes"),
    icon="sticky_note_2",
    app="tickets",
    model="customer",
    api_right="customers:read",
    keys=_NOTES,
    time_column="n.created_at",
    key_column="n.id",
    narrowed_by=(CustomerNote, "n"),
    read=_read_notes,
    template="admin/tickets/timeline/note.html",
)
RATINGS = Kind(
    name="rating",
    label=_("rating"),
    plural=_("Ratings"),
    icon="star",
    app="tickets",
    model="rating",
    api_right="tickets:read",
    keys=_RATINGS,
    time_column="r.given_at",
    key_column="r.id",
    narrowed_by=(Ticket, "t"),
    read=_read_ratings,
    template="admin/tickets/timeline/rating.html",
)
