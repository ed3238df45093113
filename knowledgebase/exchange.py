"""Articles from and to a folder of files, each with a head (front matter) of id, title, author and state.

The head is YAML between two lines of dashes. The library python-frontmatter reads no head inside an HTML comment and
leaves YAML to PyYAML, so it would not shorten this module.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote
from uuid import UUID

import yaml
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdownify import markdownify

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.html_cleaning import unescape
from knowledgebase.html import IMAGE_SOURCE, text_of
from knowledgebase.models import Article, ArticleImage, Catalog, Category
from knowledgebase.verbs.articles import create_article, edit_article, publish_article
from knowledgebase.verbs.images import create_image
from telephony.models import Agent

NAMES = ("id", "title", "author", "published")
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_COMMENT = re.compile(r"\A\ufeff?\s*<!--[ \t]*\r?\n(.*?)\r?\n[ \t]*-->", re.DOTALL)
_NAMED = rf"^[\"']?(?:{'|'.join(NAMES)})[\"']?[ \t]*:"
_IS_OURS = re.compile(_NAMED, re.IGNORECASE | re.MULTILINE)
# A plain value: it begins with none of the characters that have a meaning in YAML.
_AS_IT_STANDS = re.compile(rf"({_NAMED}[ \t]+)([^\s\"'\[\]{{}}>|*&!%#`@,?:-].*)$", re.IGNORECASE | re.MULTILINE)
# Longer heads take seconds to parse.
_LONGEST_HEAD = 20_000


def split(text: str) -> tuple[dict[str, str], str]:
    """Return the values of the head by name, and the text. An HTML file has its head in a comment."""
    found = _HEAD.match(text) or _COMMENT.match(text)
    if found is not None and _IS_OURS.search(found[1]):
        values = _values(found[1].replace("\r", ""))
        if values:
            return values, text[found.end() :]
    return {}, text.removeprefix("\ufeff")


def join(values: dict[str, str | bool], text: str, *, is_html: bool) -> str:
    first, last = ("<!--", "-->") if is_html else ("---", "---")
    # Two dashes and a bracket would end the comment.
    safe = {name: value.replace("-->", "--&gt;") if isinstance(value, str) else value for name, value in values.items()}
    head = yaml.safe_dump(safe, allow_unicode=True, sort_keys=False, width=float("inf"))
    return "\n".join([first, head.rstrip("\n"), last, "", text.strip(), ""])


def _values(head: str) -> dict[str, str]:
    values = {}
    read = _read_head(head)
    for name, value in read.items() if isinstance(read, dict) else ():
        known = name.strip().lower()
        if known not in NAMES:
            continue
        if not isinstance(value, str):
            raise ValidationError(_("The head of the file has no text as its %(name)s."), params={"name": known})
        values[known] = " ".join(value.split()).replace("--&gt;", "-->")
    return values


def _read_head(head: str) -> Any:
    if len(head) > _LONGEST_HEAD:
        raise ValidationError(
            _("The head of the file has more than %(limit)s characters."), params={"limit": _LONGEST_HEAD}
        )
    # A colon in a plain value (`title: Returns: how they work`) is no valid YAML. Quote such values and parse again.
    quoted = _AS_IT_STANDS.sub(lambda line: line[1] + json.dumps(line[2].rstrip(), ensure_ascii=False), head)
    try:
        with suppress(yaml.MarkedYAMLError):
            return _parsed(head)
        return _parsed(quoted)
    except (yaml.YAMLError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise ValidationError(_("The head of the file is no YAML: %(problem)s"), params={"problem": problem}) from error


def _parsed(head: str) -> Any:
    """Return the content of the YAML with each value as text, because a title may be 2026, or "no"."""
    return yaml.load(head, Loader=yaml.BaseLoader)  # noqa: S506  (it makes texts, lists and mappings only)


Format = Literal["html", "md"]
_UNFIT = re.compile(r"[^\w. -]+")


def export_folder(catalog: Catalog, folder: Path, kind: Format = "html") -> Iterator[Path]:
    """Write each article of the catalog to a file in the folder of its category, and its images to `images` there.

    Write the newest version, so that an import makes the same articles again; the head of the file marks drafts. HTML
    keeps everything; Markdown keeps what it can express.
    """
    articles = Article.objects.filter(catalog=catalog).select_related("category", "author").order_by("title", "id")
    for article in articles.iterator(chunk_size=200):
        newest = article.newest
        directory = folder / Path(*(_name(part) for part in article.category.name.split(" / ")))
        directory.mkdir(parents=True, exist_ok=True)
        html = _with_files(article, newest.content, directory)
        text = html if kind == "html" else markdownify(html, heading_style="ATX", bullets="-")
        head: dict[str, str | bool] = {
            "id": str(article.pk),
            "title": newest.title,
            "author": article.author.login if article.author else "",
            # The file holds the newest version, so a published article with a draft is written as a draft.
            "published": not article.has_draft,
        }
        # The id tells the files of two articles with one title apart.
        path = directory / f"{_name(newest.title)[:80].strip()}-{str(article.pk)[:8]}.{kind}"
        path.write_text(join(head, text, is_html=kind == "html"), encoding="utf-8")
        yield path


def _name(text: str) -> str:
    """Return a name that is valid in each file system."""
    return _UNFIT.sub("-", text).strip(" .-") or "untitled"


def _with_files(article: Article, html: str, directory: Path) -> str:
    files = {}
    for image in article.images.all():
        if str(image.pk) in html:
            path = directory / "images" / f"{image.pk}{Path(str(image.file.name)).suffix}"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(image.file.read())
            files[str(image.pk)] = f"images/{path.name}"
    return IMAGE_SOURCE.sub(lambda source: files.get(source[1], source[0]), html)


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
    head, text = split(_read(path))
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
