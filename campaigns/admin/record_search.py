"""Finding few records among millions, by indexes alone."""

from typing import Any

from django.db import connection

from callcentre.core.phone import PhoneError, normalise
from campaigns.models import Campaign

# More than this, and people search by something else.
MAX_FOUND = 500

# Each index of a number begins with the campaign: with all campaigns named, it is asked once for each of them.
_FIND = """
SELECT id FROM campaigns_record WHERE campaign_id = ANY(%(campaigns)s) AND is_primary AND number = %(number)s
UNION
SELECT id FROM campaigns_record WHERE campaign_id = ANY(%(campaigns)s) AND NOT is_primary AND number = %(number)s
UNION
SELECT record_id FROM campaigns_additionalnumber WHERE campaign_id = ANY(%(campaigns)s) AND number = %(number)s
UNION
SELECT id FROM campaigns_record
WHERE campaign_id = ANY(%(campaigns)s) AND identifier <> '' AND identifier = %(identifier)s
LIMIT %(limit)s
"""

# The newest of each campaign, then the newest of these: the index is of campaign and status, and knows no order
# over all campaigns.
_NEWEST = """
SELECT newest.id FROM campaigns_campaign c CROSS JOIN LATERAL (
  SELECT r.id FROM campaigns_record r WHERE r.campaign_id = c.id AND r.system_status = %s ORDER BY r.id DESC LIMIT %s
) newest ORDER BY newest.id DESC LIMIT %s
"""


def ids_of(text: str, campaign_id: int | None = None) -> list[int]:
    """Records with this number in any spelling, as a further number too, or with this identifier; in all campaigns
    unless one is named."""
    text = text.strip()
    try:
        number = normalise(text)
    except PhoneError:
        number = ""
    campaigns = [campaign_id] if campaign_id else list(Campaign.objects.order_by().values_list("pk", flat=True))
    values: dict[str, Any] = {"campaigns": campaigns, "number": number, "identifier": text, "limit": MAX_FOUND}
    with connection.cursor() as cursor:
        cursor.execute(_FIND, values)
        return [row[0] for row in cursor.fetchall()]


def newest_with_status(system_status: str, count: int) -> list[int]:
    """The newest so many records of all campaigns that have this system status."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [system_status, count, count])
        return [row[0] for row in cursor.fetchall()]
