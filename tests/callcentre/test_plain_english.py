import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "plain_english.py"


@pytest.fixture(scope="module")
def plain_english() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plain_english", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tickets" / "locale").mkdir(parents=True)
    (tmp_path / "tickets" / "rows.py").write_text(
        '"""Whose rows these are."""\n\n\ndef close() -> None:\n    """Close it."""\n    # he or his\n'
    )
    (tmp_path / "tickets" / "locale" / "text.txt").write_text("nobody")
    (tmp_path / "Makefile").write_text("# somebody\n")
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def test_within_the_bounds_the_check_passes(plain_english: ModuleType, tree: Path) -> None:
    assert plain_english.main(tree, [], (1, 3)) == 0


@pytest.mark.parametrize("bounds", [(0, 3), (1, 2)])
def test_one_finding_too_many_fails_the_check(
    plain_english: ModuleType, tree: Path, bounds: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert plain_english.main(tree, [], bounds) == 1
    expected = "tickets/rows.py:1: openings: Whose rows these are." if bounds[0] == 0 else "Makefile:1: pronouns:"
    assert expected in capsys.readouterr().out
