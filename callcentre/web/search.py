"""The search of everything (docs/decisions/0028). It names every app, so it belongs to the roof."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin import may_see, user_of
from callcentre.admin.pages import site_page
from callcentre.core.scope import Scope
from callcentre.core.search import Hit, SearchText
from campaigns.admin.record_search import records
from knowledgebase.admin.misses import articles
from telephony.admin.connection_search import agents, calls
from tickets.admin.chats import chats
from tickets.admin.customer_search import companies, customers
from tickets.admin.ticket_search import tickets

# The hits of a group in the box, and on the page of results.
IN_BOX, ON_PAGE = 5, 20
# A shorter text finds too much.
SHORTEST = 2


@dataclass(frozen=True, slots=True)
class Group:
    """A kind of rows: its search, and the model whose list and pages show them."""

    title: Any
    icon: str
    app: str
    model: str
    find: Callable[[SearchText, int, Scope], list[Hit]]

    def url_of(self, page: str, *args: Any) -> str:
        return reverse(f"admin:{self.app}_{self.model}_{page}", args=args)


GROUPS = (
    Group(_("Customers"), "person_search", "tickets", "customer", customers),
    Group(_("Companies"), "apartment", "tickets", "company", companies),
    Group(_("Tickets"), "confirmation_number", "tickets", "ticket", tickets),
    Group(_("Chats"), "chat", "tickets", "chat", chats),
    Group(_("Calls"), "call", "telephony", "connection", calls),
    Group(_("Records"), "contact_phone", "campaigns", "record", records),
    Group(_("Articles"), "article", "knowledgebase", "article", articles),
    Group(_("Agents"), "support_agent", "telephony", "agent", agents),
)


def search_view(request: HttpRequest) -> HttpResponse:
    """Answer with the hits of each group that the user may see: the page, or the part that the box shows."""
    search = SearchText.read(request.GET.get("q", ""))
    is_box = "box" in request.GET
    is_too_short = 0 < len(search.text) < SHORTEST
    found = [] if len(search.text) < SHORTEST else _found(request, search, IN_BOX if is_box else ON_PAGE)
    context = {"groups": found, "text": search.text, "is_too_short": is_too_short}
    if is_box:
        return TemplateResponse(request, "admin/search_hits.html", context)
    return site_page(request, "admin/search.html", _now("Search"), **context)


def _found(request: HttpRequest, search: SearchText, count: int) -> list[dict[str, Any]]:
    """Return the groups with hits. A group with more than `count` hits leads to its list."""
    groups = []
    for group in GROUPS:
        if not may_see(request.user, group.app, group.model):
            continue
        hits = group.find(search, count + 1, user_of(request).scope)
        if hits:
            groups.append(
                {
                    "title": group.title,
                    "icon": group.icon,
                    "hits": [(hit, group.url_of("change", hit.pk)) for hit in hits[:count]],
                    "all_url": f"{group.url_of('changelist')}?{urlencode({'q': search.text})}"
                    if len(hits) > count
                    else "",
                }
            )
    return groups
