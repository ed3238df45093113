"""The page of the agents work report: the API's figures, the rows behind each of them, and the way to a file."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from callcentre.core.times import spell_length, zone
from reports.admin.links import _ROWS
from reports.admin.report import Cell
from reports.figures import _SUMMED
from reports.measures import MEASURES, NAMES, PARTS
from reports.models import Export
from tests.backoffice import BackOffice, errors_of, inputs_of, messages_of, staff, superuser
from tests.reports.asking import AGGREGATIONS, refresh
from tests.reports.exports import built, rows_of
from tests.reports.factories import ExportFactory
from tests.reports.scenes import BASES, Cast, Scene
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

PAGE = "/admin/reports/export/work-report/"
DAY = {"date_from": "2026-06-10", "date_to": "2026-06-10"}
JUNE = {"date_from": "2026-06-01", "date_to": "2026-06-30"}
ALWAYS = {"date_from": "1902-01-01", "date_to": "9998-12-31", "aggregate_by": "hour_of_day"}
# Figures that count rows; the list behind one that counts replies holds their tickets.
COUNTS = [
    *("inbound.count", "inbound.answered_count", "inbound.not_answered_count", "inbound.transferred_count"),
    *("outbound_above_threshold.count", "outbound_below_threshold.count"),
    *("chat.closed", "chat.responded", "ticket.closed", "ticket.responded"),
    *("pauses.all.count", "pauses.free.count"),
]


def play(people: Cast, base: int, seed: int) -> datetime:
    """Play a scene, half of which is summed. Return a time after all of it."""
    scene = Scene(people, BASES[base], seed)
    scene.play()
    refresh()
    return scene.now


@pytest.fixture
def june(people):
    """A scene of June; the clock stands at its end."""
    now = play(people, 4, 4)
    with time_machine.travel(now, tick=False):
        yield now


def shown(client: BackOffice, **query: Any) -> list[dict[str, Any]]:
    """The rows of the page: name of a column -> its cell; and `period`, `login`."""
    context = client.values(PAGE, **query)
    names = [column.name for column in context["columns"]]
    return [
        {**dict(zip(names, cells, strict=True)), "login": line.agent["login"], "period": line.period}
        for line, cells in context["rows"]
    ]


def spelled(clock: str) -> str:
    """Return a length of the API as the page spells it."""
    return spell_length(seconds_of(clock))


def seconds_of(length: str) -> int:
    """Return the seconds of a length as the page spells it."""
    parts = [0, 0, *map(int, length.split(":"))]
    return parts[-3] * 3600 + parts[-2] * 60 + parts[-1]


def listed(client: BackOffice, url: str) -> list[Any]:
    rows: list[Any] = list(client.values(url)["cl"].result_list)
    return rows


def test_the_page_shows_what_the_api_answers(june, api):
    query: dict[str, Any] = {**JUNE, "aggregate_by": "hour", "outbound_threshold": 30}

    rows = shown(superuser(), **query, columns=NAMES)
    answer = api.get("/api/agents_work_report", {**query, "agent_logins[]": ["anna", "borys"]}).json()

    assert answer
    assert [
        (row["login"], row["period"], row["inbound.count"].text, row["inbound.sum"].text, row["login_sum"].text)
        for row in rows
    ] == [
        (
            row["agent"]["login"],
            row["period"],
            str(row["inbound"]["count"]),
            spelled(row["inbound"]["sum"]),
            spelled(row["login_sum"]),
        )
        for row in answer
    ]


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize(("aggregation", "seed"), [("hour", 2), ("day", 2), ("hour_of_day", 3), ("month", 3)])
@pytest.mark.parametrize("narrowed", [False, True])
def test_the_list_behind_a_figure_holds_as_many_rows(aggregation, seed, narrowed, people):
    """In autumn, with an hour that comes twice."""
    now, client = play(people, 1, seed), superuser()
    queues = [people.queues[0].pk, people.queues[1].pk, people.ticket_queues[0].pk] if narrowed else []
    query = {"date_from": "2026-10-24", "date_to": "2026-10-27", "aggregate_by": aggregation, "queues_ids": queues}
    seen = set()

    with time_machine.travel(now, tick=False):
        for row in shown(client, **query, outbound_threshold=30, columns=NAMES):
            for name in COUNTS:
                if row[name].text != "0":
                    seen.add(name)
                    assert len(listed(client, row[name].url)) == int(row[name].text), (name, row["period"])

    assert len(seen) > 5


@pytest.mark.slow("opens many pages")
@pytest.mark.usefixtures("unrendered")
def test_the_list_behind_a_duration_holds_what_it_was_added_up_of(people):
    now, client = play(people, 1, 5), superuser()
    query = {"date_from": "2026-10-24", "date_to": "2026-10-26", "aggregate_by": "hour"}
    hour = timedelta(hours=1)
    added = 0

    with time_machine.travel(now, tick=False):
        for row in shown(client, **query, columns=["login_sum", "pauses.all.sum", "wrap_up", "pauses.free.sum"]):
            begin = datetime.strptime(f"{row['period']}:00", "%Y-%m-%d %H:%M").replace(tzinfo=zone())
            end = begin.astimezone(zone()).timestamp() + (7200 if row["period"] == "2026-10-25 02" else hour.seconds)
            for name in ("login_sum", "pauses.all.sum", "wrap_up", "pauses.free.sum"):
                if not row[name].url:
                    continue
                total = sum(
                    max(min((one.ended_at or now).timestamp(), end) - max(one.started_at, begin).timestamp(), 0)
                    for one in listed(client, row[name].url)
                )
                assert total == seconds_of(row[name].text), (name, row["period"])
                added += 1

    assert added > 5


def test_every_figure_with_rows_behind_it_has_a_link():
    without_parts = {measure.name for measure in [*MEASURES, *PARTS] if not measure.parts}

    assert without_parts == set(_ROWS)
    assert {part for measure in MEASURES for part in measure.parts} <= without_parts


def test_each_figure_is_put_together_among_rows_as_in_sql():
    for name, figure in _SUMMED.items():
        assert name == "pauses" or f"{figure['among'].__name__}(" in figure["together"], name


def test_nobody_is_led_to_lists_that_they_may_not_see(june):
    rows = shown(staff("view_export", "view_agentsession"), **JUNE, aggregate_by="year", columns=NAMES)

    pages = {cell.url.partition("?")[0] for row in rows for cell in row.values() if getattr(cell, "url", "")}
    # A ratio whose divisor is the time of sessions: calls by the time logged in.
    assert pages - {reverse("admin:reports_export_parts")} == {reverse("admin:telephony_agentsession_changelist")}


def test_what_is_wrong_stands_at_its_field_in_the_words_of_the_form():
    AgentFactory(login="anna")
    query = {
        "date_from": "yesterday",
        "date_to": "",
        "aggregate_by": "decade",
        "outbound_threshold": "-1",
        "queues_ids": "x",
        "agent_logins": "nobody",
    }
    wrong = superuser().get(PAGE, {**query, "answered_within": "4000", "columns": "profit"})

    instant = "must be a date or a time: YYYY-MM-DD, with hh:mm or hh:mm:ss."
    assert errors_of(wrong) == {
        "date_from": [f'Field "From" {instant}'],
        "date_to": ['Field "To, included" cannot be empty.'],
        "aggregate_by": ["This is none of the choices: choose another."],
        "outbound_threshold": ['Field "Threshold of outbound calls in s" must be between 0 and 2147483647.'],
        "queues_ids": ['Field "Queues" must be a whole number.'],
        "agent_logins": ["Agents not found: nobody."],
        "answered_within": ['Field "Service level: answered within s" must be between 0 and 3600.'],
        "columns": ["This is none of the choices: choose another."],
    }
    # Not the first choice, which would look chosen.
    assert wrong.context["form"]["aggregate_by"].value() == "day"
    assert not wrong.context.get("rows")
    turned = superuser().get(PAGE, {"date_from": "2026-06-11", "date_to": "2026-06-10"})
    assert errors_of(turned)["date_to"] == ["The last day cannot be before the first."]


def test_without_a_period_everything_is_by_days(june):
    """The page, its form, its chart, its ranges and its files; the API's default is the month."""
    client, span = superuser(), "date_from=2026-06-10&date_to=2026-06-12"

    page = client.get(f"{PAGE}?{span}").context
    chart = client.get(f"{PAGE}chart/?{span}").json()
    client.post(f"{PAGE}?{span}", {"format": "csv"})
    ranged = client.get(f"{PAGE}{page['ranges'][0][3]}").context

    days = {"2026-06-10", "2026-06-11", "2026-06-12"}
    assert page["form"]["aggregate_by"].value() == ranged["form"]["aggregate_by"].value() == "day"
    assert {line.period for line, _ in page["rows"]} <= days
    assert page["rows"]
    assert set(chart["labels"]) <= days
    assert ranged["question"].aggregation == "day"
    assert Export.objects.get().aggregation == "day"


def test_what_is_not_there_stays_chosen():
    """Else the same form, sent once more, would ask for everything."""
    page = superuser().page(PAGE, **DAY, queues_ids="987654", agent_logins="nobody")

    assert (inputs_of(page)["queues_ids"], inputs_of(page)["agent_logins"]) == (["987654"], ["nobody"])
    assert "queue 987654 (gone)" in page


def test_the_number_of_queries_does_not_depend_on_the_agents(people):
    client, counts = superuser(), []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            client.page(PAGE, **DAY, columns=NAMES)
        counts.append(len(queries))
        AgentFactory.create_batch(5, grouped=True)

    assert counts[0] == counts[1]


@pytest.mark.slow("opens many pages")
def test_pages_follow_one_another_and_one_after_the_last_says_so(monkeypatch, june):
    client, query = superuser(), {**JUNE, "aggregate_by": "hour"}
    whole = shown(client, **query)
    monkeypatch.setattr("reports.admin.report.PER_PAGE", 4)
    parts = [row for page in range(1, 30) for row in shown(client, **query, p=page)]

    assert len(whole) > 8
    assert parts == whole
    response = client.get(PAGE, {**query, "p": "500"})
    page = response.content.decode()
    assert "There is no such page." in page
    assert "Nothing was done." not in page
    assert "Previous page" not in page
    assert response.context["first_url"] == f"?{urlencode(query)}"


@pytest.mark.slow("opens many pages")
@pytest.mark.usefixtures("unrendered")
def test_hours_of_the_day_of_all_time_are_those_of_the_time_in_which_there_is_anything(people):
    now, client = play(people, 1, 3), superuser()

    with time_machine.travel(now, tick=False):
        year = shown(client, date_from="2026-01-01", date_to="2026-12-31", aggregate_by="hour_of_day", columns=NAMES)
        always = shown(client, **ALWAYS, columns=NAMES)
        chart = client.get(f"{PAGE}chart/", ALWAYS).json()

    assert year
    assert always == year
    # One span a day would make the address too long.
    assert not any(cell.url for row in always for cell in row.values() if isinstance(cell, Cell))
    assert chart["labels"] == sorted({row["period"] for row in year})


@pytest.mark.slow("opens many pages")
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_the_chart_adds_up_what_agents_did(aggregation, june):
    client = superuser()
    query = {"date_from": "2026-06-10 12:00", "date_to": "2026-06-10 20:00", "aggregate_by": aggregation}
    chart = client.get(f"{PAGE}chart/", {**query, "columns": NAMES}).json()
    rows = shown(client, **query, columns=NAMES)
    more = shown(client, **query, columns=NAMES, p=2)

    calls = ("inbound.count", "outbound_above_threshold.count", "outbound_below_threshold.count")
    assert chart["labels"] == sorted({row["period"] for row in [*rows, *more]}) or len(more) == 100
    if len(more) < 100:
        assert sum(chart["calls"]["data"]) == sum(int(row[name].text) for row in [*rows, *more] for name in calls)
        total = dict(zip([name for name in rows[0] if name not in ("login", "period")], chart["total"], strict=True))
        for name in COUNTS:
            assert int(total[name]) == sum(int(row[name].text) for row in [*rows, *more]), name
        for name in ("inbound.sum", "login_sum", "pauses.all.sum", "handle_time"):
            assert seconds_of(total[name]) == sum(seconds_of(row[name].text) for row in [*rows, *more]), name


def test_too_much_is_not_drawn():
    AgentFactory()

    query = {"date_from": "2026-06-01", "date_to": "2026-06-07", "aggregate_by": "minute"}
    answer = superuser().get(f"{PAGE}chart/", query)

    assert answer.json() == {"reason": "No chart of more than 800 periods: choose longer ones."}


# Files


@pytest.mark.slow("opens many pages")
def test_the_question_of_the_page_becomes_a_file(committed_db, people):
    now, client = play(people, 4, 4), superuser()
    query = "date_from=2026-06-01&date_to=2026-06-30&aggregate_by=day&agent_logins=anna&outbound_threshold=30"

    asked: Any = client.post(f"{PAGE}?{query}&columns=inbound.count&columns=login_sum", {"format": "csv"})
    export = Export.objects.get()
    waiting = client.get(asked.url)
    progress = client.get(f"/admin/reports/export/{export.pk}/progress/").json()
    Export.objects.update(next_attempt_at=now)
    with time_machine.travel(now, tick=False):
        built(export)
        rows = shown(client, **JUNE, aggregate_by="day", agent_logins="anna")
    done = client.page(asked.url)
    file = client.get(f"/admin/reports/export/{export.pk}/download/")

    assert asked.url == f"/admin/reports/export/{export.pk}/change/#fetch"
    assert "export-progress" in waiting.content.decode()
    assert progress == {"label": "queued", "percent": 0, "rows": 0, "has_ended": False}
    assert (export.agent_ids, export.threshold) == ([people.agents[0].pk], 30)
    assert export.columns == ["inbound.count", "login_sum"]
    assert "Download" in done
    assert (file["X-Content-Type-Options"], file["Content-Type"]) == ("nosniff", "text/csv; charset=utf-8")
    assert file["Content-Disposition"] == 'attachment; filename="agents-2026-06-01-2026-06-30-by-day.csv"'
    assert [(row["period"], spelled(row["login_sum"])) for row in rows_of(export)] == [
        (row["period"], row["login_sum"].text) for row in rows
    ]


def test_who_may_only_look_asks_for_no_file():
    AgentFactory()
    client = staff("view_export")

    page = client.page(PAGE, **DAY)

    assert 'value="csv"' not in page
    assert client.post(f"{PAGE}?{urlencode(DAY)}", {"format": "csv"}).status_code == 403
    assert not Export.objects.exists()


def test_who_has_no_right_to_reports_sees_nothing():
    export, client = ExportFactory(finished=True), staff("view_agent")

    for path in (
        "work-report",
        "work-report/chart",
        *(f"{export.pk}/{to}" for to in ("change", "download", "progress")),
    ):
        assert client.get(f"/admin/reports/export/{path}/").status_code in (302, 403), path


def test_a_file_that_is_not_there_is_no_download():
    client = superuser()

    for values in ({}, {"finished": True}, {"finished": True, "file": "exports/gone.csv"}):
        export = ExportFactory(**values)
        assert client.get(f"/admin/reports/export/{export.pk}/download/").status_code == 404


def test_an_export_is_asked_for_once_more():
    export, client = ExportFactory(state="failed", message="Broken."), superuser()

    page = client.page(f"/admin/reports/export/{export.pk}/change/")
    again: Any = client.post(f"/admin/reports/export/{export.pk}/again/")

    newest = Export.objects.first()
    assert "Broken." in page
    assert newest is not None
    assert again.url == f"/admin/reports/export/{newest.pk}/change/#fetch"
    assert (newest.state, newest.terms, newest.begins_at) == ("queued", export.terms, export.begins_at)
    assert not messages_of(again)


def test_an_export_says_what_it_was_narrowed_to_also_when_that_is_gone():
    agent = AgentFactory(login="anna", name="Anna", surname="Nowak")
    export = ExportFactory(agent_ids=[agent.pk, 999_999], agent_group_ids=[777_777], queue_ids=[888_888])
    client = superuser()

    asked = dict(client.get(f"/admin/reports/export/{export.pk}/change/").context["asked"])
    everything = dict(client.get(f"/admin/reports/export/{ExportFactory().pk}/change/").context["asked"])

    assert asked["Agents"] == "anna (Anna Nowak), agent 999999 (gone), group 777777 (gone)"
    assert asked["Queues"] == "queue 888888 (gone)"
    assert (everything["Agents"], everything["Queues"]) == ("all", "all")


def test_the_list_of_exports_says_how_each_stands():
    client = superuser()
    ExportFactory(finished=True)
    ExportFactory(state="running", percent=40)
    client.page("/admin/reports/export/")

    with few_statements(5):
        page = client.page("/admin/reports/export/")

    assert "running 40 %" in page
    assert len(listed(client, "/admin/reports/export/?asked=me")) == 0
