"""The pages of the reports by queue, campaign and ticket queue: figures, rows behind them, files, mails and scope."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
import time_machine
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from callcentre.core.scope import DIMENSIONS
from callcentre.models import User
from reports import exporting as builds
from reports.catalogue import OUTBOUNDS, QUEUES, REPORTS, TICKETS
from reports.description import Report
from reports.models import Export, Schedule
from reports.outbounds import CampaignRow
from reports.verbs.exports import run_schedule
from tests.backoffice import BackOffice, errors_of, staff, superuser
from tests.reports.exports import built, cells_of, rows_of
from tests.reports.factories import ExportFactory, ScheduleFactory
from tests.reports.subject_scenes import SubjectScene
from tests.reports.test_subject_reports import AUTUMN, PATHS, SPRING, all_rows
from tests.rights.people import client_of, person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

SPAN = {"date_from": "2026-03-01", "date_to": "2026-03-31", "aggregate_by": "day"}
SCOPES = {QUEUES.kind: "scope_call_queues", OUTBOUNDS.kind: "scope_outbounds", TICKETS.kind: "scope_ticket_queues"}
RIGHTS = {QUEUES.kind: "view_queue", OUTBOUNDS.kind: "view_campaign", TICKETS.kind: "view_ticketqueue"}
COUNTS = {
    QUEUES.kind: (
        *("offered", "answered", "abandoned", "answered_in_threshold"),
        *("callbacks", "callbacks_answered", "missed", "missed_unanswered"),
    ),
    OUTBOUNDS.kind: ("attempts", "live_answers", "drops", "machines", "successes", "records_done"),
    TICKETS.kind: ("opened", "closed", "reopened", "backlog", "responses", "resolutions"),
}
of_each = pytest.mark.parametrize("report", [QUEUES, OUTBOUNDS, TICKETS], ids=lambda report: report.kind)


def page_of(report: Report) -> str:
    return f"/admin/reports/export/{report.kind}-report/"


def cells(client: BackOffice, report: Report, **query: Any) -> list[tuple[Any, dict[str, Any]]]:
    """The rows of the page and their total (None): each with its cells by the names of the columns."""
    context = client.values(page_of(report), **query)
    names = [column.name for column in context["columns"]]
    rows = [(line, dict(zip(names, found, strict=True))) for line, found in context["rows"]]
    total = [(None, dict(zip(names, context["total"], strict=True)))] if context["total"] else []
    return [*rows, *total]


def played(seed: int = 1, base: Any = SPRING) -> SubjectScene:
    scene = SubjectScene(base, seed)
    scene.play()
    return scene


@pytest.fixture
def scene():
    """A scene of spring; the clock stands at its end."""
    scene = played()
    with time_machine.travel(scene.now, tick=False):
        yield scene


@of_each
def test_the_page_shows_what_the_api_answers_its_total_leads_to_lists_and_its_chart_has_each_period(report, api, scene):
    client = superuser()

    *rows, (_none, total) = cells(client, report, **SPAN, columns=report.names)
    answer = all_rows(api, report, **SPAN)
    chart = client.get(f"{page_of(report)}chart/", SPAN).json()

    assert [line.period for line, _cells in rows] == [row["period"] for row in answer]
    for (_line, shown), row in zip(rows, answer, strict=True):
        for name in set(COUNTS[report.kind]) & set(row):
            assert shown[name].text == str(row[name])
    assert [name for name, cell in total.items() if not cell.url and cell.text not in ("–", "0", "")] == []
    assert chart["labels"]
    assert {len(chart[name]["data"]) for name in ("calls", "talk", "occupancy")} == {len(chart["labels"])}


@pytest.mark.slow("compares with a slow reference")
@of_each
@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize("aggregation", ["day", "hour"])
def test_the_list_behind_a_figure_holds_as_many_rows(report, aggregation):
    """In autumn, with an hour that comes twice; also behind the total."""
    scene, client, seen = played(3, AUTUMN), superuser(), set()
    query = {"date_from": "2026-10-24", "date_to": "2026-10-26", "aggregate_by": aggregation}

    with time_machine.travel(scene.now, tick=False):
        found = cells(client, report, **query, columns=report.names)
        for line, shown in [*found[:: 1 + len(found) // 8], found[-1]]:
            for name in COUNTS[report.kind]:
                if shown[name].text != "0":
                    seen.add(name)
                    listed = client.values(shown[name].url)["cl"].result_list
                    assert len(listed) == int(shown[name].text), (name, line)

    assert len(seen) >= len(COUNTS[report.kind]) - 1


@of_each
def test_a_user_who_may_not_see_the_list_gets_no_link(report, scene):
    found = cells(staff("view_export", RIGHTS[report.kind]), report, **SPAN)

    assert found
    assert not any(cell.url for _line, shown in found for cell in shown.values())
    assert staff(RIGHTS[report.kind]).get(page_of(report)).status_code == 403


@of_each
def test_a_scope_that_narrows_the_list_and_not_the_report_leaves_no_links(report, scene):
    others = {QUEUES.kind: {"scope_outbounds", "scope_agent_groups"}, OUTBOUNDS.kind: {"scope_agent_groups"}}

    found = {
        column: any(
            shown[COUNTS[report.kind][0]].url
            for _line, shown in cells(client_of(person("Supervisor", **{column: []})), report, **SPAN)
        )
        for column in DIMENSIONS
        if column != SCOPES[report.kind]
    }

    assert {column for column, is_linked in found.items() if not is_linked} == others.get(report.kind, set())


def test_results_with_statuses_of_the_same_name_are_added_up_for_people():
    results = '[{"1": ["Callback", 3], "2": ["Sold", 1]}, {"7": ["Callback", 4]}]'
    row = CampaignRow(None, {}, "", results=results)
    (measure,) = (measure for measure in OUTBOUNDS.measures if measure.name == "by_status")

    assert measure.shown(row) == "Callback: 7, Sold: 1"


@pytest.mark.slow("opens many pages")
@pytest.mark.usefixtures("with_menu")
@of_each
def test_a_report_needs_the_right_to_see_what_it_is_about(report):
    """Pages, menu, exports of others, their files and schedules: with the right to reports alone there are none."""
    export = ExportFactory(finished=True, report=report.kind, columns=[])
    schedule = ScheduleFactory(report=report.kind, columns=[], next_due_at=export.begins_at)
    ExportFactory(report=report.kind, columns=[], schedule=schedule, due_at=timezone.now(), state="failed")
    rights = ("view_export", "add_export", "view_schedule", "add_schedule", "change_schedule")
    blind, seeing = staff(*rights), staff(*rights, RIGHTS[report.kind])
    days = "?date_from=2026-03-01&date_to=2026-03-02"
    pages = [f"{page_of(report)}{days}", f"{page_of(report)}chart/{days}"]
    pages.append(f"/admin/reports/schedule/add/?report={report.kind}")
    rows = [f"/admin/reports/{row._meta.model_name}/{row.pk}/change/" for row in (export, schedule)]
    rows.append(f"/admin/reports/export/{export.pk}/progress/")

    assert {path: blind.get(path).status_code for path in pages} == dict.fromkeys(pages, 403)
    assert {blind.get(path).status_code for path in rows} == {302, 404}
    for path in ("again", "download"):
        assert blind.post(f"/admin/reports/export/{export.pk}/{path}/").status_code == 404
    assert blind.post(pages[0], {"format": "csv"}).status_code == 403
    assert blind.post("/admin/reports/schedule/add/", {"report": report.kind}).status_code == 403
    assert Export.objects.count() == 2
    assert blind.values("/admin/reports/export/")["cl"].result_count == 0
    assert blind.values("/admin/reports/schedule/")["cl"].result_count == 0
    assert page_of(report) not in (front := blind.page("/admin/"))
    assert rows[0].replace(str(export.pk), str(export.pk + 1)) not in front

    opened = [*pages, *rows]
    assert {path: seeing.get(path).status_code for path in opened} == dict.fromkeys(opened, 200)
    assert page_of(report) in seeing.page("/admin/")


@of_each
@pytest.mark.parametrize("is_scheduled", [True, False])
def test_a_worker_builds_no_report_for_a_person_who_may_not_see_it(report, is_scheduled, committed_db):
    user = person("Supervisor")
    asked = {"actor_kind": "system"} if is_scheduled else {"actor_id": user.pk}
    schedule = ScheduleFactory(user=user, report=report.kind, columns=[]) if is_scheduled else None

    def state():
        export = ExportFactory(report=report.kind, columns=[], schedule=schedule, **asked)
        while builds.build_next():
            pass
        export.refresh_from_db()
        return str(export.state)

    assert state() == "finished"
    User.objects.update(is_active=False)
    assert state() == "finished"
    user.groups.clear()
    user.user_permissions.set(Permission.objects.filter(codename="view_export"))
    assert state() == "failed"


@pytest.mark.usefixtures("unrendered")
def test_the_backlog_by_age_leads_to_its_tickets():
    scene, client = played(), superuser()
    query = {**SPAN, "date_to": "2026-04-30"}

    with time_machine.travel(scene.now + timedelta(days=2), tick=False):
        section = client.values(page_of(TICKETS), **query)["section"]
        entries = [entry for _line, line in section["lines"] for entry in line]
        for number, url in [entry for entry in entries if entry[0]]:
            assert len(client.values(url)["cl"].result_list) == number

    assert sum(number for number, _url in entries) == sum(number for number, _url in section["total"]) > 0
    _line, total = cells(client, TICKETS, **query)[-1]
    assert int(total["backlog"].text) == sum(number for number, _url in entries)


def test_hours_of_the_day_of_campaigns_add_up_to_the_total(scene):
    client = superuser()

    section = client.values(page_of(OUTBOUNDS), **SPAN)["section"]
    _line, total = cells(client, OUTBOUNDS, **SPAN)[-1]

    attempts = [line[0][0] for _hour, line in section["lines"]]
    assert sum(attempts) == section["total"][0][0] == int(total["attempts"].text)


@of_each
def test_the_number_of_queries_does_not_depend_on_the_rows(report):
    client, counts = superuser(), []
    for now in (timezone.now(), None):
        with time_machine.travel(now or played().now, tick=False), CaptureQueriesContext(connection) as queries:
            client.page(page_of(report), **SPAN)
        counts.append(len(queries))

    # The further table of a page with rows; the opening hours of ticket queues need the earliest ticket.
    assert counts[1] - counts[0] <= (2 if report.section else 0)
    assert counts[1] <= 12


@of_each
def test_faults_stand_at_their_fields(report):
    wrong = superuser().get(page_of(report), {"date_from": "x", "date_to": "2026-01-01", "columns": "profit"})

    assert set(errors_of(wrong)) == {"date_from", "columns"}


@of_each
def test_all_rows_become_a_file(report, committed_db, scene):
    client = superuser()

    for form in ("csv", "xlsx"):
        client.post(f"{page_of(report)}?{urlencode(SPAN)}", {"format": form})
    book, table = (built(export) for export in Export.objects.order_by("-pk"))
    *rows, (_none, total) = cells(client, report, **SPAN)
    page = client.page(f"/admin/reports/export/{table.pk}/change/")

    assert table.file_name == f"{report.kind}-2026-03-01-2026-03-31-by-day.csv"
    assert str(report.kind.label) in page
    written, name = rows_of(table), COUNTS[report.kind][0]
    assert [row["period"] for row in written] == [line.period for line, _cells in rows]
    assert [row[name] for row in written] == [shown[name].text for _line, shown in rows]
    sheet = cells_of(book)
    assert len(sheet) == len(rows) + 2
    assert sheet[-1][0] == "Total"
    assert sheet[-1][len(report.fixed)] == float(total[name].text)


@of_each
def test_a_report_comes_by_mail(report, committed_db, scene):
    client = superuser()
    add = f"/admin/reports/schedule/add/?report={report.kind}"

    client.submit(add, name="Every day", language="en", recipients="boss@example.com", columns=[COUNTS[report.kind][0]])
    schedule = Schedule.objects.get()
    Schedule.objects.update(next_due_at=scene.now - timedelta(hours=1))
    export = run_schedule(schedule, scene.now)
    assert export
    rows = rows_of(built(export))

    assert schedule.report == export.report == report.kind
    assert list(rows[0]) == [*(column.name for column in report.fixed), COUNTS[report.kind][0]]
    assert str(report.kind.label) in client.page(f"/admin/reports/schedule/{schedule.pk}/change/")


@of_each
def test_a_person_sees_the_rows_of_their_scope_only(report, committed_db, scene):
    """On the page, in the chart's sums, in files and in what is mailed."""
    assert report.subjects
    first, second = report.subjects.model._default_manager.order_by(*report.subjects.order)[:2]
    user = person("Supervisor", **{SCOPES[report.kind]: [second.pk]})
    client = client_of(user)
    other, key = (getattr(row, report.subjects.names["id"]) for row in (first, second))
    schedule = ScheduleFactory(user=user, report=report.kind, columns=[COUNTS[report.kind][0]], span="last_month")

    rows = client.values(page_of(report), **SPAN)["rows"]
    refused = client.get(page_of(report), {**SPAN, report.subjects.parameter: str(other)})
    whole = superuser().get(f"{page_of(report)}chart/", {**SPAN, report.subjects.parameter: str(key)}).json()
    chart = client.get(f"{page_of(report)}chart/", SPAN).json()
    client.post(f"{page_of(report)}?{urlencode(SPAN)}", {"format": "csv"})
    file = rows_of(built(Export.objects.get()))
    with time_machine.travel(scene.now + timedelta(days=30), tick=False):
        Schedule.objects.update(next_due_at=scene.now)
        export = run_schedule(schedule, scene.now + timedelta(days=30))
        assert export
        mailed = rows_of(built(export))

    assert {line.subject_id for line, _cells in rows} == {second.pk}
    assert list(errors_of(refused)) == [report.subjects.parameter]
    assert chart == whole
    assert {row[report.fixed[0].name] for row in [*file, *mailed]} == {str(key)}
    assert len(mailed) > 0


@pytest.mark.usefixtures("with_menu")
def test_every_report_has_a_page_in_the_menu():
    page = superuser().page("/admin/")

    for kind in PATHS:
        assert f'href="{page_of(REPORTS[kind])}"' in page
