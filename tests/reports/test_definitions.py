"""What the report says, held against its definitions in plain Python: in every column, whatever the rollups have."""

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import transaction
from hypothesis import given, settings

from callcentre.core.times import zone
from reports import ledgers, report
from reports.ledgers import Part, Source
from reports.periods import FIRST, LAST
from telephony.models import LedgerChange
from tests.reports.asking import AGGREGATIONS, ask, refresh, settle, unsettle
from tests.reports.reference import Reference
from tests.reports.scenes import Cast, Scene, scenes

pytestmark = pytest.mark.django_db

# To run more examples: REPORT_EXAMPLES=2000 pytest tests/reports
EXAMPLES = int(os.environ.get("REPORT_EXAMPLES", "15"))


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


@pytest.mark.slow("compares with a slow reference")
@given(scene=scenes())
@settings(settings.get_profile("seeds"), max_examples=EXAMPLES)
def test_the_report_is_what_its_definitions_say(people: Cast, scene: tuple[datetime, int]) -> None:
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


# The SQL that the report composes at import: composed.sql spells it out


def test_composed_statements() -> None:
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
