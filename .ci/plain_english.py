"""Count sentences that are hard to read, and fail if there are more than the bounds: run by `make check`.

A docstring must not begin with a relative word, and product code and documents should have the noun instead of a
pronoun: see Plain English in docs/contributing.md. `--list` prints all findings.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# Lower these when the counts fall.
MOST_OPENINGS = 0
MOST_PRONOUNS = 8

ROOT = Path(__file__).resolve().parent.parent
APPS = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")
OPENINGS = re.compile(r"(What|Of|Who|Whose|Whoever|Whom|By|Which|As|Nobody|Nothing|None|That|Until)\b")
PRONOUNS = re.compile(
    r"\b(he|his|him|himself|(?:who|what|which|wher)ever|(?:no|some|any|every)body|(?:some|any|every)one)\b",
    re.IGNORECASE,
)
SUFFIXES = frozenset((".py", ".html", ".js", ".md", ".txt", ".toml"))


def product_files(root: Path) -> Iterator[Path]:
    for folder in (*APPS, "benchmarks", "docs", ".ci"):
        for path in sorted((root / folder).rglob("*")):
            is_ours = path.suffix in SUFFIXES and "locale" not in path.parts and ".min." not in path.name
            if is_ours and "vendor" not in path.parts and path != Path(__file__):
                yield path
    yield from (root / "Makefile", root / "pyproject.toml")


def riddling_openings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the first sentence of each docstring that begins with one of the words."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node) or ""
            if OPENINGS.match(text):
                yield getattr(node, "lineno", 1), text.splitlines()[0]


def pronouns(source: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each pronoun."""
    for number, line in enumerate(source.splitlines(), 1):
        for _ in PRONOUNS.findall(line):
            yield number, line.strip()


def main(root: Path, arguments: list[str], most: tuple[int, int] = (MOST_OPENINGS, MOST_PRONOUNS)) -> int:
    findings: dict[str, list[str]] = {"openings": [], "pronouns": []}
    for path in product_files(root):
        source = path.read_text(errors="replace")
        searches = {"pronouns": pronouns} | ({"openings": riddling_openings} if path.suffix == ".py" else {})
        for kind, search in searches.items():
            findings[kind] += [f"{path.relative_to(root)}:{line}: {kind}: {text}" for line, text in search(source)]
    is_too_much = False
    for (kind, found), bound in zip(findings.items(), most, strict=True):
        is_over = len(found) > bound
        is_too_much |= is_over
        if is_over or "--list" in arguments:
            print("\n".join(found))
        print(f"{len(found)} {kind}; at most {bound} are allowed")
    return int(is_too_much)


if __name__ == "__main__":
    sys.exit(main(ROOT, sys.argv[1:]))
