"""Editing scheduled reports: whom they are about stays what it was, and nobody mails what he may not see."""

from typing import Any

import pytest

from reports.models import Schedule
from tests.backoffice import errors_of, inputs_of, staff, superuser
from tests.conftest import ACTOR
from tests.reports.exports import built, rows_of
from tests.reports.factories import ScheduleFactory
from tests.telephony.factories import AgentFactory, AgentGroupFactory, QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

PAGE = "/admin/reports/schedule/"


def page_of(schedule: Schedule) -> str:
    return f"{PAGE}{schedule.pk}/change/"


def test_an_edit_never_widens_what_a_schedule_is_about() -> None:
    """[] would mean everybody."""
    agent, queue, group = AgentFactory(login="anna"), QueueFactory(), AgentGroupFactory()
    schedule = ScheduleFactory(agent_ids=[agent.pk], agent_group_ids=[group.pk], queue_ids=[queue.pk])
    gone = ScheduleFactory(agent_group_ids=[group.pk], queue_ids=[999_999])
    type(agent).objects.update(login="anna.nowak", is_active=False)
    type(queue).objects.update(is_active=False)
    group_id = group.pk
    group.delete()
    client = superuser()

    for one in (schedule, gone):
        client.submit(page_of(one), hour="9", language="en")

    schedule.refresh_from_db()
    gone.refresh_from_db()
    assert (schedule.hour, schedule.agent_ids, schedule.queue_ids) == (9, [agent.pk], [queue.pk])
    assert schedule.agent_group_ids == gone.agent_group_ids == [group_id]
    assert gone.queue_ids == [999_999]
    assert [list(change.changes) for change in gone.changes.all()] == [["hour"]]
    page = client.page(page_of(gone))
    assert f"group {group_id} (gone)" in page
    assert "queue 999999 (gone)" in page


@pytest.mark.parametrize("field", ["agent_ids", "agent_group_ids", "queue_ids"])
def test_what_there_never_was_is_refused_at_its_field(field: str) -> None:
    schedule = ScheduleFactory()

    refused = superuser().submit(page_of(schedule), expected=200, language="en", **{field: ["999999"]})

    assert list(errors_of(refused)) == [field]
    schedule.refresh_from_db()
    assert getattr(schedule, field) == []


def test_an_agent_with_another_login_goes_on_being_in_it(committed_db: None) -> None:
    agent, _other = AgentFactory(login="anna"), AgentFactory(login="borys")
    schedule = ScheduleFactory(agent_ids=[agent.pk], columns=["login_sum"])
    type(agent).objects.filter(pk=agent.pk).update(login="anna.nowak")
    for one in type(agent).objects.all():
        one.log_in(ACTOR, schedule.next_due_at.replace(day=19))

    export = schedule.run(schedule.next_due_at)

    assert export is not None
    assert {row["agent.login"] for row in rows_of(built(export))} == {"anna.nowak"}


@pytest.mark.parametrize("name", ["Daily\rBcc: x", "Daily\u2028x", "Daily\x1b[2Jx"])
def test_a_name_is_one_line(name: str) -> None:
    refused = superuser().submit(f"{PAGE}add/", expected=200, name=name, recipients="boss@example.com", language="en")

    assert errors_of(refused) == {"name": ["One line, without control characters."]}
    assert not Schedule.objects.exists()


def test_who_may_not_see_the_figures_mails_them_to_nobody() -> None:
    schedule = ScheduleFactory(agent_ids=[AgentFactory(login="anna", name="", surname="").pk], queue_ids=[999_999])
    rights = ("view_schedule", "add_schedule", "change_schedule")
    blind, seeing = staff(*rights), staff(*rights, "view_export")

    page = blind.page(page_of(schedule))
    posted: Any = blind.post(page_of(schedule), {**inputs_of(seeing.page(page_of(schedule))), "hour": "9"})
    seeing.submit(page_of(schedule), hour="7", language="en")
    seeing.submit(f"{PAGE}add/", name="Mine", recipients="boss@example.com", language="en")

    assert "anna" in page
    assert "queue 999999 (gone)" in page
    assert 'name="recipients"' not in page
    assert posted.status_code == 403
    assert blind.get(f"{PAGE}add/").status_code == 403
    schedule.refresh_from_db()
    assert schedule.hour == 7
    assert Schedule.objects.count() == 2


def test_the_history_names_whom_a_schedule_was_about() -> None:
    agent, client = AgentFactory(login="anna", name="", surname=""), superuser()
    schedule = ScheduleFactory()

    client.submit(page_of(schedule), agent_ids=[agent.pk], language="en")
    history = client.get(page_of(schedule)).context["history"]

    assert history[0].changes == [("agents", "", "anna")]
