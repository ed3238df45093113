"""Legal holds: the rows of a customer or a ticket on hold stay, whatever a person or a worker asks for."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core import deletions, erasures
from callcentre.core.deletions import Deletion, consequences_of
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.legal_holds import LegalHold, end_hold
from callcentre.core.personal_data import Person
from campaigns.models import Attempt, Record
from campaigns.tasks import prune_attempts
from campaigns.verbs.records import remove_record
from telephony import recording_files
from telephony.models import Recording
from tests.campaigns.factories import PastAttemptFactory, RecordFactory
from tests.conftest import ACTOR
from tests.telephony.factories import ConnectionFactory, RecordingFactory, TransferFactory
from tests.tickets.deleting import EMAIL, NUMBER, removed
from tests.tickets.factories import (
    ChatFactory,
    CustomerFactory,
    MessageFactory,
    ReceivedMailFactory,
    StoredFileFactory,
    TicketFactory,
)
from tickets.models import Customer, ReceivedMail, Ticket
from tickets.people import begin_hold, find_person
from tickets.verbs.received_mails import delete_expired_spam

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]


def erased(person: Person) -> Deletion:
    deletion = erasures.ask(ACTOR, person, "on request")
    deletions.run(deletion.pk)
    deletion.refresh_from_db()
    return deletion


def _of_ticket(customer: Customer, maker: Any, **values: Any) -> Any:
    return maker(message=MessageFactory(ticket=TicketFactory(customer=customer)), **values)


# Kind of deletion -> a row of a customer.
MAKERS: dict[str, Any] = {
    "customer": lambda customer: customer,
    "ticket": lambda customer: TicketFactory(customer=customer, closed=True),
    "chat": lambda customer: ChatFactory(client_email=customer.email.upper()),
    "mail": lambda customer: _of_ticket(customer, ReceivedMailFactory, outcome="stored"),
    "file": lambda customer: _of_ticket(customer, StoredFileFactory),
    "recording": lambda customer: RecordingFactory(
        ready=True, connection=ConnectionFactory(customer_id=customer.pk, direction="INBOUND")
    ),
}


def test_every_kind_of_deletion_is_tested_with_a_hold():
    assert {*MAKERS, erasures.KIND} == {name for name, _label in deletions.kind_names()}


@pytest.mark.slow("a person with rows in every table")
@pytest.mark.parametrize("kind", MAKERS)
def test_a_hold_forbids_the_deletion_of_each_row_of_a_customer(kind):
    customer = CustomerFactory(email="held@client.example")
    row = MAKERS[kind](customer)
    free = MAKERS[kind](CustomerFactory(email="free@client.example"))
    meanwhile = Deletion.ask(ACTOR, kind, row, "on request")
    hold = begin_hold(ACTOR, "customer", CustomerFactory(merged_into=customer).pk, "case 12")

    deletions.run(meanwhile.pk)

    meanwhile.refresh_from_db()
    assert (meanwhile.state, meanwhile.why) == ("failed", "A legal hold forbids the deletion.")
    with pytest.raises(Conflict) as refused:
        Deletion.ask(ACTOR, kind, row, "on request")
    assert refused.value.code == ErrorCode.LEGAL_HOLD
    assert consequences_of(kind, row).obstacle == "A legal hold forbids the deletion."
    assert type(row)._base_manager.filter(pk=row.pk).exists()
    assert removed(kind, free).state == "finished"
    assert end_hold(ACTOR, hold)
    meanwhile.ask_again(ACTOR)
    deletions.run(meanwhile.pk)
    meanwhile.refresh_from_db()
    assert meanwhile.state == "finished"


def test_a_hold_on_a_ticket_forbids_the_deletion_of_all_it_belongs_to():
    ticket = TicketFactory(customer=CustomerFactory())
    merged = TicketFactory(merged_into=ticket)
    file = StoredFileFactory(message=MessageFactory(ticket=ticket))
    hold = begin_hold(ACTOR, "ticket", merged.pk, "case 12")
    person = find_person(customer_id=ticket.customer_id)

    for kind, row in (("ticket", ticket), ("ticket", merged), ("customer", ticket.customer), ("file", file)):
        with pytest.raises(Conflict):
            Deletion.ask(ACTOR, kind, row, "on request")
    with pytest.raises(Conflict):
        erasures.ask(ACTOR, person, "on request")
    assert end_hold(ACTOR, hold)
    assert not end_hold(ACTOR, hold)
    assert erased(person).state == "finished"


def test_a_record_with_a_number_on_hold_cannot_be_deleted():
    customer = CustomerFactory(phone_numbers=[NUMBER])
    begin_hold(ACTOR, "customer", customer.pk, "case 12")

    with pytest.raises(Conflict):
        remove_record(RecordFactory(phone_number=NUMBER), ACTOR)
    remove_record(RecordFactory(), ACTOR)
    assert Record.objects.count() == 1


def test_what_settings_delete_stays_on_hold():
    old = timezone.now() - timedelta(days=3000)
    customer = CustomerFactory(email="held@client.example", phone_numbers=[NUMBER])
    begin_hold(ACTOR, "customer", customer.pk, "case 12")
    makers: dict[Any, Any] = {
        Recording: lambda owner: RecordingFactory(
            ready=True, ready_at=old, connection=ConnectionFactory(customer_id=owner.pk)
        ),
        Attempt: lambda owner: PastAttemptFactory(phone_number=owner.phone_numbers[0], dialled_at=old),
        ReceivedMail: lambda owner: ReceivedMailFactory(sender=owner.email, outcome="spam", received_at=old),
    }
    free = CustomerFactory(email="free@client.example", phone_numbers=["+48 22 555 11 22"])
    held = {model: (make(customer), make(free))[0].pk for model, make in makers.items()}

    recording_files.prune(timezone.now())
    prune_attempts()
    delete_expired_spam()

    assert [rec.pk for rec in Recording.objects.exclude(state="removed")] == [held[Recording]]
    assert [attempt.pk for attempt in Attempt.objects.all()] == [held[Attempt]]
    assert [mail.pk for mail in ReceivedMail.objects.all()] == [held[ReceivedMail]]


@pytest.mark.slow("a person with rows in every table")
def test_texts_of_others_on_hold_are_kept_and_counted():
    held, free = (MessageFactory(ticket=TicketFactory(customer=CustomerFactory()), body=EMAIL) for _ in range(2))
    call = ConnectionFactory(customer_id=held.ticket.customer_id)
    TransferFactory(connection=call, note=f"{EMAIL} called")
    begin_hold(ACTOR, "customer", held.ticket.customer_id, "case 12")

    deletion = erased(Person(emails=(EMAIL,)))

    held.refresh_from_db()
    free.refresh_from_db()
    assert (deletion.state, held.body, free.body) == ("finished", EMAIL, "")
    assert deletion.kept == {"tickets.message": 1, "telephony.transfer": 1}


def test_a_hold_is_begun_for_rows_that_exist_and_ended_by_an_action(admin_client, plain_static):
    page, ticket = "/admin/callcentre/legalhold/", TicketFactory()
    given = {"kind": "ticket", "object_id": ticket.pk, "reason": "case 12"}
    for wrong in ({"object_id": 999_999}, {"reason": " "}):
        assert admin_client.post(f"{page}add/", given | wrong).status_code == 200
    assert not LegalHold.objects.exists()

    assert admin_client.post(f"{page}add/", given).status_code == 302
    assert admin_client.post(f"{page}add/", given).status_code == 200
    hold = LegalHold.objects.get()
    admin_client.post(page, {"action": "end", "_selected_action": [hold.pk], "apply": "1"})
    hold.refresh_from_db()
    assert (hold.ended_by, hold.ended_at is not None) == ("admin", True)


def test_a_hold_during_an_erasure_ends_it_with_the_reason(api, monkeypatch):
    tickets = [TicketFactory(customer=None, sender=EMAIL, closed=True) for _ in range(3)]
    deletion = erasures.ask(ACTOR, Person(emails=(EMAIL,)), "on request")
    real = Deletion.count_emptied

    def count(self: Deletion, model: str, number: int) -> None:
        """Begin holds while the first ticket goes."""
        real(self, model, number)
        if model == "tickets.receivedmail" and not LegalHold.objects.exists():
            for ticket in tickets:
                begin_hold(ACTOR, "ticket", ticket.pk, "case 12")

    with monkeypatch.context() as holding:
        holding.setattr(Deletion, "count_emptied", count)
        deletions.run(deletion.pk)

    shown = api.get(f"/api/personal_data/erasures/{deletion.pk}").json()
    assert (shown["state"], shown["error"]) == ("failed", "A legal hold forbids the deletion.")
    assert shown["deleted"]["tickets.ticket"] == 1
    assert Ticket.objects.count() == len(tickets) - 1
