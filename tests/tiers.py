"""A pytest plug-in for the tiers of the tests: quick ones, slow ones with a reason, and trials.

`make test` runs the quick tests. CI also runs the slow ones (`make slow`), but those that are marked `trial`, and
`make trials` runs all. A test is slow if it is marked `slow("reason")`, or if it starts a process: if its code, that
of its fixtures, or the code of tests that these call, names `subprocess`. The end of a run lists the tests in the
wrong tier, and `make trials` fails for those that are far off. Processor time decides, because it depends less on the
load of the machine; the time of fixtures does not count.
"""

import inspect
import os
import subprocess
from collections.abc import Generator, Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from callcentre.launch.embedded import temporary_stores

STARTERS = {subprocess, subprocess.Popen, subprocess.run, sync_playwright, temporary_stores}
# Seconds of processor time: more makes a test slow, less makes a mark needless. A test between them may have one.
MOST_OF_QUICK, LEAST_OF_SLOW = 0.5, 0.15
_in_trials = False


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--strict-tiers", action="store_true", help="fail if tests are in the wrong tier")


def examples(count: int, part: int = 4) -> int:
    """Return how many examples of a property are tried: this number in `make trials`, a part of it elsewhere."""
    return count if _in_trials else max(count // part, 2)


def pytest_configure(config: pytest.Config) -> None:
    global _in_trials  # noqa: PLW0603  (read by the modules of tests as they are collected)
    _in_trials = config.option.strict_tiers
    config.addinivalue_line("markers", "slow(reason): runs in CI and in `make trials`, not in `make test`")
    config.addinivalue_line("markers", "trial: a slow test that runs in `make trials` only")
    config.addinivalue_line("markers", "walk(id, ...): only `make trials` has the other cases of a test")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[Any]) -> Iterator[None]:
    for item in items:
        starts_process = _starts_process(item)
        by_hand = item.get_closest_marker("slow")
        if starts_process and not by_hand:
            item.add_marker(pytest.mark.slow("starts a process"))
        walk = item.get_closest_marker("walk")
        if walk and getattr(item, "callspec", None) and item.callspec.id not in walk.args:
            item.add_marker(pytest.mark.trial)
            # Also if each case is quick: `make test` runs the chosen ones.
            item.add_marker(pytest.mark.slow("a case of a walk"))
        is_own = any(mark.name == "slow" for mark in item.function.__dict__.get("pytestmark", ()))
        item.user_properties.append(("marked", item.nodeid.partition("[" if is_own else "::")[0]))
        item.user_properties.append(("tier", "found" if starts_process else "marked" if by_hand else "quick"))
    yield
    items[:] = _in_shares(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _in_shares(items: list[Any], count: int) -> list[Any]:
    """Return the tests so that each process of a run begins with a share of the slow ones: none is left for the end."""
    slow = [item for item in items if item.get_closest_marker("slow")]
    quick = [item for item in items if not item.get_closest_marker("slow")]

    def share(tests: list[Any], number: int) -> list[Any]:
        return tests[len(tests) * number // count : len(tests) * (number + 1) // count]

    return [item for number in range(count) for item in share(slow, number) + share(quick, number)]


def _starts_process(item: Any) -> bool:
    """Return whether a test, a fixture of it, or code of the tests that these call, names what starts a process."""
    found = {item.function}
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        found.update(definition.func for definition in definitions)
    waiting = list(found)
    while waiting:
        called = _called_by(waiting.pop())
        if not called.isdisjoint(STARTERS):
            return True
        waiting += called - found
        found |= called
    return False


@cache
def _called_by(caller: Any) -> frozenset[Any]:
    """Return the functions, classes and modules that a function or class of the tests names."""
    caller = inspect.unwrap(caller)
    if not (getattr(caller, "__module__", None) or "").startswith("tests."):
        return frozenset()
    if inspect.isclass(caller):
        return frozenset(part for part in vars(caller).values() if isinstance(part, FunctionType))
    if not isinstance(caller, FunctionType):
        return frozenset()
    values = [caller.__globals__[name] for name in _names(caller.__code__) if name in caller.__globals__]
    kinds = (FunctionType, type, ModuleType)
    return frozenset(value for value in values if isinstance(value, kinds))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    before = os.times()
    try:
        return (yield)
    finally:
        after = os.times()
        # The times of this process, and of its children that have ended.
        item.user_properties.append(("seconds", sum(after[:4]) - sum(before[:4])))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    is_wrong = reporter and any(is_sure for _line, is_sure in _in_wrong_tier(reporter))
    if session.config.option.strict_tiers and is_wrong and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if wrong := list(_in_wrong_tier(terminalreporter)):
        terminalreporter.section("tests in the wrong tier (docs/contributing.md)")
        for line, _is_sure in sorted(wrong):
            terminalreporter.line(line)


def _in_wrong_tier(reporter: Any) -> Iterator[tuple[str, bool]]:
    """Yield the quick tests that take too long, and the marks of which no test takes long; and whether that is sure.

    On a busy machine a test takes up to twice its processor time.
    """
    longest: dict[str, float] = {}
    for report in reporter.stats.get("passed", []):
        facts = dict(report.user_properties)
        if report.when != "call" or "seconds" not in facts:
            continue
        seconds, tier = facts["seconds"], facts["tier"]
        if tier == "quick" and seconds > MOST_OF_QUICK:
            yield f"{seconds:.1f} s, and is not marked: {report.nodeid}", seconds > 2 * MOST_OF_QUICK
        elif tier == "marked":
            longest[facts["marked"]] = max(seconds, longest.get(facts["marked"], 0.0))
    for marked, seconds in longest.items():
        if seconds < LEAST_OF_SLOW:
            yield f"{seconds:.1f} s at most, and is marked as slow: {marked}", seconds < LEAST_OF_SLOW / 2
