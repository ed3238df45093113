"""Editing scheduled reports: whom they are about stays what it was, and nobody mails what he may not see."""

from typing import Any

import pytest

from reports.models import Schedule
from reports.verbs.exports import edit_schedule, run_schedule
from telephony.verbs import presence
from tests.backoffice import BackOffice, errors_of, inputs_of, page_of, staff, superuser
from tests.conftest import ACTOR
from tests.reports.exports import built, rows_of
from tests.reports.factories import ScheduleFactory
from tests.telephony.factories import AgentFactory, AgentGroupFactory, QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

PAGE = "/admin/reports/schedule/"


def test_an_edit_never_widens_what_a_schedule_is_about():
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


def test_what_there_never_was_is_refused_at_its_field():
    schedule = ScheduleFactory()
    gone = {field: ["999999"] for field in ("agent_ids", "agent_group_ids", "queue_ids")}

    refused = superuser().submit(page_of(schedule), expected=200, language="en", **gone)

    assert set(errors_of(refused)) == set(gone)
    schedule.refresh_from_db()
    assert [getattr(schedule, field) for field in gone] == [[], [], []]


def test_an_agent_with_another_login_goes_on_being_in_it(committed_db):
    agent, _other = AgentFactory(login="anna"), AgentFactory(login="borys")
    schedule = ScheduleFactory(agent_ids=[agent.pk], columns=["login_sum"])
    type(agent).objects.filter(pk=agent.pk).update(login="anna.nowak")
    for one in type(agent).objects.all():
        presence.log_in(one, ACTOR, schedule.next_due_at.replace(day=19))

    export = run_schedule(schedule, schedule.next_due_at)

    assert export is not None
    assert {row["agent.login"] for row in rows_of(built(export))} == {"anna.nowak"}


def test_a_name_is_one_line():
    client = superuser()
    for name in ("Daily\rBcc: x", "Daily\u2028x", "Daily\x1b[2Jx"):
        refused = client.submit(f"{PAGE}add/", expected=200, name=name, recipients="boss@example.com", language="en")
        assert errors_of(refused) == {"name": ["One line, without control characters."]}, name
    assert not Schedule.objects.exists()


def test_all_that_is_wrong_is_said_at_once_each_at_its_field():
    """What an input says of itself, what only the verb knows, and what only the database does."""
    ScheduleFactory(name="Taken")
    values = {"hour": "24", "threshold": "x", "span": "last_month", "aggregation": "minute", "columns": []}

    refused = superuser().submit(
        f"{PAGE}add/",
        expected=200,
        name="Taken",
        recipients="boss@example.com\nboss\n@example.com",
        language="en",
        **values,
    )

    assert errors_of(refused) == {
        "name": ["Scheduled report with this Name already exists."],
        "hour": ["Ensure this value is less than or equal to 23."],
        "threshold": ["Enter a whole number."],
        "columns": ["This field is required."],
        "aggregation": ["The span has more than 20000 periods: shorten it, or aggregate by longer ones."],
        "recipients": ["This is no e-mail address: boss.", "This is no e-mail address: @example.com."],
    }


@pytest.mark.parametrize("field", ["aggregation", "span", "recipients", "name"])
def test_of_what_is_not_there_is_said_only_that(field):
    values = {"name": "Mine", "recipients": "boss@example.com", "span": "last_month", "aggregation": "minute"}

    refused = superuser().submit(f"{PAGE}add/", expected=200, language="en", hour="24", **{**values, field: ""})

    assert errors_of(refused)[field] == ["This field is required."]


# Two people


def filled(client: BackOffice, schedule: Schedule, **changes: Any) -> dict[str, Any]:
    """The page as it is now, and what somebody changes on it; sent when he pleases."""
    return {**inputs_of(client.page(page_of(schedule))), "language": "en", **changes}


def test_two_who_change_different_things_both_do_and_two_who_want_the_same_are_not_asked():
    """Lists too: of each the page says what it showed."""
    agents, client = AgentFactory.create_batch(2), superuser()
    schedule = ScheduleFactory(agent_ids=[agents[0].pk], recipients=["boss@example.com", "deputy@example.com"])
    theirs, same = filled(client, schedule, hour="9"), filled(client, schedule, hour="6")
    edit_schedule(
        schedule,
        ACTOR,
        agent_ids=[agent.pk for agent in agents],
        recipients=["new@example.com"],
        columns=["wrap_up"],
        hour=6,
    )

    assert client.post(page_of(schedule), same).status_code == 302
    assert schedule.changes.count() == 1
    client.post(page_of(schedule), theirs)

    schedule.refresh_from_db()
    assert (schedule.hour, schedule.recipients, schedule.columns) == (9, ["new@example.com"], ["wrap_up"])
    assert schedule.agent_ids == [agent.pk for agent in agents]
    assert next(list(change.changes) for change in schedule.changes.all()) == ["hour"]


CHANGES: dict[str, tuple[Any, Any, Any]] = {
    # The value set by another person meanwhile, the choice of this person, the value in the row.
    "hour": (8, "9", 9),
    "recipients": (
        ["theirs@example.com"],
        "mine@example.com\nmy.own@example.com",
        ["mine@example.com", "my.own@example.com"],
    ),
    "columns": (["wrap_up"], ["occupancy", "login_sum"], ["login_sum", "occupancy"]),
    "queue_ids": ([999_999], [], []),
}


@pytest.mark.parametrize("field", CHANGES)
def test_who_would_undo_what_somebody_else_has_set_is_asked_first(field):
    theirs, mine, meant = CHANGES[field]
    client = superuser()
    schedule = ScheduleFactory(queue_ids=[888_888])
    data = filled(client, schedule, **{field: mine})
    edit_schedule(schedule, ACTOR, **{field: theirs})

    told: Any = client.post(page_of(schedule), data)
    schedule.refresh_from_db()
    kept = getattr(schedule, field)
    again = client.post(page_of(schedule), {**inputs_of(told.content.decode()), "language": "en"})

    schedule.refresh_from_db()
    assert errors_of(told) == {field: ["Another user has changed this meanwhile. Save again to set yours."]}
    assert (kept, again.status_code, getattr(schedule, field)) == (theirs, 302, meant)


def test_a_list_that_was_empty_is_kept_when_something_else_is_mended():
    queue, client, schedule = QueueFactory(), superuser(), ScheduleFactory()

    refused = client.submit(page_of(schedule), expected=200, queue_ids=[queue.pk], hour="24", language="en")
    client.post(page_of(schedule), {**inputs_of(refused.content.decode()), "hour": "9", "language": "en"})

    schedule.refresh_from_db()
    assert (schedule.queue_ids, schedule.hour) == ([queue.pk], 9)


def test_who_may_not_see_the_figures_mails_them_to_nobody():
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


def test_the_history_speaks_as_the_form_does_and_names_the_agents():
    client, schedule = superuser(), ScheduleFactory(columns=["inbound.count"])
    agent = AgentFactory(login="anna", name="", surname="")
    values: dict[str, Any] = {"repeats": "weekly", "is_active": None, "aggregation": "hour_of_day", "format": "xlsx"}
    values |= {"agent_ids": [agent.pk], "recipients": "a@example.com b@example.com"}

    client.submit(page_of(schedule), **values, columns=["login_sum", "pauses.reasons"], language="pl")
    history = client.get(page_of(schedule)).context["history"]

    assert {str(name): (str(old), str(new)) for name, old, new in history[0].changes} == {
        "agents": ("", "anna"),
        "how often": ("every day", "every Monday"),
        "active": ("yes", "no"),
        "period of a row": ("day", "hour of the day"),
        "format": ("CSV", "XLSX"),
        "columns": ("Inbound calls: offered", "Login: time, Pauses: each reason"),
        "recipients": ("boss@example.com", "a@example.com, b@example.com"),
        "language": ("English", "Polish"),
    }
