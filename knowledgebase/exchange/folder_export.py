import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from markdownify import markdownify

from knowledgebase.exchange import front_matter
from knowledgebase.html import IMAGE_SOURCE
from knowledgebase.models import Article, Catalog

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
        path.write_text(front_matter.join(head, text, is_html=kind == "html"), encoding="utf-8")
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
