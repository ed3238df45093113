"""The tickets' panel on the front page: the count of mails in quarantine."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from tickets.models import ReceivedMail

# The highest count that is shown.
COUNTED = 99


def tickets_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the panel of mail in quarantine; None where there is none, or the user may not see received mail."""
    if not request.user.has_perm("tickets.view_receivedmail"):
        return None
    # The count reads a few rows of a partial index.
    count = ReceivedMail.objects.quarantined().order_by()[: COUNTED + 1].count()
    if not count:
        return None
    return {
        "template": "admin/tickets/dashboard.html",
        "count": count,
        "count_shown": str(count) if count <= COUNTED else f"{COUNTED}+",
        "is_troubled": True,
        "quarantine_url": f"{reverse('admin:tickets_receivedmail_changelist')}?outcome=quarantined",
    }
