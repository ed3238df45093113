import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from markdown_it import MarkdownIt

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.html_cleaning import unescape
from knowledgebase.exchange import front_matter
from knowledgebase.html import text_of
from knowledgebase.models import Article, ArticleImage, Catalog, Category
from knowledgebase.verbs.articles import create_article, edit_article, publish_article
from knowledgebase.verbs.images import create_image
from telephony.models import Agent

SUFFIXES = (".md", ".markdown", ".html", ".htm")
_HEADING = re.compile(r"\A\s*<h1\b[^<>]*>(.*?)</h1>", re.DOTALL | re.IGNORECASE)
_PARTS = {
    tag: (re.compile(rf"<{tag}\b[^<>]*>", re.IGNORECASE), re.compile(rf"</{tag}\s*>", re.IGNORECASE))
    for tag in ("title", "body")
}
_SOURCE = re.compile(r"""(<img\b[^<>]*?\ssrc\s*=\s*)("([^"]*)"|'([^']*)')""", re.IGNORECASE)
# Bytes of a file: the longest article, with room for markup and the page around it.
_LONGEST_FILE = 8 * 1024 * 1024
_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@dataclass(slots=True)
class Outcome:
    """The result of one file."""

    path: Path
    article: Article | None = None
    is_new: bool = False
    is_changed: bool = False
    removed: dict[str, int] = field(default_factory=dict)
    problem: str = ""


def import_folder(actor: Actor, catalog: Catalog, folder: Path, *, publish: bool = True) -> Iterator[Outcome]:
    """Import each Markdown and HTML file of the folder. Sub-folders are categories.

    A file with the id of an article of the catalog changes that article, as does a file without an id if its category
    has an article with its title. Files are independent: if one cannot be read, its outcome says so, and the import
    goes on. Nothing outside the folder is read.
    """
    folder = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES and path.is_file() and path.resolve().is_relative_to(folder):
            outcome = Outcome(path.relative_to(folder))
            try:
                with transaction.atomic():
                    _import(actor, catalog, folder, path, outcome, publish=publish)
            except ValidationError as error:
                outcome.problem = " ".join(error.messages)
            except (OSError, UnicodeDecodeError) as error:
                outcome.problem = str(error)
            yield outcome


def _import(actor: Actor, catalog: Catalog, folder: Path, path: Path, outcome: Outcome, *, publish: bool) -> None:
    head, text = front_matter.split(_read(path))
    is_markdown = path.suffix.lower() in (".md", ".markdown")
    html = _MARKDOWN.render(text) if is_markdown else text
    title = head.get("title") or text_of(_inside(html, "title"))
    html = _inside(html, "body") or html
    if heading := _HEADING.match(html):
        # Readers see the title above the text, so a heading that repeats it is removed.
        html = html[heading.end() :] if text_of(heading[1]) == title or not title else html
        title = title or text_of(heading[1])
    title = title or path.stem.replace("-", " ").replace("_", " ")
    category = _category(catalog, path.relative_to(folder))
    pk = _uuid(head.get("id", ""))
    known = _known(catalog, category, pk, title)
    html = _with_images(actor, html, folder, path, known)
    before: tuple[Any, ...] = ()
    author = Agent.objects.filter(login=head["author"]).first() if head.get("author") else None
    is_published = publish and head.get("published", "true").lower() not in ("false", "no", "0")
    if known is None:
        is_free = pk is not None and not Article.objects.filter(pk=pk).exists()
        outcome.article, cleaned = create_article(
            actor,
            category_id=category.pk,
            title=title,
            content=html,
            author=author,
            pk=pk if is_free else None,
        )
        outcome.is_new = True
    else:
        outcome.article = known
        before = _state(known)
        values: dict[str, Any] = {"author": author} if author else {}
        cleaned = edit_article(known, actor, title=title, content=html, category_id=category.pk, **values)
    if is_published:
        publish_article(outcome.article, actor)
    outcome.is_changed = known is not None and _state(known) != before
    outcome.removed = cleaned.removed


def _read(path: Path) -> str:
    if path.stat().st_size > _LONGEST_FILE:
        raise Invalid([Fault(ErrorCode.FILE_TOO_LARGE, "", {"limit": _LONGEST_FILE // 1024 // 1024})])
    return path.read_text(encoding="utf-8")


def _inside(html: str, tag: str) -> str:
    """Return the text between the first such tag and its end tag (the last one of a body); "" if one is missing."""
    begins, ends = _PARTS[tag]
    if not (begin := begins.search(html)):
        return ""
    places = [end.start() for end in ends.finditer(html, begin.end())]
    return html[begin.end() : places[-1 if tag == "body" else 0]] if places else ""


def _state(article: Article) -> tuple[Any, ...]:
    return article.number, article.published_number, article.category_id, article.author_id


def _category(catalog: Catalog, path: Path) -> Category:
    name = " / ".join(path.parts[:-1])[:200] or "General"
    return Category.objects.get_or_create(catalog=catalog, name=name)[0]


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _known(catalog: Catalog, category: Category, pk: UUID | None, title: str) -> Article | None:
    articles = Article.objects.filter(catalog=catalog)
    if pk is not None:
        found: Article | None = articles.filter(pk=pk).first()
        return found
    same: Article | None = articles.filter(category=category, title=title).order_by("id").first()
    return same


def _with_images(actor: Actor, html: str, folder: Path, path: Path, known: Article | None) -> str:
    """Store the images that stand beside the file, unless the article has them, and point the HTML to them.

    The sanitiser removes images that do not exist or are no images.
    """

    def keep(source: re.Match[str]) -> str:
        name = unquote(unescape(source[3] if source[3] is not None else source[4])).partition("?")[0]
        if "://" in name or name.startswith(("/", "data:")):
            return source[0]
        file = (path.parent / name).resolve()
        if not file.is_relative_to(folder) or not file.is_file():
            return source[0]
        content = file.read_bytes()
        try:
            image = _attached(known, content) or create_image(actor, file.name, content)
        except ValidationError:
            return source[0]
        return f'{source[1]}"{escape(image.path)}"'

    return _SOURCE.sub(keep, html)


def _attached(article: Article | None, content: bytes) -> ArticleImage | None:
    images = article.images.filter(size=len(content)) if article else ()
    return next((image for image in images if image.file.read() == content), None)
