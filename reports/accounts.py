"""The account of the rollups of the agents work report (callcentre/core/accounts.py)."""

from django.utils import timezone

from callcentre.core.accounts import ACCOUNTS, Account
from reports.comparison import differences

ACCOUNTS.append(
    Account(
        "rollups",
        "The rollups of the month of yesterday are the sums of the ledgers.",
        lambda: differences(timezone.now()),
    )
)
