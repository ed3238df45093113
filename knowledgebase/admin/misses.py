"""The search for published articles in all catalogs, and the searches of readers that found none."""

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from callcentre.admin import ReadOnlyAdmin, actor_of, confirm_first, display, needs
from callcentre.admin.scope import RelatedDropdownFilter
from callcentre.core.audit import AuditAction, record
from callcentre.core.scope import ALL, Scope
from callcentre.core.search import Hit, SearchText
from callcentre.core.statements import rows_of
from knowledgebase.models import SearchMiss
from knowledgebase.search.query import parse

_HITS = """
SELECT found.id, found.title, c.name, g.name FROM (
  SELECT a.id, a.title, a.catalog_id, a.category_id FROM knowledgebase_article a
  WHERE a.is_published AND a.search @@ %(wanted)s::tsquery LIMIT 50
) AS found
JOIN knowledgebase_catalog c ON c.id = found.catalog_id
LEFT JOIN knowledgebase_category g ON g.id = found.category_id
ORDER BY callcentre_name(found.title) LIKE callcentre_plain(%(word0)s) DESC, found.title, found.id LIMIT %(shown)s
"""


def articles(search: SearchText, count: int, scope: Scope = ALL) -> list[Hit]:
    """Return articles with all the words, first those with the first word in the title."""
    query = parse(search.text)
    if not query.terms or search.number or search.is_address:
        return []
    rows = rows_of(_HITS, {**search.parameters, "wanted": query.tsquery(), "shown": count})
    return [Hit(pk, title, tuple(filter(None, (catalog, category)))) for pk, title, catalog, category in rows]


@admin.register(SearchMiss)
class SearchMissAdmin(ReadOnlyAdmin):
    """Searches without a result: the subjects of articles to write."""

    list_display = ("asked", "catalog", "count", "first_at", "last_at")
    list_filter = (("catalog", RelatedDropdownFilter),)
    list_select_related = ("catalog",)
    search_fields = ("query",)
    fields = ("query", "catalog", "count", "first_at", "last_at")
    has_own_history = True  # read-only: Django's history would be empty
    actions = ("dismiss",)
    has_dismiss_permission = needs("knowledgebase.delete_searchmiss")

    @display(description=_("query"), ordering="query")
    def asked(self, miss: SearchMiss) -> str:
        return miss.query if len(miss.query) <= 60 else f"{miss.query[:57]}…"

    @admin.action(description=_("Dismiss"), permissions=["dismiss"])
    @confirm_first(_("The searches are deleted from this list. A search that finds nothing again comes back."))
    def dismiss(self, request: HttpRequest, misses: QuerySet[SearchMiss]) -> None:
        with transaction.atomic():
            count, _counts = misses.delete()
            if count:
                # Without the words, which may name a customer.
                record(actor_of(request), AuditAction.DISMISS_SEARCHES, changes={"count": [None, count]})
        sentence = ngettext("%(count)s search dismissed.", "%(count)s searches dismissed.", count)
        self.say_done(request, sentence, count)
