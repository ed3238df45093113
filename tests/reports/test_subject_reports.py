"""The reports by queue, campaign and ticket queue: exact, over changes of the clock too, and their totals."""

from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from unittest.mock import Mock

import pytest
import time_machine

from callcentre.core.exporting.formats import Unit
from callcentre.core.scope import ALL
from callcentre.core.times import zone
from reports.api.views import published
from reports.catalogue import OUTBOUNDS, QUEUES, REPORTS, TICKETS
from reports.description import Report
from reports.parameters import subjects_of
from reports.periods import Aggregation
from reports.report import Question
from telephony.verbs import presence
from tests.conftest import ACTOR, ApiClient
from tests.documented import faults, media_of, operations, resolved
from tests.reports import subject_reference as reference
from tests.reports.asking import AGGREGATIONS
from tests.reports.subject_scenes import SubjectScene

pytestmark = pytest.mark.django_db

SPRING, AUTUMN = datetime(2026, 3, 28, 16, tzinfo=UTC), datetime(2026, 10, 24, 16, tzinfo=UTC)
PATHS = {QUEUES.kind: "queues_report", OUTBOUNDS.kind: "outbounds_report", TICKETS.kind: "tickets_report"}
EXPECTED: dict[str, Any] = {
    QUEUES.kind: reference.queue_rows,
    OUTBOUNDS.kind: reference.campaign_rows,
    TICKETS.kind: reference.ticket_rows,
}
of_each = pytest.mark.parametrize("report", [QUEUES, OUTBOUNDS, TICKETS], ids=lambda report: report.kind)


def all_rows(api: ApiClient, report: Report, **query: Any) -> list[dict[str, Any]]:
    """All pages of the API."""
    rows: list[dict[str, Any]] = []
    while True:
        page = api.get(f"/api/{PATHS[report.kind]}", {**query, "offset": len(rows)}).json()
        rows += page
        if len(page) < 100:
            return rows


def wall(instant: datetime) -> str:
    return instant.astimezone(zone()).strftime("%Y-%m-%d %H:%M:%S")


def question(report: Report, scene: SubjectScene, aggregation: str) -> Question:
    assert report.subjects
    subjects = subjects_of(report.subjects, ALL)
    end = scene.base + timedelta(hours=scene.hours)
    return Question(subjects, scene.base, end, Aggregation(aggregation), scene.now, within=20)


@pytest.mark.walk("1-spring-queues", "2-autumn-outbounds")
@pytest.mark.slow("compares with a slow reference")
@of_each
@pytest.mark.parametrize("base", [SPRING, AUTUMN], ids=["spring", "autumn"])
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_those_of_a_slow_reference(report, base, seed, api):
    scene = SubjectScene(base, seed)
    scene.play()
    begin = scene.base + timedelta(minutes=scene.chance.randrange(300))
    end = scene.base + timedelta(hours=scene.hours, minutes=scene.chance.randrange(300))

    with time_machine.travel(scene.now, tick=False):
        for aggregation in AGGREGATIONS:
            until = begin + timedelta(hours=12) if aggregation == "minute" else end
            span = reference.Span(begin, until, aggregation, scene.now)
            query = {"date_from": wall(begin), "date_to": wall(until - timedelta(seconds=1))}
            rows = all_rows(api, report, **query, aggregate_by=aggregation)
            assert rows == EXPECTED[report.kind](span), aggregation
            assert rows


@of_each
@pytest.mark.parametrize("seed", range(2))
def test_the_total_is_that_of_one_row_over_all(report, seed):
    """Each figure that is counted adds up; a share and an average are those of all rows together."""
    scene = SubjectScene(AUTUMN, seed)
    scene.play()
    asked = question(report, scene, "hour")

    answer = report.answer(asked, 10_000, 0)

    assert report.by_period
    (whole,) = report.by_period(question(report, scene, "year"), 10)
    figures = {each.name: each for each in fields(answer.total)}
    numbers = [name for name, value in asdict(answer.total).items() if type(value) is int]
    for name in numbers:
        value = getattr(answer.total, name)
        assert value == getattr(whole, name), name
        if name == "open_at_end":
            last = {row.subject_id: row.open_at_end for row in answer.rows}
            assert value == sum(last.values())
        else:
            add_up = max if "max(" in figures[name].metadata["together"] else sum
            assert value == add_up(getattr(row, name) for row in answer.rows), name
    assert {name for name in numbers if "max(" in figures[name].metadata["together"]} == {"wait_max"} & {*numbers}
    assert len(numbers) > 5
    for measure in report.measures:
        if measure.name != "by_status":
            assert measure.value(answer.total) == measure.value(whole), measure.name


@of_each
def test_the_backlog_and_all_else_do_not_depend_on_the_page(report):
    scene = SubjectScene(SPRING, 5)
    scene.play()
    asked = question(report, scene, "hour")

    whole = report.answer(asked, 10_000, 0)
    parts = [row for offset in range(0, len(whole.rows), 7) for row in report.answer(asked, 7, offset).rows]

    assert parts == whole.rows
    assert report.answer(asked, 0, 0).total == whole.total


@of_each
def test_faulty_parameters_are_named(report, api):
    assert report.subjects
    name = report.subjects.parameter
    query = {"date_from": "yesterday", "aggregate_by": "decade", "answered_within": "-1", "limit": "x"}
    wrong = api.get(f"/api/{PATHS[report.kind]}", {**query, f"{name}[]": ["77"]})

    fields = [error["field"] for error in wrong.json()["errors"]]
    expected = ["limit", name, "date_from", "date_to", "aggregate_by"]
    assert (wrong.status_code, fields) == (400, [*expected, *(["answered_within"] if report.has_within else [])])


@of_each
def test_too_many_periods_and_a_span_that_ends_before_it_begins_are_refused(report, api):
    path = f"/api/{PATHS[report.kind]}"
    long = api.get(path, {"date_from": "2020-01-01", "date_to": "2026-01-01", "aggregate_by": "minute"})
    turned = api.get(path, {"date_from": "2026-01-02", "date_to": "2026-01-01"})

    assert [error["field"] for error in long.json()["errors"]] == ["aggregate_by"]
    assert [error["field"] for error in turned.json()["errors"]] == ["date_to"]


@of_each
def test_the_hours_of_the_day_of_the_longest_span_are_made_without_its_borders(report, api, monkeypatch):
    scene = SubjectScene(AUTUMN, 0)
    scene.play()
    query = {"aggregate_by": "hour_of_day", "date_from": wall(scene.base), "date_to": "2026-12-31"}
    expected = all_rows(api, report, **query)
    borders = Mock(wraps=Aggregation.borders)
    monkeypatch.setattr(Aggregation, "borders", borders)

    rows = all_rows(api, report, **query | {"date_from": "1970-01-01", "date_to": "2199-12-31"})

    assert rows
    assert {row["period"] for row in expected} == {row["period"] for row in rows}
    assert not borders.called


@of_each
def test_some_queues_or_campaigns_are_chosen_by_id(report, api):
    scene = SubjectScene(SPRING, 1)
    scene.play()
    query = {"date_from": "2026-01-01", "date_to": "2026-12-31", "aggregate_by": "year"}

    with time_machine.travel(scene.now, tick=False):
        every = all_rows(api, report, **query)
        key = next(iter(every[0]))
        assert report.subjects
        one = all_rows(api, report, **query, **{f"{report.subjects.parameter}[]": [every[1][key]]})

    assert len(every) == 2
    assert one == every[1:]


@of_each
def test_an_unknown_id_is_named_as_it_was_sent(report, api):
    assert report.subjects
    key = "9" * 23
    query = {"date_from": "2026-01-01", "date_to": "2026-12-31", f"{report.subjects.parameter}[]": [key]}

    (error,) = api.get(f"/api/{PATHS[report.kind]}", query).json()["errors"]

    assert key in str(error)


def test_the_target_of_waiting_is_a_parameter(api):
    scene = SubjectScene(SPRING, 1)
    scene.play()
    query = {"date_from": "2026-03-01", "date_to": "2026-04-01"}

    with time_machine.travel(scene.now, tick=False):
        shares = [
            [row["answered_in_threshold"] for row in all_rows(api, QUEUES, **query, answered_within=within)]
            for within in (0, 20, 3600)
        ]

    assert shares[0] < shares[1] < shares[2]


def test_every_report_has_its_words():
    assert set(REPORTS) == {"agents", "queues", "outbounds", "tickets"}
    for report in REPORTS.values():
        assert len({measure.title for measure in report.measures}) == len(report.measures)
        assert all(measure.sentence for measure in report.measures if measure.in_api)


@pytest.mark.slow("asks for every report")
def test_answers_fit_their_schemas_and_a_figure_is_nullable_if_some_answer_has_null(api):
    span = {"date_from": "2026-10-24 18:00", "date_to": "2026-10-26 08:00"}
    scene = SubjectScene(AUTUMN, seed=1)
    scene.play()
    with time_machine.travel(scene.base + timedelta(hours=1), tick=False):
        presence.log_in(scene.agents[0], ACTOR)
    agents = [agent.login for agent in scene.agents]
    reports = {path: operation for path, _, operation in operations() if path.endswith("_report")}
    nulls, nullable = set(), set()
    wrong: list[Any] = []

    with time_machine.travel(scene.now, tick=False):
        for (path, operation), aggregation in product(reports.items(), Aggregation):
            rows = api.get(path, {**span, "aggregate_by": aggregation.value, "agent_logins[]": agents}).json()
            schema = media_of(operation["responses"]["200"])[1]["schema"]
            wrong += faults(rows, schema) or ([] if rows else [(path, aggregation)])
            nulls |= {(path, name) for row in rows for name, value in row.items() if value is None}
            columns = resolved(schema["items"])["properties"].items()
            nullable |= {(path, name) for name, column in columns if column.get("nullable")}

    assert wrong == []
    assert nullable == nulls
    assert len(reports) == 4


def test_durations_of_reports_beyond_the_interface_are_whole_seconds():
    units = {measure.unit for report in (QUEUES, OUTBOUNDS, TICKETS) for measure in published(report)}

    assert Unit.SECONDS in units
    assert Unit.DURATION not in units
