"""The answers of all reports against the OpenAPI document."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
import time_machine

from callcentre.core.exporting.formats import Unit
from reports.api.serializers import published
from reports.catalogue import OUTBOUNDS, QUEUES, TICKETS
from reports.periods import Aggregation
from telephony.verbs import presence
from tests.conftest import ACTOR, ApiClient
from tests.documented import faults, media_of, operations, resolved
from tests.reports.subject_scenes import SubjectScene

pytestmark = pytest.mark.django_db

SPAN = {"date_from": "2026-10-24 18:00", "date_to": "2026-10-26 08:00"}


def test_answers_fit_their_schemas_and_a_figure_is_nullable_if_some_answer_has_null(api: ApiClient) -> None:
    scene = SubjectScene(datetime(2026, 10, 24, 16, tzinfo=UTC), seed=1)
    scene.play()
    with time_machine.travel(scene.base + timedelta(hours=1), tick=False):
        presence.log_in(scene.agents[0], ACTOR)
    agents = [agent.login for agent in scene.agents]
    reports = {path: operation for path, _, operation in operations() if path.endswith("_report")}
    nulls, nullable = set(), set()
    wrong: list[Any] = []

    with time_machine.travel(scene.now, tick=False):
        for (path, operation), aggregation in product(reports.items(), Aggregation):
            rows = api.get(path, {**SPAN, "aggregate_by": aggregation.value, "agent_logins[]": agents}).json()
            schema = media_of(operation["responses"]["200"])[1]["schema"]
            wrong += faults(rows, schema) or ([] if rows else [(path, aggregation)])
            nulls |= {(path, name) for row in rows for name, value in row.items() if value is None}
            columns = resolved(schema["items"])["properties"].items()
            nullable |= {(path, name) for name, column in columns if column.get("nullable")}

    assert wrong == []
    assert nullable == nulls
    assert len(reports) == 4


def test_durations_of_reports_beyond_the_interface_are_whole_seconds() -> None:
    units = {measure.unit for report in (QUEUES, OUTBOUNDS, TICKETS) for measure in published(report)}

    assert Unit.SECONDS in units
    assert Unit.DURATION not in units
