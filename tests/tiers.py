"""A pytest plug-in for the two tiers of the tests: quick ones, and slow ones with a reason.

`make test` runs the quick tests. CI also runs the slow ones that are `chosen`, and `make trials` runs all. A test is
slow if it is marked `slow("reason")`, or if it uses a fixture that starts Chromium, stores or web servers. The end of a
run lists the tests in the wrong tier, and fails with `--strict-tiers`. Processor time decides, because it depends less
on the load of the machine; the time of fixtures does not count.
"""

import os
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest

# Fixture -> the reason why tests with it are slow.
FIXTURES = {
    "chromium": "opens pages in Chromium",
    "spare_stores": "starts a PostgreSQL and a Valkey of its own",
    "servers": "starts web servers",
}
# Seconds of processor time: more makes a test slow, less makes a mark needless. A test between them may have one.
MOST_OF_QUICK, LEAST_OF_SLOW = 0.5, 0.15

_started: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--strict-tiers", action="store_true", help="fail if a test is in the wrong tier")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow(reason): runs in `make trials`, and in CI if it is `chosen`")
    config.addinivalue_line("markers", "chosen: a slow test that CI runs")
    sys.addaudithook(lambda event, given: _started.append(str(given[0])) if event == "subprocess.Popen" else None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        found = [reason for name, reason in FIXTURES.items() if name in getattr(item, "fixturenames", ())]
        by_hand = item.get_closest_marker("slow")
        if found and not by_hand:
            item.add_marker(pytest.mark.slow(found[0]))
        item.user_properties.append(("tier", "found" if found else "marked" if by_hand else "quick"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    _started.clear()
    before = os.times()
    try:
        return (yield)
    finally:
        after = os.times()
        # Real and processor times of this process, and of its children that have ended.
        item.user_properties.append(("seconds", sum(after[:4]) - sum(before[:4])))
        item.user_properties.append(("started", len(_started)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if wrong := list(_in_wrong_tier(terminalreporter)):
        terminalreporter.section("tests in the wrong tier (docs/contributing.md)")
        for line in sorted(wrong):
            terminalreporter.line(line)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("--strict-tiers") and reporter and any(_in_wrong_tier(reporter)):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def _in_wrong_tier(reporter: Any) -> Iterator[str]:
    for report in reporter.stats.get("passed", []):
        facts = dict(report.user_properties)
        if report.when != "call" or "seconds" not in facts:
            continue
        seconds, tier = facts["seconds"], facts["tier"]
        if tier == "quick" and facts["started"]:
            yield f"starts a process, and is not marked: {report.nodeid}"
        elif tier == "quick" and seconds > MOST_OF_QUICK:
            yield f"{seconds:.1f} s, and is not marked: {report.nodeid}"
        elif tier == "marked" and seconds < LEAST_OF_SLOW and not facts["started"]:
            yield f"{seconds:.1f} s, and is marked as slow: {report.nodeid}"
