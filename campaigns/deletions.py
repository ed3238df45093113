"""Remarks on the deletion of a customer: records of campaigns stay."""

from collections.abc import Iterable

from django.db import connection
from django.utils.translation import ngettext

from campaigns.models import Campaign
from tickets.models import Customer

# Each index of a number begins with the campaign, so the query names all campaigns.
_COUNT = """
SELECT count(*) FROM (
  SELECT id FROM campaigns_record WHERE campaign_id = ANY(%(campaigns)s) AND is_primary AND number = ANY(%(numbers)s)
  UNION
  SELECT id FROM campaigns_record
  WHERE campaign_id = ANY(%(campaigns)s) AND NOT is_primary AND number = ANY(%(numbers)s)
  UNION
  SELECT record_id FROM campaigns_additionalnumber
  WHERE campaign_id = ANY(%(campaigns)s) AND number = ANY(%(numbers)s)
) AS found
"""


def remarks(customer: Customer) -> Iterable[str]:
    """Yield how many records have one of the customer's numbers. Records stay: campaigns own them."""
    numbers = list(customer.numbers.order_by().values_list("number", flat=True))
    if not numbers:
        return
    campaigns = list(Campaign.objects.order_by().values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"campaigns": campaigns, "numbers": numbers})
        (count,) = cursor.fetchone()
    if count:
        yield ngettext(
            "%(count)s record of campaigns with a number of the customer stays.",
            "%(count)s records of campaigns with a number of the customer stay.",
            count,
        ) % {"count": count}
