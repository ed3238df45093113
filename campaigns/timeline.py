"""Attempts of campaigns in the timeline of a customer, and campaigns in the lists of calls.

The call of an attempt knows its customer.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from django.utils.translation import gettext_lazy as _

from callcentre.core.search import SearchText
from callcentre.core.statements import Statement
from campaigns.models import Attempt, Campaign
from campaigns.models.status import as_read
from telephony.models import Connection
from tickets.timeline import Entry, Kind, Reader
from tickets.timeline.own_kinds import PARTS, parts_of, rows_of

_KEYS = """
SELECT newest.created_at, newest.id FROM unnest(%(customers)s::bigint[]) AS one(id) CROSS JOIN LATERAL (
  SELECT c.created_at, c.id FROM telephony_connection c
  JOIN campaigns_attempt t ON t.connection_id = c.id AND t.outcome <> 'not_dialled'
  WHERE c.customer_id = one.id AND c.campaign_code <> '' AND {older}
  ORDER BY c.created_at DESC, c.id DESC LIMIT %(rows)s
) newest
"""
# The key is that of the call. The result is a status that the agent chose; it may have been deleted since.
_READ = Statement("""
SELECT c.id, c.created_at, t.campaign_code, p.name AS campaign, p.id AS campaign_id, t.record_id,
  (SELECT r.id FROM campaigns_record r WHERE r.id = t.record_id) AS existing_record_id, t.phone_number,
  t.connection_uid, t.outcome, t.result->'values' AS result, s.name AS status, a.login, {parts}
FROM telephony_connection c
JOIN campaigns_attempt t ON t.connection_id = c.id
LEFT JOIN campaigns_campaign p ON p.id = t.campaign_id
LEFT JOIN campaigns_recordstatus s ON s.id = (t.result->'values'->>'status_id')::bigint
LEFT JOIN telephony_agent a ON a.id = t.agent_id
WHERE c.id = ANY(%(ids)s::bigint[])
""").of(parts=PARTS)


def _read(ids: Sequence[str], reader: Reader) -> dict[str, Entry]:
    return {str(row["id"]): _entry(row) for row in rows_of(_READ, ids, reader)}


def _entry(row: Mapping[str, Any]) -> Entry:
    parts, shown = parts_of(row)
    result = orjson.loads(row["result"] or "{}")
    outcome = Attempt(outcome=row["outcome"]).get_outcome_display()
    details = {
        "outbound_id": row["campaign_code"],
        "record_id": row["record_id"],
        "phone_number": row["phone_number"],
        "connection_id": row["connection_uid"],
        "outcome": row["outcome"],
        "status": row["status"] or "",
        "note": result.get("last_note") or "",
        **parts,
    }
    shown |= {name: row[name] for name in ("campaign", "campaign_id", "existing_record_id")}
    shown["status"] = as_read(details["status"])
    return Entry(
        row["created_at"],
        row["connection_uid"],
        row["login"] or "",
        details,
        {**shown, "connection_pk": row["id"], "outcome": outcome},
    )


ATTEMPTS = Kind(
    name="attempt",
    label=_("attempt of a campaign"),
    plural=_("Campaigns"),
    icon="campaign",
    app="campaigns",
    model="attempt",
    api_right="campaigns:read",
    keys=_KEYS,
    time_column="c.created_at",
    key_column="c.id",
    narrowed_by=(Connection, "c"),
    read=_read,
    template="admin/campaigns/timeline_attempt.html",
)

# Campaigns are few; an index has the order of their attempts.
_CALLS = """
SELECT calls.connection_id AS id
FROM (SELECT id FROM campaigns_campaign WHERE {words}) AS found CROSS JOIN LATERAL (
  SELECT t.connection_id, t.dialled_at FROM campaigns_attempt t WHERE t.campaign_id = found.id
  ORDER BY t.dialled_at DESC, t.id DESC LIMIT {{most}}) AS calls
ORDER BY calls.dialled_at DESC
"""


def call_branches(search: SearchText) -> list[str]:
    """Return the SELECT of the calls of the campaigns with these words in their code or name."""
    return [_CALLS.format(words=search.like_words("callcentre_name(code, name)"))] if search.patterns else []


def names(ids: Collection[int]) -> Mapping[int, str]:
    return dict(Campaign.objects.filter(pk__in=ids).order_by().values_list("pk", "name"))
