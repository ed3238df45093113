from typing import Any

from django.contrib import admin, messages
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin import (
    ChangeMixin,
    ReadOnlyAdmin,
    UncountedMixin,
    actor_of,
    column,
    display,
    link_to,
    needs,
    page_action,
)
from callcentre.core.integers import integer_of
from knowledgebase.comparison import compare
from knowledgebase.models import Article, ArticleChange, ArticleVersion
from knowledgebase.verbs.articles import restore_version

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


def removed_in_words(removed: dict[str, int]) -> str:
    """Return removed HTML as a text such as `<script> (2), onclick <p>`."""
    return ", ".join(f"{what} ({count})" if count > 1 else what for what, count in removed.items())


def reader_page(title: str, content: str) -> str:
    """Return the document that a reader sees, for a frame of its own."""
    return render_to_string("admin/knowledgebase/reader.html", {"title": title, "content": content})


def _compared_by_default(version: ArticleVersion, numbers: list[int]) -> int:
    published: int | None = version.article.published_number
    if version.number == version.article.number and published and published != version.number:
        return published
    return next((number for number in numbers if number < version.number), version.number)


@admin.register(ArticleVersion)
class ArticleVersionAdmin(UncountedMixin, ReadOnlyAdmin):
    """Versions of articles, to compare and to restore."""

    list_display = ("created_at", "article_title", "number", "state", "actor_name", "removed_summary")
    list_display_links = ("created_at",)
    search_fields = ("article__id__exact",)
    search_help_text = _("Id of an article")
    list_select_related = ("article",)
    fields = ("article_title", "number", "state_in_words", "created_at", "actor_name", "removed_summary", "shown")
    has_own_history = True  # read-only: Django's history would be empty
    actions_detail = ("compare", "restore")
    has_restore_permission = needs("knowledgebase.change_article")

    article_title = column(lambda version: link_to(version.article, version.title), description=_("article"))
    removed_summary = column(lambda version: removed_in_words(version.removed) or "–", description=_("taken out"))

    class Media:
        css = {"all": ("knowledgebase/reader.css",)}

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("article__search", "article__peaks", "article__content")

    @display(description=_("state"), label={"published": "success", "draft": "info", "earlier": "default"})
    def state(self, version: ArticleVersion) -> tuple[str, str]:
        if version.number == version.article.published_number:
            return "published", _now("published")
        if version.number == version.article.number:
            return "draft", _now("draft")
        return "earlier", _now("earlier")

    @display(description=_("state"))
    def state_in_words(self, version: ArticleVersion) -> str:
        return self.state(version)[1]

    @display(description=_("as readers see it"))
    def shown(self, version: ArticleVersion) -> str:
        # Escaped though it is safe HTML: here it is the value of an attribute.
        document = escape(reader_page(version.title, version.content))
        frame = '<iframe class="reader" sandbox="allow-same-origin" title="{}" srcdoc="{}"></iframe>'
        return format_html(frame, _now("Content"), document)

    @page_action(description=_("Compare"), url_path="compare", icon="difference")
    def compare(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """With the version that `with` names; else with what readers see, for a draft, or with the one before."""
        version = self.row_or_404(request, object_id, "view")
        versions = version.article.versions.select_related("article").defer("content").order_by("-number")
        numbers = [one.number for one in versions]
        asked = integer_of(request.GET.get("with"))
        chosen = _compared_by_default(version, numbers) if asked is None else asked
        other = version.article.versions.filter(number=chosen).first() or version
        older, newer = sorted((version, other), key=lambda one: one.number)
        return self.page(
            request,
            "admin/knowledgebase/compare.html",
            version,
            title=_now("Compare"),
            subtitle=version.title,
            version=version,
            others=[(one, self.state(one)[1]) for one in versions if one.number != version.number],
            chosen=other.number,
            older=older,
            newer=newer,
            comparison=compare(older.title, older.content, newer.title, newer.content),
            back_url=self.url_of("change", version.pk),
        )

    @page_action(description=_("Restore"), url_path="restore", icon="restore", permissions=["restore"])
    def restore(self, request: HttpRequest, object_id: str) -> HttpResponse:
        version = self.row_or_404(request, object_id, "restore")
        if request.method == "POST":
            restore_version(version.article, actor_of(request), version.number)
            sentence = _now("Version %(number)s is the newest draft again.") % {"number": version.number}
            self.message_user(request, sentence, messages.SUCCESS)
            return redirect(reverse("admin:knowledgebase_article_change", args=[version.article_id]))
        intro = _now("Title and content of this version become a new draft. Readers see it once it is published.")
        return self.action_page(
            request, title=_now("Restore"), submit=_now("Restore this version"), obj=version, intro=intro
        )
