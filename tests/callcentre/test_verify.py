"""`manage.py verify`: each account finds the row for which it does not hold, and nothing in right data."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from campaigns.models import Attempt, DiallingDay, Record
from tests.campaigns.factories import AttemptFactory, CampaignFactory, PastAttemptFactory, RecordFactory
from tests.reports.factories import ExportFactory
from tests.telephony.factories import (
    AgentLineFactory,
    AgentSessionFactory,
    AgentStateFactory,
    ConnectionFactory,
    LegFactory,
    RecordingFactory,
)
from tests.tickets.factories import (
    DispatchFactory,
    MessageFactory,
    ReceivedMailFactory,
    StoredFileFactory,
    TicketFactory,
)
from tests.webhooks.factories import DeliveryFactory, EventFactory, WebhookFactory
from tickets.models import Ticket
from webhooks.models import Webhook

pytestmark = pytest.mark.django_db
LONG_AGO = timezone.now() - timedelta(hours=1)


def wrong(capsys: Any, *arguments: str) -> dict[str, list[str]]:
    """Return the lines of the accounts that are wrong."""
    with suppress(CommandError):
        call_command("verify", "--json", *arguments)
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {each["account"]: each["rows"] for each in found if each["wrong"]}


def attempt(**values: Any) -> Attempt:
    made: Attempt = PastAttemptFactory(dialled_at=LONG_AGO, ended_at=LONG_AGO + timedelta(minutes=1), **values)
    return made


def called_twice() -> None:
    first = attempt()
    attempt(record_id=first.record_id)


def linked_one_way() -> None:
    Ticket.objects.filter(pk=TicketFactory().pk).update(connected_ids=[TicketFactory().pk])


def merged_twice() -> None:
    last = TicketFactory()
    TicketFactory(merged_into=TicketFactory(merged_into=last))


def miscounted() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO tickets_ticketcount (slot, count) VALUES (9, 1) ON CONFLICT (slot) DO UPDATE"
                       " SET count = tickets_ticketcount.count + 1")  # fmt: skip


def event_without_delivery() -> None:
    webhook = WebhookFactory()
    Webhook.objects.update(updated_at=LONG_AGO)
    EventFactory(action=webhook.actions[0])


def miscounted_day() -> None:
    DiallingDay.objects.create(campaign=CampaignFactory(), day=timezone.localdate() - timedelta(days=1), attempts=1)


def stray_file() -> None:
    default_storage.save("recordings/2026/11/01/stray.wav", ContentFile(b"sound"))
    os.utime(default_storage.path("recordings/2026/11/01/stray.wav"), (0, 0))
    # A crash may have left this one, and its removal is due later.
    default_storage.save("recordings/2026/11/01/new.wav", ContentFile(b"sound"))


ENDED = {"state": "ended", "created_at": LONG_AGO, "ended_at": LONG_AGO}
CASES: dict[str, Callable[[], object]] = {
    "files of exports": lambda: ExportFactory(finished=True, file="exports/gone.csv"),
    "files without a row": stray_file,
    "due work": lambda: DispatchFactory(next_attempt_at=LONG_AGO),
    "events": event_without_delivery,
    "open calls": lambda: ConnectionFactory(talking=True, created_at=LONG_AGO),
    "calls to be placed": lambda: ConnectionFactory(
        talking=True, state="queued", answered_at=None, created_at=LONG_AGO
    ),
    "channels": lambda: LegFactory(connection=ConnectionFactory(**ENDED)),
    "agents in calls": lambda: AgentStateFactory(
        kind="talking", started_at=LONG_AGO, agent=AgentSessionFactory().agent, connection=ConnectionFactory(**ENDED)
    ),
    "agents' states": lambda: AgentSessionFactory(started_at=LONG_AGO),
    "standing lines": lambda: AgentLineFactory(asked_at=LONG_AGO),
    "recordings": lambda: RecordingFactory(state="expected", connection=ConnectionFactory(**ENDED)),
    "files of recordings": lambda: RecordingFactory(state="ready", file="recordings/gone.wav"),
    "received mails": lambda: ReceivedMailFactory(outcome="received", path="", received_at=LONG_AGO),
    "replies": lambda: MessageFactory(reply=True),
    "ends of tickets": lambda: Ticket.objects.filter(pk=TicketFactory().pk).update(closed_at=LONG_AGO),
    "merged tickets": merged_twice,
    "links of tickets": linked_one_way,
    "number of tickets": miscounted,
    "files of messages": lambda: StoredFileFactory(path="files/gone"),
    "files of mails": lambda: ReceivedMailFactory(outcome="ignored", path="mails/gone"),
    "records in calls": lambda: Record.objects.filter(pk=RecordFactory().pk).update(leased_by="call 1"),
    "results": lambda: attempt(settle_at=LONG_AGO, settled_at=None),
    "numbers called twice": called_twice,
    "counts of the days": miscounted_day,
}


@pytest.fixture(autouse=True)
def own_files(monkeypatch: Any, tmp_path: Any) -> None:
    """Keep the files of the other tests out of these accounts, and theirs out of others."""
    storage = FileSystemStorage(location=tmp_path)
    for name in ("exists", "listdir", "save", "path", "get_modified_time"):
        monkeypatch.setattr(default_storage, name, getattr(storage, name))


@pytest.mark.parametrize("name", CASES)
def test_each_account_finds_the_wrong_row(name: str, capsys: Any) -> None:
    CASES[name]()

    assert len(wrong(capsys)[name]) == 1


def test_right_rows_are_no_fault_and_nothing_is_written(capsys: Any) -> None:
    call = ConnectionFactory(talking=True, created_at=LONG_AGO)
    LegFactory(connection=call)
    session = AgentSessionFactory()
    AgentStateFactory(agent=session.agent, started_at=LONG_AGO, kind="talking", connection=call)
    DeliveryFactory()
    LegFactory(connection_id=AttemptFactory().connection_id)
    StoredFileFactory()
    ReceivedMailFactory(outcome="ignored", path="")

    assert wrong(capsys) == {}
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        assert cursor.fetchone() == ("off",)


def test_the_report_for_people_says_what_should_hold(capsys: Any) -> None:
    StoredFileFactory(path="files/gone")

    with pytest.raises(CommandError, match="1 of the accounts are wrong"):
        call_command("verify")
    said = capsys.readouterr().out
    assert "WRONG  files of messages: 1 rows. It should hold: Each file of a message" in said
    assert "files/gone" in said
    call_command("verify", "--without-files")
    assert "files of" not in capsys.readouterr().out
