"""The zones of records that exist, computed anew: after a change of the field that has them."""

from django.db import connection, transaction

from callcentre.core.phone import calling_code
from campaigns.models import Campaign
from campaigns.models.rules import zone_of

BATCH = 5_000

_READ = """
SELECT id, number, fields ->> %(key)s, zone, calling_code FROM campaigns_record
WHERE campaign_id = %(campaign)s AND id > %(last)s ORDER BY id LIMIT %(count)s
"""
# In the order of ids, as edits lock records.
_WRITE = """
WITH given AS (SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS g(id, zone, calling_code)),
locked AS (SELECT r.id FROM campaigns_record r JOIN given USING (id) ORDER BY r.id FOR NO KEY UPDATE OF r)
UPDATE campaigns_record r SET held_until = NULL, zone = given.zone, calling_code = given.calling_code
FROM given JOIN locked USING (id) WHERE r.id = given.id
"""


def fill_zones(campaign: Campaign) -> int:
    """Write the zones of the campaign's records whose zones have changed, in batches. Return their number."""
    key, last, written = str(campaign.zone_field_id or ""), 0, 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_READ, {"key": key, "campaign": campaign.pk, "last": last, "count": BATCH})
            rows = cursor.fetchall()
            if not rows:
                return written
            last = rows[-1][0]
            changed = []
            for pk, number, text, *before in rows:
                after = [zone_of(key, {key: text} if text else {}, number), calling_code(number)]
                if after != before:
                    changed.append((pk, *after))
            if changed:
                cursor.execute(_WRITE, [list(column) for column in zip(*changed, strict=True)])
            written += len(changed)
