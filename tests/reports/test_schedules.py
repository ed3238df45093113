"""Scheduled reports: when each has its turn, once; of what span; and what becomes of its mails."""

from datetime import datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import Permission
from django.core import mail
from django.core.files.base import ContentFile

from callcentre.core.errors import Conflict
from callcentre.core.times import zone
from callcentre.models import User
from reports.exporting import build_next, outbox
from reports.measures import USUAL
from reports.models import Export, ExportMail, Schedule
from reports.tasks import run_schedules
from reports.verbs.exports import create_schedule, edit_schedule, resend_mail, run_schedule
from telephony.verbs import presence
from tests.backoffice import messages_of, staff, superuser
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR
from tests.reports.exports import built
from tests.reports.factories import ExportFactory, ExportMailFactory, ScheduleFactory
from tests.serving import at_once
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory

PAGE = "/admin/reports/schedule/"
TERMS = {"aggregation": "day", "columns": ["login_sum"], "recipients": ["boss@example.com", "deputy@example.com"]}


def wall(*parts: int, fold: int = 0) -> datetime:
    return datetime(*parts, tzinfo=zone(), fold=fold)  # type: ignore[arg-type,misc]


@pytest.fixture(autouse=True)
def _mails(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


# Times


def test_turns_are_by_the_clock_of_the_service():
    for repeats, hour, now, before, after in [
        ("daily", 6, wall(2026, 6, 10, 6), wall(2026, 6, 10, 6), wall(2026, 6, 11, 6)),
        ("daily", 6, wall(2026, 6, 10, 5, 59, 59), wall(2026, 6, 9, 6), wall(2026, 6, 10, 6)),
        ("weekly", 6, wall(2026, 6, 10, 6), wall(2026, 6, 8, 6), wall(2026, 6, 15, 6)),
        ("weekly", 6, wall(2026, 6, 8, 5), wall(2026, 6, 1, 6), wall(2026, 6, 8, 6)),
        ("monthly", 0, wall(2026, 12, 31, 23), wall(2026, 12, 1), wall(2027, 1, 1)),
        ("monthly", 6, wall(2026, 3, 1, 5), wall(2026, 2, 1, 6), wall(2026, 3, 1, 6)),
        # In spring the clock goes from 2 to 3, in autumn from 3 to 2.
        ("daily", 2, wall(2026, 3, 29, 1), wall(2026, 3, 28, 2), wall(2026, 3, 29, 3)),
        ("daily", 2, wall(2026, 3, 29, 3), wall(2026, 3, 29, 3), wall(2026, 3, 30, 2)),
        ("daily", 2, wall(2026, 10, 25, 2), wall(2026, 10, 25, 2), wall(2026, 10, 26, 2)),
        ("daily", 2, wall(2026, 10, 25, 2, fold=1), wall(2026, 10, 25, 2), wall(2026, 10, 26, 2)),
    ]:
        schedule = Schedule(repeats=repeats, hour=hour)

        assert schedule.due_before(now).timestamp() == before.timestamp()
        assert schedule.due_after(now).timestamp() == after.timestamp()


def test_a_span_is_of_the_calendar():
    for span, due_at, begin, end in [
        ("yesterday", wall(2026, 3, 30, 6), wall(2026, 3, 29), wall(2026, 3, 30)),
        ("last_week", wall(2026, 6, 10, 6), wall(2026, 6, 1), wall(2026, 6, 8)),
        ("last_month", wall(2027, 1, 1), wall(2026, 12, 1), wall(2027, 1, 1)),
    ]:
        assert Schedule(span=span).span_of(due_at) == (begin, end)


@pytest.mark.django_db
def test_a_turn_of_an_active_schedule_is_taken_once_and_of_missed_ones_the_last():
    schedule = ScheduleFactory(next_due_at=wall(2026, 6, 7, 6))
    ScheduleFactory(next_due_at=wall(2026, 6, 7, 6), is_active=False)

    with time_machine.travel(wall(2026, 6, 10, 9), tick=False):
        run_schedules()
        run_schedules()

    export = Export.objects.get()
    schedule.refresh_from_db()
    assert (export.schedule, export.due_at) == (schedule, wall(2026, 6, 10, 6))
    assert (export.begins_at, export.ends_at) == (wall(2026, 6, 9), wall(2026, 6, 10))
    assert schedule.next_due_at == wall(2026, 6, 11, 6)


@pytest.mark.django_db
def test_an_edit_makes_up_for_nothing_and_repeats_nothing():
    with time_machine.travel(wall(2026, 6, 10, 9), tick=False):
        schedule = create_schedule(ACTOR, name="Daily", hour=10, **TERMS)
    with time_machine.travel(wall(2026, 6, 10, 11), tick=False):
        run_schedules()
        schedule.refresh_from_db()
        edit_schedule(schedule, ACTOR, hour=11)
        run_schedules()
        edit_schedule(schedule, ACTOR, hour=10)
        run_schedules()

    assert [export.due_at for export in Export.objects.all()] == [wall(2026, 6, 10, 10)]
    assert [change.action for change in schedule.changes.all()] == ["edit", "edit", "create"]


def test_of_many_that_try_at_once_one_asks(committed_db):
    schedule = ScheduleFactory(next_due_at=wall(2026, 6, 10, 6))
    now = wall(2026, 6, 10, 7)

    exports = at_once([lambda: run_schedule(Schedule.objects.get(pk=schedule.pk), now)] * 6)

    assert len([export for export in exports if export]) == 1
    assert Export.objects.count() == 1


def test_a_schedule_ends_with_the_rights_of_its_author_and_not_with_the_author(committed_db):
    author = UserFactory(staff=True)
    author.user_permissions.add(Permission.objects.get(codename="view_export"))
    schedule = create_schedule(author.actor, name="Daily", **TERMS)
    states = []
    for day, values in ((10, {"is_active": False}), (11, {"is_active": True})):
        User.objects.filter(pk=author.pk).update(**values)
        Schedule.objects.update(next_due_at=wall(2026, 6, day, 6))
        export = run_schedule(schedule, wall(2026, 6, day, 7))
        assert export
        build_next()
        export.refresh_from_db()
        states.append((export.state, export.mails.count()))
        author.user_permissions.clear()

    assert states == [("finished", 2), ("failed", 0)]


# Mails


def test_a_scheduled_export_is_mailed_to_each_of_its_recipients(committed_db):
    presence.log_in(AgentFactory(login="anna"), ACTOR, wall(2026, 6, 9, 8))
    schedule = create_schedule(ACTOR, name="Daily", language="pl", format="xlsx", **TERMS)
    Schedule.objects.update(next_due_at=wall(2026, 6, 10, 6))
    export = run_schedule(schedule, wall(2026, 6, 10, 7))
    assert export

    built(export)
    for due in ExportMail.objects.due():
        outbox.send(due.pk)

    assert [(row.recipient, row.state, row.attempt_count) for row in export.mails.all()] == [
        ("boss@example.com", "sent", 1),
        ("deputy@example.com", "sent", 1),
    ]
    assert [sent.to for sent in mail.outbox] == [["boss@example.com"], ["deputy@example.com"]]
    name, content, kind = mail.outbox[0].attachments[0]
    assert (name, kind) == (
        "agents-2026-06-09-2026-06-09-by-day.xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    )
    assert len(content) == export.file_size
    assert mail.outbox[0].subject == "Daily: 2026-06-09"
    assert not ExportMail.objects.due().exists()


@pytest.fixture
def owed(db):
    """Of an export with a file."""
    export = ExportFactory(finished=True, file_size=3, schedule=ScheduleFactory())
    name = export.file.storage.save("exports/mail-test.csv", ContentFile(b"a,b"))
    Export.objects.filter(pk=export.pk).update(file=name)
    row: ExportMail = ExportMailFactory(export=export)
    return row


def tried(row: ExportMail) -> tuple[str, int, str]:
    outbox.send(row.pk)
    row.refresh_from_db()
    return row.state, row.attempt_count, row.error


@pytest.mark.usefixtures("plain_static")
def test_a_failed_mail_is_sent_again_and_one_that_is_not_there_is_missed_in_the_language_of_the_person(owed):
    ExportMail.objects.filter(pk=owed.pk).update(state="failed", next_attempt_at=None, error="full")
    client, page = superuser(), f"/admin/reports/export/{owed.export_id}/change/"

    before = client.page(page)
    client.post(f"/admin/reports/export/{owed.export_id}/mails/{owed.pk}/resend/")
    again = client.post(f"/admin/reports/export/{owed.export_id}/mails/{owed.pk}/resend/")

    assert "Send again" in before
    assert messages_of(again) == ["The message was sent, or may just be being sent: it cannot be sent again."]
    assert tried(owed) == ("sent", 1, "")
    with pytest.raises(Conflict):
        resend_mail(owed, ACTOR)
    address = f"/admin/reports/export/{owed.export_id}/mails/{owed.pk + 1}/resend/"
    missing = client.post(address, headers={"accept-language": "pl"})
    assert (missing.status_code, "Adres jest błędny" in missing.content.decode()) == (404, True)


def test_a_file_that_is_gone_is_not_mailed(owed):
    owed.export.refresh_from_db()
    owed.export.remove_file()

    assert tried(owed) == ("failed", 1, "the file is not there any more")


def test_a_file_too_large_for_a_mail_is_linked(owed, settings):
    settings.PUBLIC_URL = "https://callcentre.example"
    Export.objects.filter(pk=owed.export_id).update(file_size=10**9)

    assert tried(owed)[0] == "sent"

    assert not mail.outbox[0].attachments
    assert f"https://callcentre.example/admin/reports/export/{owed.export_id}/change/" in mail.outbox[0].body


@pytest.mark.slow("opens many pages")
@pytest.mark.django_db
@pytest.mark.usefixtures("plain_static")
def test_a_schedule_is_made_edited_and_looked_at():
    client = superuser()
    anna = AgentFactory(login="anna")
    values = {"name": "Weekly", "repeats": "weekly", "recipients": "boss@example.com\nboss@example.com, a@example.com"}

    client.submit(f"{PAGE}add/", **values, agent_ids=[anna.pk], language="en")
    schedule = Schedule.objects.get()
    client.submit(f"{PAGE}{schedule.pk}/change/", hour="7", is_active=None, language="en")
    schedule.refresh_from_db()
    page = client.page(f"{PAGE}{schedule.pk}/change/")
    ExportMailFactory(export=ExportFactory(finished=True, schedule=schedule, due_at=wall(2026, 6, 8)), state="failed")

    assert (schedule.recipients, schedule.agent_ids) == (["boss@example.com", "a@example.com"], [anna.pk])
    assert (schedule.columns, schedule.hour, schedule.is_active, schedule.repeats) == (USUAL, 7, False, "weekly")
    assert sorted(schedule.changes.all()[0].changes) == ["hour", "is_active"]
    assert "tester" not in page
    with few_statements(8):
        assert "mail failed 1/1" in client.page(PAGE)
    assert "mail failed 1/1" in client.page(f"{PAGE}{schedule.pk}/change/")


@pytest.mark.django_db
@pytest.mark.usefixtures("plain_static")
def test_the_front_page_says_what_somebody_waits_for_in_vain():
    now, schedule, client = datetime.now(tz=zone()), ScheduleFactory(), superuser()
    for days, state in ((1, "failed"), (2, "sent"), (8, "failed")):
        due = {"due_at": now - timedelta(days=days), "actor_name": f"{days} days ago"}
        ExportMailFactory(export=ExportFactory(finished=True, schedule=schedule, **due), state=state)
    ExportFactory(state="failed", schedule=schedule, due_at=now, actor_name="Today")

    page = client.page("/admin/")

    assert [name for name in ("Today", "1 days ago", "2 days ago", "8 days ago") if name in page] == [
        "Today",
        "1 days ago",
    ]
    assert "Scheduled reports that failed" not in staff("view_schedule").page("/admin/")
