"""The report held against its definitions in plain Python, and manage.py rebuild_rollups."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from django.core.management import call_command
from django.db import transaction
from hypothesis import given, settings

from callcentre.core.times import zone
from reports import ledgers, report, rollups
from reports.ledgers import Part, Source
from reports.management.commands.rebuild_rollups import hours_left
from reports.models import Rollup
from reports.periods import FIRST, LAST
from telephony.models import LedgerChange
from tests.reports.asking import AGGREGATIONS, ask, refresh, settle, unsettle
from tests.reports.reference import Reference
from tests.reports.scenes import Cast, Scene, cast, scenes
from tests.tiers import examples

pytestmark = pytest.mark.django_db

BASE = datetime(2026, 3, 28, 20, tzinfo=UTC)


@pytest.fixture
def scene():
    """Rows that no verb has written."""
    people: Cast = cast()
    scene = Scene(people, BASE, 5)
    scene.play()
    return scene


def assert_right(scene: Scene) -> None:
    now = scene.now
    for aggregation in AGGREGATIONS:
        span = scene.span(aggregation)
        expected = Reference(zone(), now).report(scene.cast.agents, span, aggregation)
        assert ask(scene.cast.agents, span, aggregation, now) == expected


def test_from_nothing_every_row_is_summed(scene):
    call_command("rebuild_rollups")

    assert set(Rollup.objects.values_list("level", flat=True)) >= {1, 2}
    assert not LedgerChange.objects.exists()
    assert_right(scene)


def test_wrong_rows_do_not_outlive_it(scene):
    call_command("rebuild_rollups")
    right = list(Rollup.objects.order_by("level", "queue_id", "agent_id", "started_at").values_list("login_seconds"))
    Rollup.objects.update(login_seconds=1, offered=77)

    call_command("rebuild_rollups")

    again = list(Rollup.objects.order_by("level", "queue_id", "agent_id", "started_at").values_list("login_seconds"))
    assert again == right
    assert_right(scene)


@pytest.mark.slow("runs threads")
def test_one_that_was_interrupted_is_gone_on_with(scene, monkeypatch):
    class Killed(BaseException):
        pass

    runs = 0
    refresh = rollups.refresh

    def refresh_twice():
        nonlocal runs
        runs += 1
        if runs == 2:
            raise Killed
        return refresh()

    # One agent at a time.
    monkeypatch.setattr(rollups, "MOST_HOURS", 800)
    rollups.log_everything(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC))
    before = hours_left()
    with monkeypatch.context() as patch:
        patch.setattr(rollups, "refresh", refresh_twice)
        with pytest.raises(Killed):
            call_command("rebuild_rollups")

    between = hours_left()
    assert 0 < between < before
    assert_right(scene)

    call_command("rebuild_rollups")

    assert hours_left() == 0
    assert_right(scene)


def test_its_bars_end_full_while_the_year_goes_on(scene, capsys):
    with time_machine.travel(scene.now, tick=False):
        call_command("rebuild_rollups")

    bars = {
        bar.partition(":")[0]: bar
        for bar in capsys.readouterr().err.replace("\r", "\n").splitlines()  # the last state of each
        if "%" in bar
    }
    assert set(bars) == {"hours of agents"}
    assert all(": 100%" in bar for bar in bars.values()), bars


def test_an_empty_service_has_nothing_to_sum(db, capsys):
    call_command("rebuild_rollups")

    assert "nothing" in capsys.readouterr().out


# To run more examples: REPORT_EXAMPLES=2000 pytest tests/reports
EXAMPLES = int(os.environ.get("REPORT_EXAMPLES", examples(15)))


def agree(scene: Scene, now: datetime) -> None:
    """All aggregations, of spans that chance decides, with and without queues and thresholds."""
    reference = Reference(zone(), now)
    agents = scene.cast.agents
    queues = [scene.cast.queues[0].pk, scene.cast.ticket_queues[1].pk]
    for aggregation in AGGREGATIONS:
        span = scene.span(aggregation)
        narrowed = scene.chance.choice([None, queues])
        threshold = scene.chance.choice([0, 0, 29, 30, 600])
        expected = reference.report(agents, span, aggregation, queues=narrowed, threshold=threshold)
        size = scene.chance.choice([1000, 3, 7])
        rows = ask(agents, span, aggregation, now, queues=narrowed, threshold=threshold, page=size)
        assert rows == expected, aggregation


@pytest.mark.trial
@pytest.mark.slow("compares with a slow reference")
@given(scene=scenes())
@settings(settings.get_profile("seeds"), max_examples=EXAMPLES)
def test_the_report_is_what_its_definitions_say(people, scene):
    with transaction.atomic():
        drawn = Scene(people, *scene)
        drawn.play()
        now = drawn.now
        unsettle(drawn.base)

        agree(drawn, now)  # from the ledgers
        refresh()
        assert not LedgerChange.objects.exists()
        agree(drawn, now)  # from hours
        settle(now + timedelta(days=1))
        agree(drawn, now)  # from the past
        settle(now + timedelta(days=800))
        agree(drawn, now)  # from rollups of every level
        transaction.set_rollback(True)


def test_composed_statements():
    statements = {
        "Rows of the ledgers": ledgers.ROWS,
        "Agents with intervals that go on": ledgers.GOING_ON,
        "A page of rollups": report._statement({Part(Source.DAY, FIRST, LAST): [1]}, is_level=True),
        "A page of rollups and ledgers": report._statement(
            {Part(source, FIRST, LAST): [1] for source in (Source.DAY, Source.CLOSED)}, is_level=False
        ).replace(ledgers.ROWS, "…"),
    }
    composed = "\n\n".join(f"-- {title}\n{sql.strip()}" for title, sql in statements.items())
    print(composed)
    assert f"{composed}\n" == Path(__file__).with_name("composed.sql").read_text()
