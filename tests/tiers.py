"""A pytest plug-in for the tiers of the tests: quick ones, slow ones with a reason, and trials.

`make test` runs the quick tests. CI also runs the slow ones (`make slow`), but those that are marked `trial`, and
`make trials` runs all. A test is slow if it is marked `slow("reason")`, or if it uses a fixture that starts Chromium,
stores or web servers. The end of a run lists the tests in the wrong tier. Processor time decides, because it depends
less on the load of the machine; the time of fixtures does not count.
"""

import os
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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow(reason): runs in CI and in `make trials`, not in `make test`")
    config.addinivalue_line("markers", "trial: a slow test that runs in `make trials` only")


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
    before = os.times()
    try:
        return (yield)
    finally:
        after = os.times()
        # The times of this process, and of its children that have ended.
        item.user_properties.append(("seconds", sum(after[:4]) - sum(before[:4])))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if wrong := list(_in_wrong_tier(terminalreporter)):
        terminalreporter.section("tests in the wrong tier (docs/contributing.md)")
        for line in sorted(wrong):
            terminalreporter.line(line)


def _in_wrong_tier(reporter: Any) -> Iterator[str]:
    for report in reporter.stats.get("passed", []):
        facts = dict(report.user_properties)
        if report.when != "call" or "seconds" not in facts:
            continue
        seconds, tier = facts["seconds"], facts["tier"]
        if tier == "quick" and seconds > MOST_OF_QUICK:
            yield f"{seconds:.1f} s, and is not marked: {report.nodeid}"
        elif tier == "marked" and seconds < LEAST_OF_SLOW:
            yield f"{seconds:.1f} s, and is marked as slow: {report.nodeid}"
