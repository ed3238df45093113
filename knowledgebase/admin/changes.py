from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin import ReadOnlyAdmin, UncountedMixin, display
from callcentre.admin.history import action_label
from knowledgebase.models import ArticleChange

ACTIONS = {
    "edit": _("new draft"),
    "publish": _("published"),
    "unpublish": _("withdrawn"),
    "restore": _("earlier version restored"),
    "move": _("moved"),
}
NAMES = {"author": _("author"), "category": _("category"), "version": _("version")}


def label_of(action: str) -> str:
    return str(ACTIONS.get(action) or action_label(action))


def changes_of(change: ArticleChange) -> list[tuple[Any, Any, Any]]:
    """Name, before, after; the version it was about comes first."""
    changed = [(NAMES.get(name, name), old or "", new) for name, (old, new) in change.changes.items()]
    return [(_now("version"), "", change.number), *changed] if change.action != "move" else changed


@admin.register(ArticleChange)
class ArticleChangeAdmin(UncountedMixin, ReadOnlyAdmin):
    """Who changed what readers read?"""

    list_display = ("at", "article", "what", "who", "details")
    list_display_links = ("at",)
    list_filter = ("actor_kind",)
    list_select_related = ("article",)
    fields = ("at", "article", "what", "who", "details")
    readonly_fields = fields
    has_own_history = True  # nobody edits them: Django's would be empty

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("article__search", "article__peaks", "article__content")

    @display(description=_("action"))
    def what(self, change: ArticleChange) -> str:
        return label_of(change.action)

    @display(description=_("by"))
    def who(self, change: ArticleChange) -> str:
        return f"{change.actor_name} ({change.get_actor_kind_display()})"

    @display(description=_("changes"))
    def details(self, change: ArticleChange) -> str:
        return "; ".join(f"{name}: {old} → {new}" if old else f"{name}: {new}" for name, old, new in changes_of(change))
