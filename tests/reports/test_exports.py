"""Exports of the report: every figure of a file is what the API says, or what plain Python makes of the ledgers."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
import time_machine
from billiard.exceptions import SoftTimeLimitExceeded
from django.db import OperationalError
from django.utils import timezone

from callcentre.core.exporting import builds as jobs
from callcentre.core.times import zone
from reports import exporting as builds
from reports.catalogue import REPORTS
from reports.exporting import portions
from reports.measures import MEASURES, NAMES
from reports.models import Export
from reports.tasks import prune_exports
from reports.verbs.exports import finish_export
from telephony.models import Agent, LedgerChange
from telephony.verbs import presence
from tests.conftest import ACTOR, ApiClient
from tests.reports.asking import AGGREGATIONS, refresh
from tests.reports.exports import an_export, built, cells_of, rows_of
from tests.reports.reference import Reference, further_of, periods
from tests.reports.scenes import BASES, Scene, cast
from tests.telephony.factories import AgentFactory, PauseFactory

pytestmark = pytest.mark.usefixtures("committed_db")

# Columns that the API does not have.
FURTHER = [
    *("talk_time", "consultations.count", "consultations.sum", "wrap_up"),
    *("handle_time", "average_handle_time", "occupancy", "service_level"),
]
OF_API = [column.name for column in MEASURES if column.name not in FURTHER]


def play(scene: Scene) -> None:
    """With half of it in the rollups, as it is with a service that is at work."""
    scene.play()
    refresh()
    LedgerChange.objects.create(agent=scene.cast.agents[0], since=scene.base, until=scene.now)


def of_an_hour(aggregation: str = "day", **values: Any) -> Export:
    """Ask for an export of the present hour."""
    now = timezone.now()
    return an_export((now - timedelta(hours=1), now + timedelta(hours=1)), aggregation, **values)


def of_api(row: dict[str, Any], name: str) -> str:
    """The value that the answer of the API has under a column's name, as a text."""
    first, *rest = name.split(".")
    value: Any = row[first]
    if first == "pauses":
        found = {str(entry["id"]): entry for entry in value}
        value = found.get(rest[0], {"count": 0, "sum": "00:00:00", "average": "00:00:00"})
        rest = rest[1:]
    for key in rest:
        value = value[key]
    return f"{value:.2f}" if name == "inbound.calls_per_hour" else str(value)


def pages(api: ApiClient, **parameters: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while found := api.get("/api/agents_work_report", {**parameters, "offset": len(rows)}).json():
        rows += found
    return rows


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_every_figure_of_an_export_is_what_the_api_answers(aggregation, people, api):
    base = BASES[AGGREGATIONS.index(aggregation) % 2]
    scene = Scene(people, base, 7)
    play(scene)
    begin = base.astimezone(zone())
    end = begin + timedelta(hours=8 if aggregation == "minute" else 72)
    queues = [people.queues[0].pk, people.ticket_queues[0].pk] if aggregation == "day" else []

    with time_machine.travel(scene.now, tick=False):
        answer = pages(
            api,
            **{
                "agent_logins[]": ["anna", "borys"],
                "date_from": f"{begin:%Y-%m-%d %H:%M:%S}",
                "date_to": f"{end - timedelta(seconds=1):%Y-%m-%d %H:%M:%S}",
                "aggregate_by": aggregation,
                "outbound_threshold": 30,
                "queues_ids[]": queues,
            },
        )
        export = built(an_export((begin, end), aggregation, threshold=30, queue_ids=queues))

    names = [*["agent.login", "agent.name", "agent.surname", "period"], *OF_API]
    names += [f"pauses.{pause.pk}.{what}" for pause in people.pauses for what in ("count", "sum", "average")]
    rows = rows_of(export)
    assert answer
    assert [{name: row[name] for name in names} for row in rows] == [
        {name: of_api(row, name) for name in names} for row in answer
    ]
    assert export.row_count == len(answer)


@pytest.mark.parametrize(("base", "threshold", "narrowed"), [(0, 0, False), (1, 30, False), (4, 30, True)])
def test_further_measures_are_what_the_ledgers_say(base, threshold, narrowed, people):
    scene = Scene(people, BASES[base], 7)
    play(scene)
    queues = [people.queues[0].pk] if narrowed else []
    now = scene.now
    reference = Reference(zone(), now)
    agents = {agent.login: agent for agent in people.agents}

    for aggregation in AGGREGATIONS:
        span = (BASES[base], BASES[base] + timedelta(hours=8 if aggregation == "minute" else 72))
        with time_machine.travel(now, tick=False):
            export = built(an_export(span, aggregation, threshold=threshold, answered_within=30, queue_ids=queues))

        cut = periods(*span, aggregation, zone())
        rows = rows_of(export)
        assert rows
        assert [{name: row[name] for name in FURTHER} for row in rows] == [
            further_of(reference, agents[row["agent.login"]], cut[row["period"]], queues or None, 30) for row in rows
        ]


def test_nothing_is_divided_by_nothing(people):
    presence.pause(people.agents[0], ACTOR, people.pauses[0].pk)

    [row] = rows_of(built(of_an_hour("year")))

    assert [row[name] for name in FURTHER] == ["00:00:00", "0", *3 * ["00:00:00"], "", "", ""]
    assert (row["inbound.average"], row["inbound.calls_per_hour"]) == ("00:00:00", "0.00")


def test_a_sheet_has_durations_that_can_be_added_up(people):
    base = BASES[4]
    play(Scene(people, base, 3))
    span = (base, base + timedelta(hours=72))

    rows = rows_of(built(an_export(span)))
    heading, *cells = cells_of(built(an_export(span, format="xlsx")))

    assert len(heading) == len(rows[0])
    assert len(cells) == len(rows)
    names = list(rows[0])
    for name, unit in (("login_sum", 86_400), ("talk_time", 86_400), ("inbound.count", 1), ("occupancy", 100)):
        place = names.index(name)
        assert [_number(line, place) * unit for line in cells] == pytest.approx([_seconds(row[name]) for row in rows])


def _number(line: list[Any], place: int) -> float:
    return float(line[place] or 0) if place < len(line) else 0.0


def _seconds(text: str) -> float:
    parts = [float(part or 0) for part in text.split(":")]
    return float(sum(part * 60**power for power, part in enumerate(reversed(parts))))


def test_titles_of_a_sheet_are_in_the_language_of_who_asked():
    PauseFactory(name="=Lunch")

    heading, *_rows = cells_of(built(of_an_hour(format="xlsx", language="pl")))

    assert heading[3] == "Okres"
    assert any("=Lunch" in title for title in heading)


def test_an_agent_is_no_formula():
    agent: Agent = AgentFactory(login="=cmd|' /C calc'!A0", name="@SUM(A1)", surname="+48 22 555")
    presence.log_in(agent, ACTOR)
    presence.log_in(AgentFactory(login="borys", name="\n=1+1", surname=" =1+1"), ACTOR)

    row, borys = rows_of(built(of_an_hour("year")))

    assert (borys["agent.name"], borys["agent.surname"]) == ("\n'=1+1", "' =1+1")
    assert row["agent.login"] == "'=cmd|' /C calc'!A0"
    assert row["agent.name"] == "'@SUM(A1)"
    assert row["agent.surname"] == "+48 22 555"


def test_a_long_export_is_built_in_portions_that_leave_nothing_out(people, monkeypatch):
    base = BASES[4]
    presence.log_in(AgentFactory(login="clara"), ACTOR, base)
    play(Scene(people, base, 5))
    span = (base, base + timedelta(hours=2))
    columns = ["inbound.count", "service_level", "login_sum"]
    whole = rows_of(built(an_export(span, "minute", columns=columns)))

    monkeypatch.setattr("reports.exporting.PORTION", 7)
    parts = rows_of(built(an_export(span, "minute", columns=columns)))

    assert len(whole) >= 120
    assert parts == whole


def test_old_files_are_removed_and_their_rows_stay():
    old, young = (built(of_an_hour(columns=NAMES[:2])) for _ in range(2))
    Export.objects.filter(pk=old.pk).update(finished_at=timezone.now() - timedelta(days=30, seconds=1))
    storage, path = old.file.storage, str(old.file.name)
    prune_exports()

    old.refresh_from_db()
    young.refresh_from_db()
    assert (old.file.name, old.state, storage.exists(path)) == ("", "finished", False)
    assert storage.exists(str(young.file.name))


def interrupted(monkeypatch: pytest.MonkeyPatch, error: Exception, *, is_committed: bool) -> Export:
    """Build an export that is interrupted in its last step: after the commit, or before it."""

    def fail(claim: Any, **values: Any) -> None:
        if is_committed:
            finish_export(claim, **values)
        raise error

    monkeypatch.setattr(builds, "finish_export", fail)
    export = of_an_hour(columns=["login_sum"])
    assert builds.build_next()
    export.refresh_from_db()
    return export


def is_stored(export: Export, attempt: int) -> bool:
    return bool(export.file.storage.exists(export.name_of_file(attempt)))


ERRORS = [SoftTimeLimitExceeded(), OperationalError("the connection is lost"), RuntimeError("?")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_finished_export_keeps_its_file_after_an_error_and_an_unfinished_one_leaves_none(error, monkeypatch):
    with monkeypatch.context() as patch:
        finished = interrupted(patch, error, is_committed=True)
    with monkeypatch.context() as patch:
        export = interrupted(patch, error, is_committed=False)

    assert (finished.state, finished.message, finished.file.name) == ("finished", "", finished.name_of_file(1))
    assert is_stored(finished, 1)
    if export.state == "running":
        built(export)

    assert not is_stored(export, 1)
    assert (export.state, bool(export.file)) in (("failed", False), ("finished", True))


def test_the_slower_of_two_workers_removes_its_file(monkeypatch):
    export = of_an_hour(columns=["login_sum"])

    def taken_over(slow, **values):
        Export.objects.filter(pk=slow.row.pk).update(next_attempt_at=timezone.now())
        assert Export.objects.claim(slow.row.pk)
        finish_export(slow, **values)

    monkeypatch.setattr(builds, "finish_export", taken_over)
    assert builds.build_next()

    export.refresh_from_db()
    assert (export.state, export.attempt_count, is_stored(export, 1)) == ("running", 2, False)


MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def portions_of(monkeypatch: pytest.MonkeyPatch, export: Export, size: int) -> list[tuple[int, float]]:
    """Of each: how many lines, and how much is done with it."""
    monkeypatch.setattr("reports.exporting.PORTION", size)
    return [(len(lines), share) for lines, share in portions(REPORTS[export.report], builds.question_of(export))]


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("base", BASES[:2], ids=["spring", "autumn"])
def test_it_only_grows_and_is_whole_with_the_last_portion(aggregation, base, monkeypatch):
    """Also where agents did nothing, and where the clock is put forward or back."""
    AgentFactory.create_batch(3)
    scene = Scene(cast(), base, 7)
    scene.play()
    span = (base, base + (12 * HOUR if aggregation == "minute" else 3 * DAY))
    export = an_export(span, aggregation, columns=["login_sum"])

    with time_machine.travel(scene.now, tick=False):
        portions = portions_of(monkeypatch, export, 5)

    shares = [share for _, share in portions]
    assert all(earlier < later for earlier, later in pairwise(shares))
    assert shares[0] > 0
    assert [share for share in shares if share >= 1] == shares[-1:] == [1]


def test_each_agent_is_one_part_and_within_an_agent_the_part_of_the_span_that_is_over(monkeypatch):
    """How many periods have a line differs from agent to agent: of two, each is a half."""
    for login in ("anna", "borys"):
        presence.log_in(agent := AgentFactory(login=login), ACTOR, BASES[4])
        presence.log_out(agent, ACTOR, BASES[4] + 3 * MINUTE)
    few = an_export((BASES[4] - DAY, BASES[4] + DAY), "minute", columns=["login_sum"])
    assert portions_of(monkeypatch, few, 100) == [(3, 0.5), (3, 1.0)]

    presence.log_in(agent := AgentFactory(login="clara"), ACTOR, BASES[4])
    presence.log_out(agent, ACTOR, BASES[4] + 9 * HOUR)
    hours = {"columns": ["login_sum"], "agent_ids": [agent.pk]}
    one = an_export((BASES[4], BASES[4] + 9 * HOUR), "hour", **hours)
    portions = [(count, round(share, 1)) for count, share in portions_of(monkeypatch, one, 3)]
    assert portions == [(3, 0.3), (3, 0.6), (3, 0.9), (0, 1.0)]


def test_the_bar_is_full_when_the_file_is_there_and_not_before(monkeypatch):
    monkeypatch.setattr("reports.exporting.PORTION", 5)
    agent = AgentFactory()
    presence.log_in(agent, ACTOR, BASES[4])
    presence.log_out(agent, ACTOR, BASES[4] + 30 * HOUR)
    said: list[int] = []
    tell = jobs.Progress.tell

    def listening(self, share, rows):
        tell(self, share, rows)
        said.append(self._job.percent)

    monkeypatch.setattr(jobs.Progress, "tell", listening)
    export = built(an_export((BASES[4] - 30 * HOUR, BASES[4] + 60 * HOUR), "hour", columns=["login_sum"]))

    assert said == sorted(said)
    assert (len(set(said)) > 5, said[-1], export.percent, export.row_count) == (True, 99, 100, 30)
