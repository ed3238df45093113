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
    """Every article of the catalog as a file, in a folder for its category, images beside it in `images`.

    What is written is the newest version, so that an import makes the same articles again; the head of the file says
    which are drafts. HTML loses nothing, Markdown what Markdown cannot say.
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
            # A draft of a published article is one: nobody has published it yet.
            "published": not article.has_draft,
        }
        # The id makes two articles of one title two files.
        path = directory / f"{_name(newest.title)[:80].strip()}-{str(article.pk)[:8]}.{kind}"
        path.write_text(front_matter.join(head, text, is_html=kind == "html"), encoding="utf-8")
        yield path


def _name(text: str) -> str:
    """A name that every file system takes."""
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
