"""Calls in a timeline, and the parts of calls that attempts of campaigns show as well."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.db import connection
from django.utils.translation import gettext_lazy as _

from callcentre.core.field_tables import named_rows
from callcentre.core.statements import Statement
from callcentre.core.times import spell_length
from telephony.models import Connection
from tickets.timeline.kind import Entry, Kind, Reader

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
_KEYS = """
SELECT newest.created_at, newest.id FROM unnest(%(customers)s::bigint[]) AS one(id) CROSS JOIN LATERAL (
  SELECT c.created_at, c.id FROM telephony_connection c
  WHERE c.customer_id = one.id AND (c.campaign_code = '' OR NOT 'attempt' = ANY(%(kinds)s::text[])) AND {older}
  ORDER BY c.created_at DESC, c.id DESC LIMIT %(rows)s
) newest
"""
_READ = Statement("""
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


def _read(ids: Sequence[str], reader: Reader) -> dict[str, Entry]:
    return {str(row["id"]): _entry(row) for row in rows_of(_READ, ids, reader)}


def _entry(row: Mapping[str, Any]) -> Entry:
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


CALLS = Kind(
    name="call",
    label=_("call"),
    plural=_("Calls"),
    icon="call",
    app="telephony",
    model="connection",
    api_right="connections:read",
    keys=_KEYS,
    time_column="c.created_at",
    key_column="c.id",
    narrowed_by=(Connection, "c"),
    read=_read,
    template="admin/tickets/timeline/call.html",
)
