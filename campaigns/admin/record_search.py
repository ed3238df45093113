"""Searches of records that use only indexes, so that they are fast among millions."""

from typing import Any

from django.db import connection

from callcentre.core.phone import PhoneError, normalise
from campaigns.models import Campaign
from campaigns.models.record_rows import IDS_WITH_NUMBERS

# The most results; people refine a search with more.
MAX_FOUND = 500

_FIND = f"""
{IDS_WITH_NUMBERS}
UNION
SELECT id FROM campaigns_record
WHERE campaign_id = ANY(%(campaigns)s) AND identifier <> '' AND identifier = %(identifier)s
LIMIT %(limit)s
"""  # noqa: S608  (a text of ours)

# The newest of each campaign, then the newest of these: the index of campaign and status has no order over all
# campaigns.
_NEWEST = """
SELECT newest.id FROM campaigns_campaign c CROSS JOIN LATERAL (
  SELECT r.id FROM campaigns_record r WHERE r.campaign_id = c.id AND r.system_status = %s ORDER BY r.id DESC LIMIT %s
) newest ORDER BY newest.id DESC LIMIT %s
"""


def ids_of(text: str, campaign_id: int | None = None) -> list[int]:
    """Return the records with this number (in any spelling, also as an additional one) or this identifier.

    The search takes all campaigns unless one is named.
    """
    text = text.strip()
    try:
        numbers = [normalise(text)]
    except PhoneError:
        numbers = []
    campaigns = [campaign_id] if campaign_id else list(Campaign.objects.order_by().values_list("pk", flat=True))
    values: dict[str, Any] = {"campaigns": campaigns, "numbers": numbers, "identifier": text, "limit": MAX_FOUND}
    with connection.cursor() as cursor:
        cursor.execute(_FIND, values)
        return [row[0] for row in cursor.fetchall()]


def newest_with_status(system_status: str, count: int) -> list[int]:
    """Return the newest records with this system status in all campaigns."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [system_status, count, count])
        return [row[0] for row in cursor.fetchall()]
