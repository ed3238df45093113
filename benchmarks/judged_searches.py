"""Twenty searches of real text, for a person to judge: 5,000 documentation strings of Python's standard library.

python -m benchmarks.judged_searches
"""

import ast
import sys
import sysconfig
from collections.abc import Iterator
from html import escape
from pathlib import Path

from benchmarks.harness import manage, service

ARTICLES = 5000
# The hits that the docs show for a search.
SHOWN = 3
SEARCHES = (
    "read csv file",
    "parse date string",
    "open zip archive",
    "send email",
    "compress gzip",
    "regular expression match",
    "thread lock",
    "temporary file",
    "json decode",
    "url encode",
    "copy files recursively",
    "random number",
    "command line arguments",
    '"context manager"',
    "socket timeout -ssl",
    "sortd dictionary",
    "enviroment variables",
    "hash md5",
    "binary search insert",
    "os.path join",
)
LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "site-packages", "turtledemo"}


def documentation() -> Iterator[tuple[str, str]]:
    """Yield dotted names of modules, classes and functions with their documentation, in the order of the files."""
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        parts = path.relative_to(library).with_suffix("").parts
        if LEFT_OUT.isdisjoint(parts):
            tree = ast.parse(path.read_bytes())
            yield from _documented(tree, ".".join(part for part in parts if part != "__init__"))


def _documented(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
        text := ast.get_docstring(node)
    ):
        yield name, text
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(child, f"{name}.{child.name}")


def judge() -> None:
    """Fill a catalog, and print the hits of the searches."""
    from knowledgebase.models import Article, Catalog, Category, Term  # noqa: PLC0415  (Django must be set up)
    from knowledgebase.search import find  # noqa: PLC0415

    texts = sorted(dict(documentation()).items(), key=lambda named: (-len(named[1]), named[0]))[:ARTICLES]
    catalog = Catalog.objects.create(name="Python", language="english")
    packages = {name.partition(".")[0] for name, _text in texts}
    categories = {name: Category.objects.create(catalog=catalog, name=name) for name in sorted(packages)}
    articles = [
        Article(
            catalog=catalog,
            category=categories[name.partition(".")[0]],
            language=catalog.language,
            title=name,
            content=f"<pre>{escape(text)}</pre>",
            text=" ".join(text.split()),
            is_published=True,
            published_number=1,
        )
        for name, text in texts
    ]
    Article.objects.bulk_create(articles, batch_size=500)
    Term.objects.count_anew(catalog)
    print(f"{len(texts)} articles of {sum(len(text) for _name, text in texts) // len(texts)} characters on average\n")
    print("| search | hits | first hits |\n|---|---|---|")
    for text in SEARCHES:
        hits = find(catalog.pk, text) or []
        print(f"| `{text}` | {len(hits)} | {', '.join(hit.title for hit in hits[:SHOWN])} |")


def main() -> None:
    with service(0) as running:
        code = "from benchmarks.judged_searches import judge; judge()"
        print(f"Python {sys.version.split()[0]}: {manage(running.environment, 'shell', '-v0', '-c', code)}")


if __name__ == "__main__":
    main()
