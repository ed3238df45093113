"""Mails that the service sends by itself: each outbox claims, sends, tries again and gives up in the same way."""

import smtplib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.core import mail
from django.db import DatabaseError
from django.utils import timezone

from callcentre.core import mail_outbox
from callcentre.core.mail_outbox import DueMail, Outbox, QueuedMail
from callcentre.overview import tasks as alarm_tasks
from callcentre.overview import watch as alarm_mails
from callcentre.signin import tasks as reset_mails
from callcentre.signin import tasks as reset_tasks
from reports import exporting as export_mails
from reports import tasks as export_tasks
from tests.callcentre.factories import PasswordResetFactory, UserFactory
from tests.overview.factories import AlarmMailFactory
from tests.reports.factories import ExportFactory, ExportMailFactory, ScheduleFactory
from tests.tickets.factories import NoticeFactory
from tickets import tasks as notice_tasks
from tickets.mail import notices as notice_mails

pytestmark = pytest.mark.django_db


def reset_of_two_users(**values: Any) -> Any:
    reset = PasswordResetFactory(**values)
    UserFactory.create_batch(2, email=reset.typed, staff=True)
    return reset


def mail_of_an_export(**values: Any) -> Any:
    # Too large for an attachment, so that no file is needed.
    export = ExportFactory(finished=True, file_size=10**9, schedule=ScheduleFactory())
    return ExportMailFactory(export=export, **values)


@dataclass(frozen=True)
class Case:
    outbox: Outbox[Any]
    make: Callable[..., Any]
    # The mails of a row.
    count: int
    send: Callable[[int], None]


CASES = {
    "alarms": Case(alarm_mails.outbox, AlarmMailFactory, 1, alarm_tasks.mail_alarm),
    "exports": Case(export_mails.outbox, mail_of_an_export, 1, export_tasks.mail_export),
    "notices": Case(notice_mails.outbox, NoticeFactory, 1, notice_tasks.mail_notice),
    "resets": Case(reset_mails.outbox, reset_of_two_users, 2, reset_tasks.mail_reset),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture
def clock(time_machine):
    time_machine.move_to(timezone.now(), tick=False)
    return time_machine


class Server:
    """A mail server that accepts so many mails of an attempt and answers the next one with an error."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.accepts = 0

    def send_messages(self, messages: Any) -> int:
        if self.error is None:
            mail.outbox.extend(messages)
            return len(messages)
        mail.outbox.extend(messages[: self.accepts])
        raise self.error


@pytest.fixture
def server(monkeypatch):
    server = Server()
    monkeypatch.setattr(mail_outbox, "get_connection", lambda: server)
    return server


def state_of(row: Any) -> tuple[Any, ...]:
    """Return the state, where the row has one, the number of attempts, and whether another attempt follows."""
    row.refresh_from_db()
    state = (row.state, row.error) if isinstance(row, QueuedMail) else ()
    return (*state, row.attempt_count, row.next_attempt_at is not None)


def expected(row: Any, state: str, error: str, *rest: Any) -> tuple[Any, ...]:
    return ((state, error) if isinstance(row, QueuedMail) else ()) + rest


def test_each_model_of_mails_is_tested_here():
    models = {model for model in apps.get_models() if issubclass(model, DueMail)}

    assert models == {case.outbox.model for case in CASES.values()}


def test_a_mail_is_sent_once_or_written_to_a_file(case, server):
    sent, written = case.make(), case.make()

    case.send(sent.pk)
    case.send(sent.pk)
    outbox = list(mail.outbox)
    server.delivers = False
    case.send(written.pk)

    assert len(outbox) == case.count
    assert {each.extra_headers["Auto-Submitted"] for each in outbox} == {"auto-generated"}
    assert state_of(sent) == expected(sent, "sent", "", 1, False)
    assert state_of(written) == expected(written, "written", "", 1, False)


def test_a_server_that_is_down_is_tried_again_until_the_attempts_are_over(case, server, clock):
    row = case.make()
    server.error = OSError("connection refused")

    for attempt, delay in enumerate(case.outbox.model.delays, 1):
        case.send(row.pk)
        assert state_of(row) == expected(row, "queued", "connection refused", attempt, True)
        clock.shift(delay - timedelta(seconds=1))
        case.send(row.pk)
        clock.shift(timedelta(seconds=2))
    case.send(row.pk)

    assert state_of(row) == expected(row, "failed", "connection refused", len(case.outbox.model.delays) + 1, False)


@pytest.mark.parametrize(
    ("error", "is_final"),
    [
        (smtplib.SMTPRecipientsRefused({"boss@us.example": (550, b"no such user")}), True),
        (smtplib.SMTPRecipientsRefused({"boss@us.example": (451, b"later")}), False),
        (smtplib.SMTPDataError(554, b"spam"), True),
        (smtplib.SMTPDataError(421, b"busy"), False),
        (smtplib.SMTPAuthenticationError(535, b"wrong password"), False),
        (smtplib.SMTPServerDisconnected("gone"), False),
        (ValueError("a fault of the code"), True),
    ],
)
def test_a_final_answer_ends_the_attempts(case, server, error, is_final):
    row = case.make()
    server.error = error

    case.send(row.pk)

    row.refresh_from_db()
    assert (row.next_attempt_at is None) == is_final
    assert not isinstance(row, QueuedMail) or row.state == ("failed" if is_final else "queued")


def test_the_copy_of_another_attempt_has_the_same_message_id(case, server, clock):
    row = case.make()
    server.error, server.accepts = smtplib.SMTPServerDisconnected("gone"), 1
    case.send(row.pk)

    server.error = None
    clock.shift(case.outbox.model.delays[0] + timedelta(seconds=1))
    case.send(row.pk)

    ids = [each.message()["Message-ID"] for each in mail.outbox]
    assert len(ids) == 1 + case.count
    assert ids[0] == ids[1]
    assert len(set(ids)) == case.count


def test_rows_have_message_ids_of_their_own_that_do_not_come_back_with_a_primary_key(case, settings):
    settings.DEFAULT_FROM_EMAIL = "Service <desk@us.example>"
    alarm = AlarmMailFactory()
    case.send(case.make().pk)
    alarm_mails.outbox.send(alarm.pk)

    ids = [each.message()["Message-ID"] for each in mail.outbox]
    assert len(set(ids)) == len(ids) > case.count
    assert all(each.endswith("@us.example>") for each in ids)
    restored = AlarmMailFactory.build(pk=alarm.pk, alarm=alarm.alarm, at=alarm.at + timedelta(seconds=1))
    (letter,) = alarm_mails.outbox.compose(alarm)
    assert alarm_mails.outbox._header_id(alarm, letter) != alarm_mails.outbox._header_id(restored, letter)


def test_a_database_that_is_down_costs_a_lease(case, monkeypatch):
    row = case.make()

    def fail(_row):
        raise DatabaseError("the database is shutting down")

    outbox = replace(case.outbox, compose=fail)
    with pytest.raises(DatabaseError):
        outbox.send(row.pk)

    assert state_of(row) == expected(row, "queued", "", 1, True)
