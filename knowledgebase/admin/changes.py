from typing import Any

from django.contrib import admin
from django.db.models import Prefetch
from django.http import HttpRequest
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin import ChangeMixin, ReadOnlyAdmin, UncountedMixin
from knowledgebase.models import Article, ArticleChange

ACTIONS = {
    "edit": _("new draft"),
    "publish": _("published"),
    "unpublish": _("withdrawn"),
    "restore": _("earlier version restored"),
    "move": _("moved"),
}
NAMES = {"author": _("author"), "category": _("category"), "version": _("version")}


def changes_of(change: ArticleChange) -> list[tuple[Any, Any, Any]]:
    """Return name, old value and new value of each change; the version comes first."""
    changed = [(NAMES.get(name, name), old or "", new) for name, (old, new) in change.changes.items()]
    return [(_now("version"), "", change.number), *changed] if change.action != "move" else changed


@admin.register(ArticleChange)
class ArticleChangeAdmin(ChangeMixin, UncountedMixin, ReadOnlyAdmin):
    """The history of all articles."""

    list_filter = ("actor_kind",)
    action_labels = ACTIONS
    changes_of = staticmethod(changes_of)
    has_own_history = True  # read-only: Django's history would be empty

    def get_queryset(self, request: HttpRequest) -> Any:
        articles = Prefetch("article", Article.objects.defer("search", "peaks", "content"))
        return super().get_queryset(request).prefetch_related(articles)  # no join: it may be deleted
