"""Remarks on the deletion of a customer: records of campaigns stay."""

from collections.abc import Iterable

from django.utils.translation import ngettext

from callcentre.core.statements import Statement, row_of
from campaigns.models import Campaign
from campaigns.models.record_rows import IDS_WITH_NUMBERS
from tickets.models import Customer

_COUNT = Statement("SELECT count(*) FROM ({ids_with_numbers}) AS found").of(ids_with_numbers=IDS_WITH_NUMBERS)


def remarks(customer: Customer) -> Iterable[str]:
    """Yield how many records have one of the customer's numbers. Records stay: campaigns own them."""
    numbers = list(customer.numbers.order_by().values_list("number", flat=True))
    if not numbers:
        return
    campaigns = list(Campaign.objects.order_by().values_list("pk", flat=True))
    (count,) = row_of(_COUNT, {"campaigns": campaigns, "numbers": numbers})
    if count:
        yield ngettext(
            "%(count)s record of campaigns with a number of the customer stays.",
            "%(count)s records of campaigns with a number of the customer stay.",
            count,
        ) % {"count": count}
