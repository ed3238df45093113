"""Figures that are made of several things: each part leads to exactly the rows that were counted."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine

from callcentre.core.times import spell_length, zone
from reports.measures import MEASURES
from telephony.models import Agent
from telephony.verbs import presence
from tests.backoffice import BackOffice, staff, superuser
from tests.conftest import ACTOR
from tests.reports.asking import refresh
from tests.reports.reference import EVER, Pieces, Reference, holds, periods, seconds
from tests.reports.scenes import BASES, Scene
from tests.telephony.factories import AgentSessionFactory, AgentStateFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

PAGE = "/admin/reports/export/work-report/"
FIGURES = ["talk_time", "handle_time", "average_handle_time", "occupancy", "service_level"]
WITHIN, THRESHOLD = 600, 30
JUNE = {"date_from": "2026-06-01", "date_to": "2026-06-30", "aggregate_by": "month"}
PARTS = {measure.name: measure.parts for measure in MEASURES}


def play(scene: Scene) -> datetime:
    """With more calls than a scene has."""
    scene.play()
    for _ in range(8):
        scene.offer()
        scene.call()
    refresh()
    return scene.now


def counted(reference: Reference, agent: Agent, pieces: Pieces, queues: list[int]) -> dict[str, tuple[set[int], str]]:
    """Part -> which rows count in it, by the definitions; and what they come to."""

    def mine(rows: list[Any]) -> list[Any]:
        return [row for row in rows if row.agent_id == agent.pk]

    def of_queues(rows: list[Any]) -> list[Any]:
        return [row for row in mine(rows) if not queues or row.queue_id in queues]

    def end(row: Any) -> datetime:
        return row.ended_at or reference.now

    def lasting(rows: list[Any], since: Callable[[Any], Any]) -> tuple[set[int], str]:
        lengths = [(row.pk, seconds(since(row), end(row), pieces)) for row in rows]
        return {pk for pk, length in lengths if length}, spell_length(sum(length for _, length in lengths))

    def begun(rows: list[Any]) -> tuple[set[int], str]:
        return {row.pk for row in rows}, str(len(rows))

    offers, calls, states = of_queues(reference.offers), of_queues(reference.calls), mine(reference.states)
    here = [offer for offer in offers if holds(offer.offered_at, pieces)]
    talks = {call: seconds(call.answered_at, end(call), [EVER]) for call in calls}
    return {
        "inbound.sum": lasting(offers, lambda row: row.answered_at),
        "outbound_above_threshold.sum": lasting(
            [call for call in calls if talks[call] > THRESHOLD], lambda row: row.answered_at
        ),
        "outbound_below_threshold.sum": lasting(
            [call for call in calls if talks[call] <= THRESHOLD], lambda row: row.answered_at
        ),
        "wrap_up": lasting([one for one in states if one.kind == "wrap_up"], lambda row: row.started_at),
        "pauses.free.sum": lasting([one for one in states if one.kind == "free"], lambda row: row.started_at),
        "inbound.answered_count": begun([offer for offer in here if offer.answered_at]),
        "inbound.not_answered_count": begun([offer for offer in here if offer.ended_at and not offer.answered_at]),
        "in_time": begun(
            [one for one in here if one.answered_at and seconds(one.offered_at, one.answered_at, [EVER]) <= WITHIN]
        ),
        "talked_outbound": begun([call for call in calls if holds(call.created_at, pieces) and talks[call]]),
    }


def cells(client: BackOffice, **query: Any) -> list[tuple[str, str, str, Any]]:
    """Login, period, name and cell of all figures of the page."""
    context = client.values(PAGE, **query)
    return [
        (line.agent["login"], line.period, column.name, cell)
        for line, row in context["rows"]
        for column, cell in zip(context["columns"], row, strict=True)
    ]


@pytest.mark.walk("False-hour-2")
@pytest.mark.slow("compares with a slow reference")
@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize(("aggregation", "seed"), [("hour", 2), ("hour_of_day", 3), ("month", 7)])
@pytest.mark.parametrize("narrowed", [False, True])
def test_each_part_leads_to_the_rows_that_were_counted(aggregation, seed, narrowed, people):
    """In autumn, with an hour that comes twice."""
    now, client = play(Scene(people, BASES[1], seed)), superuser()
    queues = [people.queues[0].pk, people.ticket_queues[0].pk] if narrowed else []
    agents = {agent.login: agent for agent in people.agents}
    reference = Reference(zone(), now)
    begin, end = (datetime(2026, 10, day, tzinfo=zone()).astimezone(UTC) for day in (24, 28))
    cut = periods(begin, end, aggregation, zone())
    query = {"date_from": "2026-10-24", "date_to": "2026-10-27", "aggregate_by": aggregation, "queues_ids": queues}
    asked = {"outbound_threshold": THRESHOLD, "answered_within": WITHIN, "columns": FIGURES}
    seen: set[str] = set()
    lists: dict[str, set[int]] = {"": set()}

    with time_machine.travel(now, tick=False):
        for login, period, name, cell in cells(client, **query, **asked):
            if not cell.url:
                assert cell.text in ("–", "0:00")
                continue
            seen.add(name)
            page = client.values(cell.url)
            assert page["figure"] == cell.text
            expected = counted(reference, agents[login], cut[period], queues)
            for part, (_label, text, url) in zip(PARTS[name], page["parts"], strict=True):
                rows, total = expected[part]
                if url not in lists:
                    lists[url] = {row.pk for row in client.values(url)["cl"].result_list}
                assert (text, lists[url]) == (total, rows), (login, period, name, part)

    assert {"talk_time"} <= seen <= {"talk_time", "service_level"} if narrowed else seen == set(FIGURES)


def test_a_share_of_0_of_something_leads_to_what_it_is_of(people):
    at = datetime(2026, 6, 10, 8, tzinfo=zone())
    AgentSessionFactory(agent=people.agents[0], started_at=at, ended_at=at + timedelta(hours=2))
    AgentStateFactory(agent=people.agents[0], kind="free", started_at=at, ended_at=at + timedelta(hours=1))
    query = {"date_from": "2026-06-10", "date_to": "2026-06-10", "columns": ["occupancy", "service_level"]}

    with time_machine.travel(at + timedelta(days=1)):
        found = {name: cell for _login, _period, name, cell in cells(superuser(), **query)}

    assert {name: cell.text for name, cell in found.items()} == {"occupancy": "0.00 %", "service_level": "–"}
    assert "figure=occupancy" in found["occupancy"].url
    assert not found["service_level"].url


def test_an_average_leads_to_what_was_divided_by_what(people):
    now, client = play(Scene(people, BASES[4], 4)), superuser()
    columns = ["inbound.average", "inbound.calls_per_hour", "pauses.all.average", "pauses.reasons"]

    with time_machine.travel(now, tick=False):
        found = {
            name: [label for label, _text, _url in client.get(cell.url).context["parts"]]
            for _login, _period, name, cell in cells(client, **JUNE, columns=columns)
            if "/parts/" in cell.url
        }

    assert found["inbound.average"] == ["Inbound calls: talk time", "Inbound calls: answered"]
    assert found["inbound.calls_per_hour"] == ["Inbound calls: answered", "Login: time"]
    assert found["pauses.all.average"] == ["Pauses: number", "Pauses: time"][::-1]
    assert any(name.split(".")[1].isdecimal() for name in found if name.startswith("pauses."))


def test_parts_are_shown_to_those_who_may_see_the_report(people):
    now = play(Scene(people, BASES[4], 4))
    client = staff("view_export", "view_offer")

    with time_machine.travel(now, tick=False):
        handled = cells(client, **JUNE, columns=["talk_time"], agent_logins="anna")
        [url] = [cell.url for *_, cell in handled]
        links = [urlsplit(url).path for _label, _text, url in client.get(url).context["parts"] if url]
        page = client.page(url)

    assert links == ["/admin/telephony/offer/"]
    assert "It is made of these" in page
    assert staff("view_agent").get(url).status_code in (302, 403)


def test_what_has_no_parts_and_an_hour_of_too_many_days_have_no_page(people):
    presence.log_in(people.agents[0], ACTOR, datetime(2026, 6, 10, 12, tzinfo=zone()))
    client, asked = superuser(), {**JUNE, "agent_logins": "anna", "figure": "occupancy", "period": "2026-06"}
    hours = {**asked, "aggregate_by": "hour_of_day", "period": "12"}

    for found in (asked, {**hours, "date_to": "2026-10-01"}):
        assert client.get(f"{PAGE}parts/", found).status_code == 200
    for changes in ({"figure": "wrap_up"}, {"figure": "x"}, {"period": "2026-07"}, {"period": ""}):
        assert client.get(f"{PAGE}parts/", {**asked, **changes}).status_code == 404, changes
    assert client.get(f"{PAGE}parts/", {**hours, "date_to": "2026-10-31"}).status_code == 404


def test_whatever_an_address_says_there_is_a_list_or_the_report_says_what_is_wrong():
    client = superuser()
    for way in ("in_time:999999999999999999@1-2", "in_time@1-2", "x@1-2"):
        assert client.get("/admin/telephony/offer/", {"counted": way}).status_code == 200

    answer: Any = client.get(f"{PAGE}parts/", {"agent_logins": "nobody", "figure": "occupancy"})

    assert parse_qs(urlsplit(answer.url).query) == {"agent_logins": ["nobody"], "figure": ["occupancy"]}
