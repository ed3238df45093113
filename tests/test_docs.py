"""The documents: the files that they name exist, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
# A folder ends with a slash, a file with an ending of ours. `<app>` and `*` stand for several.
PATH = re.compile(r"`((?:[\w.<>*{},-]+/)+(?:[\w.<>*{},-]+\.(?:py|md|html|js|css|sql|conf|yaml|toml|sh|service))?)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
TOP = {path.name for path in ROOT.iterdir()} - {"var"}


def paths_of(text: str) -> set[str]:
    """Return the paths from the root of the project that a text names in code marks."""
    return {path for path in PATH.findall(text) if path.split("/")[0] in TOP and not set("<>*{}") & set(path)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_named_files_exist(document: Path) -> None:
    missing = sorted(path for path in paths_of(document.read_text()) if not (ROOT / path).exists())

    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(document: Path) -> None:
    targets = {target for target in LINK.findall(document.read_text()) if "://" not in target}
    missing = sorted(target for target in targets if not (document.parent / target).exists())

    assert missing == []


def test_paths_are_found_in_a_text() -> None:
    text = "`callcentre/core/actor.py`, `<app>/api/`, `callcentre/gone.py`, `GET /api/ping`, `other/thing.py`"

    assert paths_of(text) == {"callcentre/core/actor.py", "callcentre/gone.py"}
