"""Tickets, chats, notes, ratings and calls in a timeline, and parts of calls that attempts of campaigns show too."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.db import connection
from django.utils.translation import gettext_lazy as _

from callcentre.core.field_tables import named_rows
from callcentre.core.statements import Statement
from callcentre.core.times import minute, spell_length
from telephony.models import Connection
from tickets.models import Chat, CustomerNote, Rating, Ticket, as_read
from tickets.models.message import stars
from tickets.timeline.page import Entry, Kind, Reader

# Of the call `c`. A recording that is not stored cannot be played.
PARTS = """
  CASE WHEN %(sees_recordings)s THEN (
    SELECT jsonb_agg(jsonb_build_array(r.id, r.name) ORDER BY r.id) FROM telephony_recording r
    WHERE r.connection_id = c.id AND r.state = 'ready') END AS recordings,
  CASE WHEN %(sees_summaries)s THEN (
    SELECT jsonb_build_array(w.summary, w.sentiment) FROM telephony_transcription w WHERE w.connection_id = c.id
  ) END AS words
"""
# A call that began during a merge may have the id of the customer who was merged.
_CALLS = """
SELECT newest.created_at, newest.id FROM unnest(%(customers)s::bigint[]) AS one(id) CROSS JOIN LATERAL (
  SELECT c.created_at, c.id FROM telephony_connection c
  WHERE c.customer_id = one.id AND (c.campaign_code = '' OR NOT 'attempt' = ANY(%(kinds)s::text[])) AND {older}
  ORDER BY c.created_at DESC, c.id DESC LIMIT %(rows)s
) newest
"""
_CALL_ROWS = Statement("""
SELECT c.id, c.created_at, c.direction, c.src, c.dst, c.queue_id, q.name AS queue, a.login, c.state, c.disposition,
  c.answered_at, c.ended_at, {parts}
FROM telephony_connection c
LEFT JOIN telephony_queue q ON q.id = c.queue_id
LEFT JOIN telephony_agent a ON a.id = c.agent_id
WHERE c.id = ANY(%(ids)s::bigint[])
""").of(parts=PARTS)


def rows_of(statement: str, ids: Sequence[str], reader: Reader) -> list[dict[str, Any]]:
    """Return the rows of a statement that has PARTS."""
    values: dict[str, Any] = {
        "ids": ids,
        "sees_recordings": reader.sees_recordings,
        "sees_summaries": reader.sees_summaries,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return named_rows(cursor)


def parts_of(row: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return recordings, summary and sentiment of a row with PARTS: for the API, and the recordings for the page."""
    recordings = [(pk, f"{name}.wav") for pk, name in orjson.loads(row["recordings"] or "[]")]
    summary, sentiment = orjson.loads(row["words"] or "[null, null]")
    details = {
        "recordings": [name for _pk, name in recordings],
        "summary": [item["content"] for item in summary or ()],
        "sentiment": (sentiment or {}).get("sentiment", ""),
    }
    return details, {"recordings": recordings}


def _read_calls(ids: Sequence[str], reader: Reader) -> dict[str, Entry]:
    return {str(row["id"]): _call_entry(row) for row in rows_of(_CALL_ROWS, ids, reader)}


def _call_entry(row: Mapping[str, Any]) -> Entry:
    call = Connection(**{name: row[name] for name in ("id", "created_at", "answered_at", "ended_at", "direction")})
    call.src, call.dst, call.state, call.disposition = row["src"], row["dst"], row["state"], row["disposition"]
    parts, shown = parts_of(row)
    details = {
        "direction": call.direction,
        "phone_number": call.customer_number,
        "queue_id": row["queue_id"],
        "disposition": call.disposition,
        "billsec": call.billsec,
        **parts,
    }
    talk = spell_length(call.billsec) if call.billsec else ""
    shown |= {"call": call, "queue": row["queue"], "talk": talk}
    return Entry(call.created_at, call.uid, row["login"] or "", details, shown)


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


KINDS = (
    Kind(
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
    ),
    Kind(
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
    ),
    Kind(
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
    ),
    Kind(
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
    ),
    Kind(
        name="call",
        label=_("call"),
        plural=_("Calls"),
        icon="call",
        app="telephony",
        model="connection",
        api_right="connections:read",
        keys=_CALLS,
        time_column="c.created_at",
        key_column="c.id",
        narrowed_by=(Connection, "c"),
        read=_read_calls,
        template="admin/tickets/timeline/call.html",
    ),
)
