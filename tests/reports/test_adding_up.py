"""Hours add up to days, days to weeks, months and years, all to hours of the day: in every column that can be added."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from callcentre.core.times import zone
from tests.reports.asking import ask, refresh, settle, unsettle
from tests.reports.scenes import BASES, Cast, Scene, cast

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("REPORT_EXAMPLES", "2"))
YEARS = (datetime(2026, 1, 1, tzinfo=zone()), datetime(2028, 1, 1, tzinfo=zone()))

# Finer aggregation, coarser aggregation, the coarser label of a finer one.
NESTED: list[tuple[str, str, Callable[[str], str]]] = [
    ("hour", "day", lambda label: label[:10]),
    ("hour", "hour_of_day", lambda label: label[11:]),
    ("day", "week", lambda label: date.fromisoformat(label).strftime("%G-W%V")),
    ("day", "month", lambda label: label[:7]),
    ("month", "year", lambda label: label[:4]),
]


def seconds(text: str) -> int:
    hours, minutes, rest = text.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(rest)


def additive(row: dict[str, Any]) -> Counter[str]:
    """Every column of the row but averages, rates, and those in which a chat or a ticket counts once a period."""
    found: Counter[str] = Counter()
    for name in ("count", "answered_count", "not_answered_count", "transferred_count", "wait_sum"):
        found[f"inbound.{name}"] = row["inbound"][name]
    found["inbound.sum"] = seconds(row["inbound"]["sum"])
    for name in ("outbound_above_threshold", "outbound_below_threshold"):
        found[f"{name}.count"], found[f"{name}.sum"] = row[name]["count"], seconds(row[name]["sum"])
    found["chat.closed"] = row["chat"]["closed"]
    found["ticket.closed"], found["ticket.replies"] = row["ticket"]["closed"], row["ticket"]["total_responded"]
    found["login"] = seconds(row["login_sum"])
    for pause in row["pauses"]:
        found[f"{pause['id']}.count"], found[f"{pause['id']}.sum"] = pause["count"], seconds(pause["sum"])
    return found


Sums = dict[tuple[str, str], Counter[str]]


def total(rows: list[dict[str, Any]], label: Callable[[str], str]) -> Sums:
    """By agent and label. A counter says nothing of what is 0."""
    sums: Sums = defaultdict(Counter)
    for row in rows:
        sums[row["agent"]["login"], label(row["period"])].update(additive(row))
    return {key: +counts for key, counts in sums.items()}


def assert_it_adds_up(scene: Scene, now: datetime) -> None:
    agents, queues = scene.cast.agents, scene.chance.choice([None, [scene.cast.queues[0].pk]])
    threshold = scene.chance.choice([0, 30])

    def rows(aggregation: str, span: tuple[datetime, datetime] = YEARS) -> list[dict[str, Any]]:
        return ask(agents, span, aggregation, now, queues=queues, threshold=threshold, page=100_000)

    def same(label: str) -> str:
        return label

    for finer, coarser, label in NESTED:
        assert total(rows(finer), label) == total(rows(coarser), same), (finer, coarser)
    # Minutes of a few hours, cut at random.
    begin = scene.instant()
    span = (begin, begin + timedelta(hours=3, seconds=1))
    assert total(rows("minute", span), lambda label: label[:13]) == total(rows("hour", span), same)


@pytest.fixture
def actors() -> Cast:
    return cast()


# Both changes of the clock, and the end of a year.
@pytest.mark.parametrize("base", BASES[:3], ids=["spring", "autumn", "new year"])
@given(seed=st.integers(0, 10**9))
@settings(
    max_examples=EXAMPLES,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking does not simplify a failing seed
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_shorter_periods_add_up_to_longer_ones(actors: Cast, base: datetime, seed: int) -> None:
    with transaction.atomic():
        scene = Scene(actors, base, seed)
        scene.play()
        now = scene.now
        unsettle(base)

        assert_it_adds_up(scene, now)  # from the ledgers
        refresh()
        assert_it_adds_up(scene, now)  # from hours
        settle(now + timedelta(days=800))
        assert_it_adds_up(scene, now)  # from rollups of every level
        transaction.set_rollback(True)
