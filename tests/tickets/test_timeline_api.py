"""The timeline of a customer in the API: order, pages, kinds, rights."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.campaigns.factories import AttemptFactory, CampaignFactory, RecordFactory
from tests.conftest import ACTOR, ApiClient
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory, ConnectionFactory, RecordingFactory, TranscriptionFactory
from tests.tickets.factories import (
    ChatFactory,
    CustomerFactory,
    CustomerNoteFactory,
    MessageFactory,
    RatingFactory,
    TicketFactory,
)
from tickets.models import Chat, Customer, CustomerNote, Rating, Ticket
from tickets.verbs.customers import merge_customers

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 20, 9, 15, tzinfo=UTC)  # 10:15 in Warsaw


def minutes(count: int) -> datetime:
    return AT + timedelta(minutes=count)


def call_of(customer: Customer, at: datetime, **values: Any) -> Any:
    return ConnectionFactory(customer_id=customer.pk, created_at=at, **values)


def ticket_of(customer: Customer, at: datetime, **values: Any) -> Ticket:
    ticket: Ticket = TicketFactory(customer=customer, created_at=at, **values)
    return ticket


def note_of(customer: Customer, at: datetime, **values: Any) -> CustomerNote:
    note: CustomerNote = CustomerNoteFactory(customer=customer, **values)
    CustomerNote.objects.filter(pk=note.pk).update(created_at=at)
    return note


def chat_of(customer: Customer, at: datetime, **values: Any) -> Chat:
    chat: Chat = ChatFactory(client_email=customer.email.upper(), created_at=at, **values)
    return chat


def rating_of(ticket: Ticket, at: datetime, value: int = 5) -> Rating:
    message = MessageFactory(ticket=ticket, reply=True, ratings=[value])
    rating: Rating = RatingFactory(message=message, value=value, given_at=at)
    return rating


def attempt_of(customer: Customer, at: datetime, outcome: str = "answered", **values: Any) -> Any:
    campaign = values.pop("campaign", None) or CampaignFactory()
    record = RecordFactory(campaign=campaign)
    call = call_of(customer, at, campaign_code=campaign.code, record_id=record.pk)
    return AttemptFactory(record=record, connection=call, outcome=outcome, ended_at=call.ended_at, **values)


def complete_customer() -> Customer:
    """Return a customer with an entry of each kind, a minute apart."""
    customer: Customer = CustomerFactory(email="jan@client.example")
    note_of(customer, minutes(0))
    ticket = ticket_of(customer, minutes(1))
    chat_of(customer, minutes(2))
    call_of(customer, minutes(3))
    attempt_of(customer, minutes(4))
    rating_of(ticket, minutes(5))
    return customer


def read(api: ApiClient, customer: Customer, **query: Any) -> Any:
    answer = api.get(f"/api/customers/{customer.pk}/timeline", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def kinds(page: Any) -> list[str]:
    return [entry["kind"] for entry in page["result"]]


def test_entries_of_all_kinds_are_in_one_order_and_kinds_can_be_chosen(api):
    customer = complete_customer()
    page = read(api, customer)

    assert kinds(page) == ["rating", "attempt", "call", "chat", "ticket", "note"]
    assert [entry["at"][-5:] for entry in page["result"]] == ["10:20", "10:19", "10:18", "10:17", "10:16", "10:15"]
    assert page["next"] == ""
    for entry in page["result"]:
        assert set(entry) == {"kind", "id", "at", "agent_login", entry["kind"]}
    assert kinds(read(api, customer, **{"kind[]": ["note", "chat"]})) == ["chat", "note"]
    assert kinds(read(api, customer, kind="ticket")) == ["ticket"]


def test_a_call_has_its_recordings_and_its_summary(api):
    customer = CustomerFactory()
    call = call_of(customer, AT, inbound=True, src="22 555 01 07", agent=AgentFactory(login="anna"))
    RecordingFactory(connection=call, ready=True)
    RecordingFactory(connection=call, name=f"{call.uid}-2", state="removed")
    TranscriptionFactory(connection=call, finished=True)

    (entry,) = read(api, customer)["result"]

    assert entry == {
        "kind": "call",
        "id": call.uid,
        "at": "2026-11-20 10:15",
        "agent_login": "anna",
        "call": {
            "direction": "INBOUND",
            "phone_number": "22 555 01 07",
            "queue_id": call.queue_id,
            "disposition": "ANSWERED",
            "billsec": 60,
            "recordings": [f"{call.uid}.wav"],
            "summary": ["A question about an invoice."],
            "sentiment": "NEUTRAL",
        },
    }


def test_an_attempt_has_its_outcome_and_its_result(api):
    campaign, customer = CampaignFactory(code="SALES"), CustomerFactory()
    status = campaign.statuses.order_by("id").last()
    result = {"values": {"status_id": status.pk, "last_note": "In spring."}}
    attempt = attempt_of(customer, AT, campaign=campaign, result=result, agent=AgentFactory(login="anna"))

    (entry,) = read(api, customer)["result"]

    assert (entry["kind"], entry["id"], entry["agent_login"]) == ("attempt", attempt.connection_uid, "anna")
    assert entry["attempt"] == {
        "outbound_id": "SALES",
        "record_id": attempt.record_id,
        "phone_number": attempt.phone_number,
        "connection_id": attempt.connection_uid,
        "outcome": "answered",
        "status": status.name,
        "note": "In spring.",
        "recordings": [],
        "summary": [],
        "sentiment": "",
    }


def test_an_attempt_is_one_entry_with_its_call_and_none_if_it_called_no_number(api, api_client):
    customer = CustomerFactory()
    attempt_of(customer, AT)
    nobody = CustomerFactory()
    attempt_of(nobody, AT, outcome="not_dialled")

    assert kinds(read(api, customer)) == ["attempt"]
    assert kinds(read(api, customer, **{"kind[]": "call"})) == []
    assert kinds(read(api_client("customers:read", "connections:read"), customer)) == ["call"]
    assert read(api, nobody)["result"] == []


@pytest.mark.parametrize(
    ("right", "seen"),
    [
        ("tickets:read", ["rating", "chat", "ticket", "note"]),
        ("connections:read", ["call", "call", "note"]),
        ("campaigns:read", ["attempt", "note"]),
        ("agents:read", ["note"]),
    ],
)
def test_a_kind_needs_the_right_to_read_its_rows(right, seen, api_client):
    assert kinds(read(api_client("customers:read", right), complete_customer())) == seen


def test_recordings_and_summaries_of_attempts_need_the_right_to_read_calls(api, api_client):
    customer = CustomerFactory()
    call = attempt_of(customer, AT).connection_id
    RecordingFactory(connection_id=call, connection=None, name="1.1", started_at=AT, state="ready")

    def recordings(client):
        return [name for entry in read(client, customer)["result"] for name in entry["attempt"]["recordings"]]

    assert recordings(api) == ["1.1.wav"]
    assert recordings(api_client("customers:read", "campaigns:read")) == []


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_pages_neither_repeat_nor_skip_entries_of_one_instant(api, limit):
    customer = CustomerFactory(email="jan@client.example")
    for at in (AT, AT, minutes(1)):
        note_of(customer, at)
        chat_of(customer, at)
        call_of(customer, at)
        rating_of(ticket_of(customer, at), at)
        attempt_of(customer, at)
    everything = [(entry["kind"], entry["id"]) for entry in read(api, customer)["result"]]

    found, before = [], ""
    while True:
        page = read(api, customer, limit=limit, **({"before": before} if before else {}))
        found += [(entry["kind"], entry["id"]) for entry in page["result"]]
        assert len(page["result"]) <= limit
        if not (before := page["next"]):
            break

    assert len(everything) == 18
    assert found == everything


def test_an_entry_that_comes_meanwhile_shifts_no_page(api):
    customer = CustomerFactory()
    notes = [note_of(customer, minutes(number)) for number in range(4)]
    first = read(api, customer, limit=2)

    note_of(customer, minutes(10))

    second = read(api, customer, limit=2, before=first["next"])
    assert [entry["id"] for entry in second["result"]] == [str(note.pk) for note in reversed(notes[:2])]


def test_the_entries_of_merged_customers_are_those_of_the_customer(api):
    source, target = complete_customer(), CustomerFactory()
    merge_customers(source, target, ACTOR)
    # As if the call began during the merge.
    call_of(source, minutes(7))

    assert kinds(read(api, target)) == ["call", "rating", "attempt", "call", "chat", "ticket", "note"]
    assert read(api, source) == read(api, target)


def test_a_customer_without_address_has_neither_chats_without_address_nor_entries_of_others(api):
    complete_customer()
    ChatFactory(client_email="")

    assert read(api, CustomerFactory(email=""))["result"] == []


@pytest.mark.parametrize("before", ["x", "1", "1.note", "1.film.2", "1.note.-2", "1.chat.2", "9" * 18 + ".note.2"])
def test_a_place_that_is_no_place_is_refused_with_all_other_faults(api, before):
    answer = api.get(f"/api/customers/{CustomerFactory().pk}/timeline?limit=x&kind=film&before={before}")

    assert answer.status_code == 400
    faults = {error["field"]: error["code"] for error in answer.json()["errors"]}
    assert (set(faults), faults["before"]) == ({"limit", "before", "kind"}, 151010)


@pytest.mark.slow("writes many rows")
def test_the_query_count_is_constant(api):
    customer = CustomerFactory(email="jan@client.example")
    for number in range(30):
        at = timezone.now() - timedelta(minutes=number)
        note_of(customer, at)
        chat_of(customer, at)
        call_of(customer, at)
        attempt_of(customer, at)
        rating_of(ticket_of(customer, at), at)
    read(api, customer)

    # The user, the customer, the merged ones, the keys, and one for each kind.
    with few_statements(10):
        read(api, customer)
