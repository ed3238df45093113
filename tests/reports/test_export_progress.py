"""How far an export says that it is: it goes on and on, and is at the end with the last line, not before."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
import time_machine

from callcentre.core.exporting import builds as jobs
from reports.catalogue import REPORTS
from reports.exporting import builds
from reports.exporting.portions import portions
from reports.models import Export
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.reports.asking import AGGREGATIONS
from tests.reports.exports import an_export, built
from tests.reports.scenes import BASES, Scene, cast
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.usefixtures("committed_db")

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def portions_of(monkeypatch: pytest.MonkeyPatch, export: Export, size: int) -> list[tuple[int, float]]:
    """Of each: how many lines, and how much is done with it."""
    monkeypatch.setattr("reports.exporting.portions.PORTION", size)
    return [(len(lines), share) for lines, share in portions(REPORTS[export.report], builds.question_of(export))]


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("base", BASES[:2], ids=["spring", "autumn"])
def test_it_only_grows_and_is_whole_with_the_last_portion(
    aggregation: str, base: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_each_agent_is_one_part_and_within_an_agent_the_part_of_the_span_that_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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


def test_the_bar_is_full_when_the_file_is_there_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.exporting.portions.PORTION", 5)
    agent = AgentFactory()
    presence.log_in(agent, ACTOR, BASES[4])
    presence.log_out(agent, ACTOR, BASES[4] + 30 * HOUR)
    said: list[int] = []
    tell = jobs.Progress.tell

    def listening(self: Any, share: float, rows: int) -> None:
        tell(self, share, rows)
        said.append(self._job.percent)

    monkeypatch.setattr(jobs.Progress, "tell", listening)
    export = built(an_export((BASES[4] - 30 * HOUR, BASES[4] + 60 * HOUR), "hour", columns=["login_sum"]))

    assert said == sorted(said)
    assert (len(set(said)) > 5, said[-1], export.percent, export.row_count) == (True, 99, 100, 30)
