from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from callcentre.admin import ReadOnlyAdmin, actor_of, confirm_first, display
from callcentre.admin.scope import RelatedDropdownFilter
from callcentre.core.audit import AuditAction, record
from knowledgebase.models import SearchMiss


@admin.register(SearchMiss)
class SearchMissAdmin(ReadOnlyAdmin):
    """Searches without a result: the subjects of articles to write."""

    list_display = ("asked", "catalog", "count", "first_at", "last_at")
    list_filter = (("catalog", RelatedDropdownFilter),)
    list_select_related = ("catalog",)
    search_fields = ("query",)
    fields = ("query", "catalog", "count", "first_at", "last_at")
    readonly_fields = fields
    has_own_history = True  # read-only: Django's history would be empty
    actions = ("dismiss",)

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

    def has_dismiss_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("knowledgebase.delete_searchmiss")
