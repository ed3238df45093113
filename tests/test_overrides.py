"""A method that overrides one of a framework calls it, or its docstring says what happens instead."""

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.test_architecture import LAYERS, ROOT

# Methods in which Django, DRF, Celery and Unfold do more than to return what a subclass may choose.
HOOKS = {
    *("initial", "dispatch", "check_permissions", "check_throttles", "finalize_response", "handle_exception"),
    *("authenticate", "get_user", "process_request", "process_response"),
    *("save", "delete", "full_clean", "clean", "_post_clean"),
    *("save_form", "save_model", "save_related", "save_formset"),
    *("delete_model", "delete_queryset", "response_add", "response_change", "response_delete", "get_object"),
    *("changelist_view", "change_view", "add_view", "delete_view", "history_view", "user_change_password"),
    *("log_addition", "log_change", "log_deletions", "has_changed", "verify_token"),
    *("setup_schedule", "tick", "apply_entry", "adjust", "on_failure", "close"),
}


def overrides() -> Iterator[tuple[type, str, Any]]:
    """Yield (class, name, function) of each method of ours that a framework has too."""
    for app in LAYERS:
        for found in pkgutil.walk_packages([str(ROOT / app)], f"{app}.") if (ROOT / app).exists() else ():
            module = importlib.import_module(found.name)
            for _name, cls in inspect.getmembers(module, inspect.isclass):
                if cls.__module__ == module.__name__:
                    for name in HOOKS & vars(cls).keys():
                        if inspect.isfunction(vars(cls)[name]) and _is_of_framework(cls, name):
                            yield cls, name, vars(cls)[name]


def _is_of_framework(cls: type, name: str) -> bool:
    """Return whether the method that is overridden is of a framework, and has more than one statement."""
    base = next((base for base in cls.__mro__[1:] if name in vars(base)), None)
    if base is None or not inspect.isfunction(vars(base)[name]):
        return False
    path = inspect.getsourcefile(vars(base)[name]) or ""
    [function] = ast.parse(textwrap.dedent(inspect.getsource(vars(base)[name]))).body
    steps = [step for step in function.body if not isinstance(step, ast.Expr) or isinstance(step.value, ast.Call)]  # type: ignore[attr-defined]
    return len(steps) > 1 and (not Path(path).is_relative_to(ROOT) or ".venv" in path)


@pytest.mark.slow("reads the whole code")
def test_an_override_calls_what_it_overrides_or_says_what_happens_instead() -> None:
    found = list(overrides())
    silent = [
        f"{cls.__module__}.{cls.__qualname__}.{name}"
        for cls, name, function in found
        if "super()" not in inspect.getsource(function) and not function.__doc__
    ]

    assert len(found) > 20
    assert silent == [], "\n".join(silent)
