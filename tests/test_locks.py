"""The two lock files: the packages of the service, and the developers' tools beside them."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = {path.parent.name for path in ROOT.glob("*/__init__.py")}
# The folders of programs that run with requirements.lock alone.
SHIPPED = [*sorted(OURS - {"tests"}), "deploy", "docs"]
# Modules that only developers use. The programs import them when an option asks for them.
FOR_DEVELOPERS = {"benchmarks/dialler/plots.py", "benchmarks/load/__main__.py", "benchmarks/load/trial.py"}
# Modules without a package: type checkers provide them.
FOR_TYPES = {"_typeshed"}
PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==([^ ;]+)", re.MULTILINE)


def pins(lock: str) -> dict[str, str]:
    """Return the version of each package of a lock."""
    return dict(PIN.findall((ROOT / lock).read_text()))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(requirements: list[str]) -> set[str]:
    """Return the names of the packages in requirements of pyproject.toml."""
    return {normal(re.split(r"[^\w.-]", requirement)[0]) for requirement in requirements}


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level names of all modules that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.slow("starts processes")
def test_the_service_imports_only_packages_of_its_own_lock() -> None:
    distributions, locked = packages_distributions(), pins("requirements.lock")
    files = [ROOT / "manage.py", *(path for folder in SHIPPED for path in (ROOT / folder).rglob("*.py"))]

    missing = {
        (str(path.relative_to(ROOT)), name)
        for path in files
        if str(path.relative_to(ROOT)) not in FOR_DEVELOPERS
        for name in imported(path)
        if name not in sys.stdlib_module_names | OURS | FOR_TYPES
        and not any(normal(distribution) in locked for distribution in distributions.get(name, []))
    }

    assert len(files) > 100
    assert missing == set()


def test_each_lock_has_its_packages_of_pyproject_and_those_of_both_have_one_version() -> None:
    wants, runs, develops = project(), pins("requirements.lock"), pins("requirements-dev.lock")
    tools, both = wanted(wants["dependency-groups"]["dev"]), runs.keys() & develops.keys()

    assert wanted(wants["project"]["dependencies"]) <= runs.keys()
    assert tools <= develops.keys()
    assert not tools & runs.keys()
    assert "django" in both
    assert {name for name in both if runs[name] != develops[name]} == set()


def test_the_locks_name_no_host() -> None:
    assert [
        line for lock in ROOT.glob("requirements*.lock") for line in lock.read_text().splitlines() if "//" in line
    ] == []
