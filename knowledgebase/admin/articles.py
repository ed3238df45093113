from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, QuerySet
from django.forms.models import construct_instance
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanWidget

from callcentre.admin import Admin, HistoryMixin, actor_of, column, confirm_first, display, page_action
from callcentre.admin.history import SHOWN, Entry, entry_of
from callcentre.admin.lists import ConditionFilter
from callcentre.admin.scope import RelatedDropdownFilter
from callcentre.admin.theme import ModelForm
from callcentre.core.errors import ErrorCode, Invalid
from knowledgebase.admin.versions import ACTIONS, changes_of, reader_page, removed_in_words
from knowledgebase.html import Cleaned
from knowledgebase.models import Article
from knowledgebase.models.article import HAS_DRAFT, IS_VOTED_DOWN
from knowledgebase.verbs.articles import create_article, delete_article, edit_article, publish_article, withdraw_article
from knowledgebase.verbs.images import create_image

MAX_IMAGES = 20


class ArticleForm(ModelForm):
    """The newest version, whether readers see it or not."""

    # The version that the page showed.
    began_with = forms.IntegerField(widget=forms.HiddenInput, required=False)
    publish = forms.BooleanField(
        label=_("Publish at once"),
        required=False,
        widget=UnfoldBooleanWidget(),
        help_text=_("Otherwise this is kept as a draft, which readers do not see or find."),
    )

    class Meta:
        model = Article
        fields = ("title", "category", "author", "content")
        widgets = {
            "content": UnfoldAdminTextareaWidget(
                attrs={
                    "data-editor": "1",
                    "data-upload": reverse_lazy("admin:knowledgebase_article_images"),
                    "rows": 20,
                }
            )
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and self.instance._state.db:
            newest = self.instance.newest
            self.initial.update(title=newest.title, content=newest.content, began_with=self.instance.number)
        if author := self.fields.get("author"):
            author.required = False

    def _post_clean(self) -> None:
        """Set the fields without validation: the verb validates, and nothing is saved before."""
        self.instance = construct_instance(self, self.instance, self._meta.fields)


class StateFilter(ConditionFilter):
    title = _("state")
    parameter_name = "state"
    conditions = {
        "published": (_("published"), Q(is_published=True)),
        "draft": (_("with a draft"), HAS_DRAFT),
        "down": (_("voted down"), IS_VOTED_DOWN),
    }


@admin.register(Article)
class ArticleAdmin(HistoryMixin, Admin):
    """Articles: published ones, drafts, and those that did not help readers."""

    form = ArticleForm
    # The page sends the number of the version that it showed.
    sends_shown_values = False
    list_display = ("title", "category", "catalog", "state", "written_by", "helpful", "updated_at")
    list_filter = (StateFilter, ("catalog", RelatedDropdownFilter), ("category", RelatedDropdownFilter))
    list_select_related = ("category", "catalog", "author")
    search_fields = ("title", "id__exact")
    search_help_text = _("Part of the title, or an id")
    ordering = ("-updated_at", "id")
    actions = ("publish_selected", "unpublish_selected")
    actions_detail = ("preview", "changes", "publish", "unpublish", "versions")
    autocomplete_fields = ()
    fault_fields = {"category_id": "category"}
    sentences = {
        ErrorCode.EMPTY: _("This field cannot be empty."),
        ErrorCode.TOO_LONG: _("At most %(limit)s characters."),
    }
    readonly_fields = ("identifier", "feedback")

    identifier = column(lambda article: str(article.pk), description=_("id"))

    class Media:
        css = {"all": ("callcentre/jodit/jodit.min.css", "callcentre/editor.css")}
        js = ("callcentre/jodit/jodit.min.js", "callcentre/editor.js")

    def get_fieldsets(self, request: HttpRequest, obj: Article | None = None) -> Any:
        about = ["title", "category", "author"]
        text = ["content"]
        if self.has_change_permission(request, obj):
            text += ["publish", "began_with"] if obj else ["publish"]
        extra = [(_("Readers"), {"fields": ["identifier", "feedback"]})] if obj else []
        return [(None, {"fields": about}), (_("Content"), {"fields": text}), *extra]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Article]:
        articles: QuerySet[Article] = super().get_queryset(request).defer("search", "peaks", "content", "text")
        return articles

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if db_field.name == "category" and field is not None:
            categories = field.queryset.select_related("catalog").order_by("catalog__name", "order", "name", "id")
            field.queryset = categories
            field.label_from_instance = lambda category: f"{category.catalog.name}: {category.name}"
        return field

    # The list

    @display(description=_("state"), label={"published": "success", "changed": "warning", "draft": "info"})
    def state(self, article: Article) -> tuple[str, str]:
        if not article.is_published:
            return "draft", _now("draft")
        return ("changed", _now("published, newer draft")) if article.has_draft else ("published", _now("published"))

    @display(description=_("author"), ordering="author__surname", empty_value="–")
    def written_by(self, article: Article) -> str | None:
        return (article.author.full_name or article.author.login) if article.author else None

    @display(description=_("helpful"), ordering=F("positive_count") - F("negative_count"))
    def helpful(self, article: Article) -> str:
        return f"+{article.positive_count} −{article.negative_count}"

    @admin.action(description=_("Publish"), permissions=["change"])
    def publish_selected(self, request: HttpRequest, articles: QuerySet[Article]) -> None:
        said = ngettext_lazy("%(count)s article published.", "%(count)s articles published.", "count")
        self.apply_and_say(request, articles, publish_article, said)

    @admin.action(description=_("Withdraw"), permissions=["change"])
    @confirm_first(_("Readers no longer see or find the articles. Each is a draft again."), is_published=True)
    def unpublish_selected(self, request: HttpRequest, articles: QuerySet[Article]) -> None:
        said = ngettext_lazy("%(count)s article withdrawn.", "%(count)s articles withdrawn.", "count")
        self.apply_and_say(request, articles.filter(is_published=True), withdraw_article, said)

    # The page

    @display(description=_("feedback"))
    def feedback(self, article: Article) -> str:
        counts = {"positive": article.positive_count, "negative": article.negative_count}
        return _now("%(positive)s helpful, %(negative)s not helpful") % counts

    def history_of(self, obj: Article) -> list[Entry]:
        return [entry_of(change, changes_of(change), ACTIONS) for change in obj.changes.all()[:SHOWN]]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = form.cleaned_data
        text = {"title": values["title"], "content": values["content"]}
        place = {"category_id": values["category"].pk, "author": values["author"]}
        actor = actor_of(request)
        if change:
            article = Article.objects.get(pk=obj.pk)
            cleaned = edit_article(article, actor, **text, **place, number=values["began_with"])
            if values["publish"]:
                publish_article(article, actor)
        else:
            article, cleaned = create_article(actor, **text, **place, publish=values["publish"])
            obj.__dict__.update(article.__dict__)
        self._say_removed(request, cleaned)

    def delete_model(self, request: HttpRequest, obj: Article) -> None:
        delete_article(obj, actor_of(request))

    def _say_removed(self, request: HttpRequest, cleaned: Cleaned) -> None:
        if cleaned.removed:
            sentence = _now("Taken out, as articles cannot have it: %(what)s.")
            self.message_user(request, sentence % {"what": removed_in_words(cleaned.removed)}, messages.WARNING)

    # What can be done with an article

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Leave out actions that would change nothing: a draft cannot be withdrawn, one version not compared."""
        actions = super().get_actions_detail(request, object_id)
        article = self.get_object(request, object_id)
        if article is None:
            return actions
        useless = {
            "knowledgebase_article_publish": article.is_published and not article.has_draft,
            "knowledgebase_article_unpublish": not article.is_published,
            "knowledgebase_article_changes": article.number == 1,
        }
        return [action for action in actions if not useless.get(action.action_name)]

    @page_action(description=_("Preview"), url_path="preview", icon="visibility")
    def preview(self, request: HttpRequest, object_id: str) -> HttpResponse:
        article = self.row_or_404(request, object_id, "view")
        newest = article.newest
        note = _now("As readers see it now.")
        if not article.is_published:
            note = _now("A draft: as readers would see it. They do not see it yet.")
        elif article.has_draft:
            note = _now("The newest draft: readers still see version %(number)s.") % {
                "number": article.published_number
            }
        return self.page(
            request,
            "admin/knowledgebase/preview.html",
            article,
            title=_now("Preview"),
            subtitle=newest.title,
            note=note,
            document=str(reader_page(newest.title, newest.content)),
            back_url=self.url_of("change", article.pk),
        )

    @page_action(description=_("Publish"), url_path="publish", icon="publish", permissions=["change"])
    def publish(self, request: HttpRequest, object_id: str) -> HttpResponse:
        article = self.row_or_404(request, object_id)
        verb = partial(publish_article, article, actor_of(request))
        intro = _now("Readers see and find the newest version at once.")
        said = _now("The article is published.")
        return self.ask_and_do(request, article, verb, title=_now("Publish"), intro=intro, said=said)

    @page_action(description=_("Withdraw"), url_path="withdraw", icon="unpublished", permissions=["change"])
    def unpublish(self, request: HttpRequest, object_id: str) -> HttpResponse:
        article = self.row_or_404(request, object_id)
        verb = partial(withdraw_article, article, actor_of(request))
        intro = _now("Readers no longer see or find it. Its versions and votes stay.")
        said = _now("The article is withdrawn.")
        return self.ask_and_do(request, article, verb, title=_now("Withdraw"), intro=intro, said=said)

    @page_action(description=_("Versions"), url_path="versions", icon="history")
    def versions(self, request: HttpRequest, object_id: str) -> HttpResponse:
        article = self.row_or_404(request, object_id, "view")
        return redirect(f"{reverse('admin:knowledgebase_articleversion_changelist')}?q={article.pk}")

    @page_action(description=_("Changes"), url_path="changes", icon="difference")
    def changes(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what readers would see differently if the draft were published."""
        article = self.row_or_404(request, object_id, "view")
        if (newest := article.newest)._state.adding:
            raise Http404
        return redirect(reverse("admin:knowledgebase_articleversion_compare", args=[newest.pk]))

    # Images

    def get_urls(self) -> Any:
        return [self.url_to("images", self.images, "images"), *super().get_urls()]

    def images(self, request: HttpRequest) -> JsonResponse:
        """Store images that the editor sends. They belong to the article once it is saved."""
        if not (self.has_change_permission(request) or self.has_add_permission(request)):
            raise PermissionDenied
        # The editor names them image, image[0], …
        files = [file for _name, several in request.FILES.lists() for file in several]
        if not files or len(files) > MAX_IMAGES:
            return JsonResponse({"error": _now("Send 1 to %(count)s images.") % {"count": MAX_IMAGES}}, status=400)
        try:
            kept = [create_image(actor_of(request), str(file.name), file.read()) for file in files]
        except Invalid as error:
            return JsonResponse({"error": " ".join(fault.message for fault in error.faults)}, status=400)
        return JsonResponse({"files": [image.path for image in kept]})
