"""The parts of a customer's page: the timeline, merged customers, and those who may be the same person."""

from typing import Any
from urllib.parse import urlencode

from django.db.models import prefetch_related_objects
from django.http import HttpRequest

from callcentre.admin import may_see
from callcentre.admin.scope import scope_of
from tickets.models import Customer
from tickets.timeline import Place, Reader, kinds, read_page

PER_PAGE = 25
MOST_ALIKE = 20
# The most merged customers that the page names.
SHOWN = 10


def timeline_of(request: HttpRequest, customer: Customer) -> dict[str, Any]:
    """Return the entries that the user may see, and the links of the filter and of the pages."""
    seen = [kind for kind in kinds() if may_see(request.user, kind.app, kind.model)]
    reader = Reader(
        frozenset(kind.name for kind in seen),
        sees_recordings=request.user.has_perm("telephony.view_recording"),
        sees_summaries=request.user.has_perm("telephony.view_transcription"),
        scope=scope_of(request),
    )
    chosen = request.GET.get("kind", "")
    only = [chosen] if chosen in reader.kinds else []
    before = Place.parse(request.GET.get("before", ""))
    page = read_page(customer, reader, only=only, before=before, limit=PER_PAGE)
    choices = [
        {"label": kind.plural, "icon": kind.icon, "name": kind.name, "url": _link(kind=kind.name)} for kind in seen
    ]
    return {
        "timeline": page.entries,
        "timeline_kinds": choices,
        "timeline_kind": only[0] if only else "",
        "timeline_all": _link(),
        "timeline_newest": _link(kind=chosen if only else "") if before else "",
        "timeline_older": _link(kind=chosen if only else "", before=str(page.next)) if page.next else "",
        "sees_calls": "call" in reader.kinds,
        "sees_tickets": "ticket" in reader.kinds,
    }


def _link(**query: str) -> str:
    return f"?{urlencode({name: value for name, value in query.items() if value})}#timeline"


def panels_of(customer: Customer) -> dict[str, Any]:
    """Return the context of the parts. Reads the merged customers once for the whole page."""
    prefetch_related_objects([customer], "merged")
    others = sorted(customer.merged.all(), key=lambda other: other.pk)
    emails = dict.fromkeys(one.email.lower() for one in (customer, *others) if one.email)
    return {
        "emails": [email for email in emails if email != customer.email.lower()],
        "others": others[:SHOWN],
        "alike": alike(customer),
    }


def alike(customer: Customer) -> list[dict[str, Any]]:
    """Return customers with the same number or address, and the numbers and address that they share."""
    numbers = {row.number for row in customer.numbers.all()}
    found = []
    for other in customer.perhaps_same().select_related("company").prefetch_related("numbers")[:MOST_ALIKE]:
        shared = [row.phone_number for row in other.numbers.all() if row.number in numbers]
        if other.email and other.email.lower() == customer.email.lower():
            shared.append(other.email)
        found.append({"customer": other, "shared": ", ".join(shared)})
    return found
