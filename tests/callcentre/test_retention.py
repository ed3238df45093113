"""Retention: old rows go in the night with all that is theirs; new ones, and those on a legal hold, stay."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection, connections, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from callcentre.core import retention
from callcentre.core.errors import Invalid
from callcentre.core.legal_holds import LegalHold
from callcentre.core.retention import KINDS, Retention
from reports.models import Rollup, RollupProgress
from reports.rollups import bring_up_to_date
from telephony.models import Connection, Leg, Recording
from tests.callcentre.factories import LegalHoldFactory
from tests.campaigns.factories import CampaignFactory, PastAttemptFactory, RecordChangeFactory, RecordFactory
from tests.conftest import ACTOR
from tests.telephony.factories import (
    AgentFactory,
    AgentSessionFactory,
    AgentStateFactory,
    CallBackFactory,
    ConnectionFactory,
    LegFactory,
    MissedCallerFactory,
    RecordingFactory,
    TranscriptionFactory,
)
from tests.tickets.deleting import MARK, a_file, a_mail
from tests.tickets.factories import (
    AcknowledgedAddressFactory,
    ChatFactory,
    ChatMessageFactory,
    CustomerChangeFactory,
    CustomerFactory,
    DispatchFactory,
    MessageFactory,
    TicketChangeFactory,
    TicketFactory,
)
from tests.tickets.mails import files_on_disk
from tickets.models import AcknowledgedAddress, Customer, Message, ReceivedMail, StoredFile, Ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage", "by_night")]
NOW = timezone.now().replace(microsecond=0)
OLD, NEW = NOW - timedelta(days=800), NOW - timedelta(days=100)
DAYS = 400


@pytest.fixture
def by_night(settings, monkeypatch):
    """Let it be night all day, without pauses."""
    settings.RETENTION_FROM_HOUR, settings.RETENTION_UNTIL_HOUR = 0, 24
    monkeypatch.setattr(retention, "MOST_PAUSE", 0)


def due(kind: str) -> None:
    Retention.objects.filter(kind=kind).update(next_attempt_at=timezone.now())


def night(kind: str, days: int | None = DAYS) -> Retention:
    """Let a night pass in which rows of a kind are deleted."""
    retention.set_days(ACTOR, kind, days)
    due(kind)
    retention.run(kind)
    return Retention.objects.get(kind=kind)


def a_closed_ticket(at: Any, **values: Any) -> Ticket:
    ticket: Ticket = TicketFactory(closed_at=at, created_at=at, updated_at=at, **values)
    return ticket


def held_customer(**values: Any) -> Customer:
    customer: Customer = CustomerFactory(**values)
    LegalHoldFactory(kind="customer", object_id=customer.pk)
    return customer


def _of_campaign(at: Any, maker: Callable[..., Any], **values: Any) -> Any:
    return maker(campaign=CampaignFactory(start_date=at.date(), end_date=at.date()), **values)


def _call(at: Any, customer: Customer | None, **values: Any) -> Any:
    return ConnectionFactory(created_at=at, customer_id=customer and customer.pk, **values)


def a_received_mail(at: Any, customer: Customer | None) -> ReceivedMail:
    message = MessageFactory(ticket=a_closed_ticket(at, customer=customer))
    name = f"{at:%Y}{customer.pk if customer else 0}"
    mail: ReceivedMail = a_mail(name, received_at=at, outcome="stored", message=message)
    return mail


# Kind -> a row of that age, of a customer. None: a legal hold has no part in it.
MAKERS: dict[str, Callable[..., Any]] = {
    "connections": _call,
    "agent_states": lambda at, _customer: AgentStateFactory(started_at=at, ended_at=at + timedelta(hours=1)),
    "agent_sessions": lambda at, _customer: AgentSessionFactory(started_at=at, ended_at=at + timedelta(hours=1)),
    "transcriptions": lambda at, customer: TranscriptionFactory(
        connection=_call(at, customer), finished=True, finished_at=at
    ),
    "tickets": lambda at, customer: a_closed_ticket(at, customer=customer),
    "messages": lambda at, customer: MessageFactory(ticket=a_closed_ticket(at, customer=customer), created_at=at),
    "raw_mails": a_received_mail,
    "received_mails": a_received_mail,
    "dispatches": lambda at, customer: DispatchFactory(
        message=MessageFactory(ticket=a_closed_ticket(at, customer=customer)),
        queued_at=at,
        state="sent",
        next_attempt_at=None,
    ),
    "chats": lambda at, customer: ChatFactory(
        created_at=at, closed_at=at, client_email=customer.email if customer else "x@client.example"
    ),
    "customers": lambda at, customer: customer or CustomerFactory(created_at=at),
    "ticket_changes": lambda at, customer: TicketChangeFactory(ticket=a_closed_ticket(at, customer=customer), at=at),
    "customer_changes": lambda at, customer: CustomerChangeFactory(customer=customer or CustomerFactory(), at=at),
    "records": lambda at, customer: _of_campaign(at, RecordFactory, **_number(customer)),
    "attempts": lambda at, customer: _of_campaign(
        at, PastAttemptFactory, dialled_at=at, settled_at=at, **_number(customer)
    ),
    "record_changes": lambda at, customer: RecordChangeFactory(record=RecordFactory(**_number(customer)), at=at),
}
WITHOUT_HOLD = ("agent_states", "agent_sessions")


def _number(customer: Customer | None) -> dict[str, str]:
    return {"phone_number": customer.phone_numbers[0]} if customer else {}


def is_gone(row: Any) -> bool:
    """Return whether the row is deleted, or a received mail emptied."""
    found = type(row)._base_manager.filter(pk=row.pk).first()
    return found is None or (isinstance(found, ReceivedMail) and not found.path)


@pytest.mark.parametrize("kind", MAKERS)
def test_rows_of_each_kind_go_when_they_are_old_and_free(kind):
    make = MAKERS[kind]
    old, new = make(OLD, None), make(NEW, None)
    kept = make(OLD, held_customer(email="held@client.example", phone_numbers=["+48 22 555 77 88"]))
    if kind == "customers":
        Customer.objects.update(updated_at=OLD, created_at=OLD)
        Customer.objects.filter(pk=new.pk).update(updated_at=NEW)
    assert retention.count(kind, DAYS) == (2 if kind in WITHOUT_HOLD else 1)

    row = night(kind)

    assert (is_gone(old), is_gone(new), is_gone(kept)) == (True, False, kind in WITHOUT_HOLD)
    assert (row.error, row.is_running, row.removed_count) == ("", False, 2 if kind in WITHOUT_HOLD else 1)
    assert row.ended_at
    assert row.next_attempt_at
    assert row.next_attempt_at > NOW


def test_every_kind_is_tested():
    assert set(MAKERS) == set(KINDS)


def test_a_call_goes_with_its_rows_and_files(own_storage):
    call = _call(OLD, None)
    LegFactory(connection=call)
    CallBackFactory(caller=call, connection=call, state="ended", disposition="ANSWERED", ended_at=OLD)
    MissedCallerFactory(connection=call)
    recording = RecordingFactory(connection=call, ready=True)
    recording.file = default_storage.save(recording.path, ContentFile(b"voice"))
    recording.save()
    TranscriptionFactory(connection=call, finished=True)
    at_switch = RecordingFactory(connection=_call(OLD, None), leaves_switch_at=NOW)

    night("connections")

    assert list(Connection.objects.all()) == [at_switch.connection]
    assert (Leg.objects.count(), Recording.objects.count(), files_on_disk(own_storage)) == (0, 1, 0)


def test_a_ticket_goes_with_messages_files_mails_and_merged_tickets(own_storage):
    ticket, other = a_closed_ticket(OLD), a_closed_ticket(NEW)
    Ticket.objects.filter(pk=other.pk).update(connected_ids=[ticket.pk])
    Ticket.objects.filter(pk=ticket.pk).update(connected_ids=[other.pk])
    a_closed_ticket(OLD, merged_into=ticket)
    message = MessageFactory(ticket=ticket)
    a_file("a", message=message)
    a_mail("b", message=message, outcome="stored")
    TicketFactory(created_at=OLD, updated_at=OLD)  # open

    night("tickets")

    other.refresh_from_db()
    assert (Ticket.objects.count(), other.connected_ids) == (2, [])
    assert (Message.objects.count(), StoredFile.objects.count(), files_on_disk(own_storage)) == (0, 0, 0)
    assert ReceivedMail.objects.get().subject == ""


def test_a_held_ticket_stays_whatever_its_customer():
    ticket = a_closed_ticket(OLD)
    hold = LegalHoldFactory(kind="ticket", object_id=ticket.pk)

    assert night("tickets").removed_count == 0
    LegalHold.objects.filter(pk=hold.pk).update(ended_at=NOW)
    assert night("tickets").removed_count == 1


def test_a_hold_on_what_was_merged_keeps_what_it_leads_to():
    target, customer = a_closed_ticket(OLD), CustomerFactory()
    LegalHoldFactory(kind="ticket", object_id=a_closed_ticket(OLD, merged_into=target).pk)
    LegalHoldFactory(kind="customer", object_id=CustomerFactory(merged_into=customer).pk)
    a_closed_ticket(OLD, customer=customer)

    assert night("tickets").removed_count == 0


def test_a_customer_without_contact_goes_with_those_merged_into_it():
    customer, busy, held = (CustomerFactory(surname=name) for name in ("gone", "busy", "held"))
    merged = [
        CustomerFactory(merged_into=each, email=f"{each.surname}@client.example") for each in (customer, busy, held)
    ]
    AcknowledgedAddressFactory(address=merged[0].email)
    ChatFactory(created_at=NEW, client_email=merged[1].email)
    LegalHoldFactory(kind="customer", object_id=merged[2].pk)
    calls = [_call(OLD, each, direction="OUTBOUND", dst="+48 22 555 11 22") for each in (customer, merged[0])]
    Customer.objects.update(created_at=OLD, updated_at=OLD)

    row = night("customers")

    assert (row.removed_count, row.error) == (1, "")
    assert set(Customer.objects.all()) == {busy, held, *merged[1:]}
    assert not AcknowledgedAddress.objects.exists()
    left = Connection.objects.filter(pk__in=[call.pk for call in calls])
    assert set(left.values_list("customer_id", "dst", "dst_number")) == {(None, "", "")}


def test_a_row_that_cannot_be_deleted_is_passed_and_shown(monkeypatch, admin_client, plain_static):
    bad, *good = [MessageFactory(ticket=a_closed_ticket(OLD), created_at=OLD) for _ in range(4)]
    delete: Any = KINDS["messages"].delete

    def failing(ids: Any) -> object:
        if bad.pk in ids:
            raise ProtectedError("no", set())
        return delete(ids)

    monkeypatch.setitem(KINDS, "messages", retention.Kind(**{**_fields("messages"), "portion": 2, "delete": failing}))
    row = night("messages")

    assert list(Message.objects.all()) == [bad]
    assert (row.removed_count, row.is_running, row.attempt_count) == (len(good), False, 0)
    assert row.error == f"#{bad.pk} ProtectedError"
    page = admin_client.get("/admin/callcentre/retention/settings/").content.decode()
    assert f"Could not be deleted: #{bad.pk} ProtectedError" in page


def test_a_night_ends_after_many_rows_that_cannot_be_deleted(monkeypatch):
    messages = [MessageFactory(ticket=a_closed_ticket(OLD), created_at=OLD) for _ in range(5)]
    fields = {**_fields("messages"), "portion": 2, "delete": lambda ids: 1 / 0}
    monkeypatch.setitem(KINDS, "messages", retention.Kind(**fields))
    monkeypatch.setattr(retention, "MOST_FAILED", 3)

    row = night("messages")

    assert (row.is_running, row.place, row.attempt_count) == (True, str(messages[3].pk), 0)
    assert row.next_attempt_at
    assert row.next_attempt_at.replace(microsecond=0) == retention.next_night(timezone.now())


def test_rows_go_in_portions_over_nights_and_no_others_are_waited_for(settings, monkeypatch, committed_db):
    chats = [ChatFactory(created_at=OLD, closed_at=OLD) for _ in range(5)]
    for chat in chats:
        ChatMessageFactory(chat=chat)
    monkeypatch.setitem(KINDS, "chats", retention.Kind(**{**_fields("chats"), "portion": 2}))
    nights = iter([True, True, False])
    monkeypatch.setattr(retention, "is_night", lambda now: next(nights, True))
    locked = max(chats, key=lambda chat: chat.pk)
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT FROM tickets_chat WHERE id = %s FOR UPDATE", [locked.pk])

        first = night("chats")
        assert (first.removed_count, first.is_running) == (4, True)
        due("chats")
        retention.run("chats")
        second = Retention.objects.get(kind="chats")
        assert (second.removed_count, second.is_running) == (4, False)
    finally:
        other.close()
    assert night("chats").removed_count == 1


def _fields(kind: str) -> dict[str, Any]:
    return {name: getattr(KINDS[kind], name) for name in retention.Kind.__slots__}


def test_a_killed_worker_is_followed_by_another_where_it_was(monkeypatch):
    for _ in range(4):
        MessageFactory(ticket=a_closed_ticket(OLD), created_at=OLD)
    delete: Any = KINDS["messages"].delete
    deaths = iter([False, True])

    def dying(ids: Any) -> object:
        if next(deaths, False):
            raise SystemExit
        return delete(ids)

    monkeypatch.setitem(KINDS, "messages", retention.Kind(**{**_fields("messages"), "portion": 1, "delete": dying}))
    with pytest.raises(SystemExit):
        night("messages")
    assert (Message.objects.count(), Retention.objects.get().removed_count) == (3, 1)
    due("messages")
    retention.run("messages")

    assert (Message.objects.count(), Retention.objects.get().removed_count) == (0, 4)


@pytest.mark.parametrize("days", ["29", "36501", "x", "-40", "1e9"])
def test_wrong_days_are_refused(days):
    with pytest.raises(Invalid):
        retention.checked_days(days)


def test_by_day_nothing_is_deleted(settings):
    settings.RETENTION_FROM_HOUR = settings.RETENTION_UNTIL_HOUR = timezone.localtime().hour
    settings.RETENTION_FROM_HOUR = (settings.RETENTION_FROM_HOUR + 1) % 24
    chat = ChatFactory(created_at=OLD, closed_at=OLD)

    row = night("chats")

    assert not is_gone(chat)
    assert row.next_attempt_at
    assert row.next_attempt_at.replace(microsecond=0) == retention.next_night(timezone.now())


def test_sums_stay_and_questions_that_only_rows_answer_are_refused(api):
    agent = AgentFactory(login="anna")
    call = _call(OLD, None, agent=agent)
    bring_up_to_date(timezone.now())
    day = f"{timezone.localtime(call.created_at):%Y-%m-%d}"
    query = f"/api/agents_work_report?agent_logins[]=anna&date_from={day}&date_to={day}"
    before = api.get(query).json()

    night("connections")

    assert not Connection.objects.exists()
    assert Rollup.objects.exists()
    assert RollupProgress.objects.filter(level=RollupProgress.FINAL).exists()
    assert api.get(query).json() == before != []
    assert api.get(f"{query}&outbound_threshold=30").status_code == 200
    refused = {
        f"{query}&aggregate_by=minute": ("aggregate_by", 170008),
        f"{query}&queues_ids[]=1": ("queues_ids", 170008),
        query.replace(f"date_from={day}", f"date_from={day} 10:30"): ("date_from", 170008),
        f"/api/queues_report?date_from={day}&date_to={day}": ("date_from", 170009),
    }
    for asked, expected in refused.items():
        answer = api.get(asked)
        assert answer.status_code == 400, asked
        assert [(error["field"], error["code"]) for error in answer.json()["errors"]] == [expected]
    assert api.get(f"/api/outbounds_report?date_from={day}&date_to={day}").status_code == 200


def test_a_ledger_waits_until_its_sums_are_ready():
    call = _call(OLD, None, agent=AgentFactory())
    RollupProgress.objects.update(until=OLD)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM telephony_ledgerchange")
    bring_up = retention._finalisers[0]
    assert bring_up(OLD)  # sums what is missing

    with transaction.atomic():
        row = night("connections")
    assert (row.error, is_gone(call)) == ("", True)


def test_the_page_counts_and_saves(admin_client, plain_static):
    ChatFactory(created_at=OLD, closed_at=OLD, client_name=MARK)
    page = "/admin/callcentre/retention/settings/"

    counted = admin_client.post(page, {"days-chats": "400", "count": "chats"}).content.decode()
    assert "<output>1</output>" in counted
    assert not Retention.objects.exists()
    refused = admin_client.post(page, {"days-chats": "3"}).content.decode()
    assert "between 30 and 36500" in refused
    assert admin_client.post(page, {"days-chats": "400", "days-tickets": ""}).status_code == 302
    assert [(row.kind, row.days) for row in Retention.objects.all()] == [("chats", 400)]
    assert "400" in admin_client.get(page).content.decode()
