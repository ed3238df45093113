"""A person in every table: nothing is left after the erasure, and the export has all of it."""

import json
import re
import zipfile
from typing import Any

import pytest
import redis
from django.apps import apps
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models import CharField, JSONField, TextField

from callcentre.core import deletions, erasures, person_exports, personal_data
from callcentre.core.actor import Actor
from callcentre.core.audit import AuditEntry
from callcentre.core.deletions import Deletion
from callcentre.core.errors import Conflict, Invalid
from callcentre.core.personal_data import TABLE, Data, Person
from callcentre.models import PersonExport
from tests.callcentre.factories import AuditEntryFactory
from tests.campaigns.factories import (
    AdditionalNumberFactory,
    DoNotCallFactory,
    PastAttemptFactory,
    RecordChangeFactory,
    RecordFactory,
    RecordImportFactory,
)
from tests.conftest import ACTOR
from tests.knowledgebase.factories import ArticleVoteFactory, SearchMissFactory
from tests.lists.factories import ListExportFactory
from tests.telephony.factories import AgentMessageFactory, CallCommandFactory, ConnectionFactory, TransferFactory
from tests.tickets.deleting import DIGITS, EMAIL, MARK, NUMBER, PERSONAL, a_person, a_ticket, left_of
from tests.tickets.factories import CustomerFactory, DispatchFactory, MessageFactory, TicketFactory
from tests.tickets.mails import files_on_disk
from tests.webhooks.factories import EventFactory
from tickets.models import Customer, Message, Ticket
from tickets.people import find_person
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]
OTHER = Actor("user", 77, "other")


def plant_elsewhere() -> None:
    """Plant the person in rows that belong to others, and in campaigns."""
    record = RecordFactory(phone_number=NUMBER, fields={"1": MARK}, last_note=MARK, identifier=MARK)
    RecordChangeFactory(record=record, changes={"last_note": [None, MARK]})
    PastAttemptFactory(record_id=record.pk, phone_number=NUMBER, number=f"+{DIGITS}", before={"note": MARK})
    AdditionalNumberFactory(record=RecordFactory(), phone_number=NUMBER, number=f"+{DIGITS}")
    file = default_storage.save("imports/2026/11/a.csv", ContentFile(NUMBER.encode()))
    RecordImportFactory(state="finished", file=file, error_file="", next_attempt_at=None)
    ListExportFactory(query=f"q={MARK}", state="finished", next_attempt_at=None)
    SearchMissFactory(query=f"where is {EMAIL}")
    ArticleVoteFactory(user_key=EMAIL)
    EventFactory(action="SCREEN_POP", payload={"url": f"https://crm.example/?number=%2B{DIGITS}", "n": [NUMBER]})
    AuditEntryFactory(changes={"unlimited_senders": ["", f"{EMAIL}\nx@y.example"]}, object_name=f"+{DIGITS}")
    TransferFactory(number=f"+{DIGITS}", note=f"call {NUMBER}")
    CallCommandFactory(arguments={"number": NUMBER})
    AgentMessageFactory(text=f"Call back 22 555-98-76 or {EMAIL}.")
    ConnectionFactory(direction="INBOUND", src=NUMBER)
    other = TicketFactory(customer=CustomerFactory(email="b@client.example"), sender=EMAIL)
    message = MessageFactory(ticket=other, body=f"Ask ({EMAIL.upper()}) or 0048 22 555 98 76!", author_address=EMAIL)
    DispatchFactory(message=message, recipients=["b@client.example", EMAIL])
    a_ticket("alone", customer=None)


def erased(person: Person, **more: Any) -> Deletion:
    deletion = erasures.ask(ACTOR, person, "request of 28 November")
    deletions.run(deletion.pk)
    deletion.refresh_from_db()
    return deletion


def test_every_model_says_what_it_has_of_a_person():
    ours = {model for model in apps.get_models() if not model._meta.app_label.startswith("unfold")}

    assert {model._meta.label for model in ours - set(TABLE)} == set()
    for model, data in TABLE.items():
        for name in data.names if isinstance(data, Data) else ():
            assert model._meta.get_field(name), f"{model._meta.label}.{name}"


def test_every_text_of_a_customer_is_personal() -> None:
    texts = {f.name for f in Customer._meta.concrete_fields if isinstance(f, TextField | CharField | JSONField)}
    data = TABLE[Customer]

    assert isinstance(data, Data)
    # The zone is one of many people.
    assert texts - {*data.names} == {"time_zone"}


@pytest.mark.slow("a person with rows in every table")
def test_nothing_of_a_person_is_left(own_storage, caplog):
    customer = a_person()
    plant_elsewhere()
    DoNotCallFactory(phone_number=NUMBER, number=f"+{DIGITS}", reason=f"{EMAIL} asked")
    person = find_person(customer_id=customer.pk)
    assert person.numbers == (f"+{DIGITS}",)
    planted = left_of(*PERSONAL)

    deletion = erased(person)

    assert deletion.error == ""
    assert (deletion.state, deletion.person) == ("finished", "")
    assert len(planted) > 28
    # The number stays on the do-not-call list, the address stays blocked, and the report says so.
    assert left_of(*PERSONAL) == {"campaigns_donotcall": 1, "tickets_blockedsender": 1}
    assert deletion.kept == {"campaigns.donotcall": 1, "tickets.blockedsender": 1}
    assert deletion.deleted["campaigns.record"] == 1
    assert files_on_disk(own_storage) == 0
    # Rows of others stay.
    assert Ticket.objects.get().sender == ""
    assert Message.objects.get().body == "Ask () or !"
    told = Event.objects.get(action="PERSON_ERASED")
    assert told.payload == {"erasure_id": deletion.pk, "customer_id": person.customers[0]}
    logged = " ".join([caplog.text, *(str(vars(record)) for record in caplog.records)])
    store = redis.Redis.from_url(settings.REDIS_URL)
    kept = " ".join(str(store.dump(key)) for key in store.scan_iter())
    assert [mark for mark in PERSONAL if mark in logged or mark in kept] == []


@pytest.mark.slow("a person with rows in every table")
def test_the_export_has_all_rows_and_files_and_goes_with_the_erasure(own_storage):
    customer = a_person()
    plant_elsewhere()
    person = find_person(customer_id=customer.pk)
    tables = {
        apps.get_model(label)._meta.db_table
        for label in (model._meta.label for model, data in TABLE.items() if isinstance(data, Data))
    }
    planted = set(left_of(MARK, EMAIL, DIGITS)) & tables

    export = person_exports.ask_export(ACTOR, person)
    assert person_exports.build_next()

    export.refresh_from_db()
    assert (export.state, export.person) == ("finished", "")
    with zipfile.ZipFile(default_storage.path(str(export.file.name))) as archive:
        names = archive.namelist()
        rows = {name: json.loads(archive.read(name)) for name in names if name.endswith(".json")}
        assert b"voice" in {archive.read(name) for name in names if name.startswith("files/recording-")}
    exported = {apps.get_model(name.removesuffix(".json"))._meta.db_table for name in rows}
    # The words of searches are exported for no person: they only find people. Notes in calls of others are theirs.
    assert planted - exported == {"lists_listexport", "telephony_transfer"}
    assert rows["tickets.customer.json"][0]["surname"] == MARK
    assert rows["tickets.storedfile.json"][0]["path"].startswith("files/storedfile-")
    erased(person)
    assert PersonExport.objects.get().file == ""


def test_a_person_is_a_customer_or_what_no_customer_has():
    one, two = CustomerFactory.create_batch(2, phone_numbers=["+48 22 555 11 11"], email="a@client.example")

    assert find_person(customer_id=one.pk) == Person((one.pk,))
    assert find_person(phone_numbers=["22 555 98 76"], emails=["B@client.example"]) == Person(
        (), (f"+{DIGITS}",), ("b@client.example",)
    )
    with pytest.raises(Invalid) as refused:
        find_person(phone_numbers=["+48 22 555 11 11", "x"], emails=["a@client.example", "no address"])
    faults = [(fault.field, fault.code.name) for fault in refused.value.faults]
    assert faults == [
        ("phone_numbers", "PHONE_LETTERS"),
        ("emails", "ADDRESS_MALFORMED"),
        ("phone_numbers", "HAS_CUSTOMER"),
        ("emails", "HAS_CUSTOMER"),
    ]
    with pytest.raises(Invalid):
        find_person()
    assert two.pk


def test_texts_of_others_lose_each_spelling_of_a_number_and_nothing_else():
    EventFactory(payload={"text": f"+{DIGITS} {DIGITS} 225559876 1225559876 {DIGITS}0 (22) 555.98.76", "id": 225559876})

    erased(Person((), (f"+{DIGITS}",), ()))

    assert Event.objects.exclude(action="PERSON_ERASED").get().payload == {
        "text": "   1225559876 482255598760 ",
        "id": 225559876,
    }


def test_an_erasure_waits_for_the_consent_of_a_second_person(settings):
    settings.ERASURE_NEEDS_CONSENT = True
    customer = CustomerFactory()
    person = find_person(customer_id=customer.pk)
    deletion = erased(person)

    assert (deletion.state, Customer.objects.count()) == ("asked", 1)
    with pytest.raises(Conflict):
        erasures.ask(ACTOR, person, "again")
    with pytest.raises(Conflict):
        erasures.consent(ACTOR, deletion)
    erasures.consent(OTHER, deletion)
    deletions.run(deletion.pk)
    deletion.refresh_from_db()
    assert (deletion.state, deletion.consented_by, Customer.objects.count()) == ("finished", "other", 0)


def test_a_refused_erasure_forgets_the_person(settings):
    settings.ERASURE_NEEDS_CONSENT = True
    deletion = erasures.ask(ACTOR, Person(emails=(EMAIL,)), "on request")
    erasures.refuse(ACTOR, deletion)
    deletions.run(deletion.pk)

    deletion.refresh_from_db()
    assert (deletion.state, deletion.person) == ("refused", "")
    with pytest.raises(Conflict):
        erasures.consent(OTHER, deletion)
    assert AuditEntry.objects.filter(action="refuse_deletion").exists()


@pytest.mark.trial
@pytest.mark.slow("an erasure that is interrupted at each step")
def test_an_interrupted_erasure_goes_on_and_counts_the_same(monkeypatch):
    customer = a_person()
    plant_elsewhere()
    deletion = erasures.ask(ACTOR, find_person(customer_id=customer.pk), "on request")
    real, steps = Deletion.step, {"made": 0, "until": 0}

    def step(self: Deletion) -> Any:
        """Die at the first step, then at the second one of the next worker, and so on."""
        steps["made"] += 1
        if steps["made"] == steps["until"]:
            raise SystemExit
        return real(self)

    with monkeypatch.context() as dying:
        dying.setattr(Deletion, "step", step)
        for until in range(1, 200):
            steps.update(made=0, until=until)
            Deletion.objects.filter(pk=deletion.pk).update(next_attempt_at="2020-01-01T00:00Z")
            try:
                deletions.run(deletion.pk)
                break
            except SystemExit:
                pass

    deletion.refresh_from_db()
    assert deletion.state == "finished"
    assert left_of(*PERSONAL) == {"tickets_blockedsender": 1}
    assert Event.objects.filter(action="PERSON_ERASED").count() == 1


def test_the_page_shows_exports_and_erases(admin_client, plain_static):
    customer = CustomerFactory(surname=MARK)
    page = "/admin/callcentre/personexport/person/"
    shown = admin_client.get(page, {"customer": customer.pk}).content.decode()
    assert "Erase for good" in shown
    assert "customers" in shown
    assert "Customer not found." in admin_client.get(page, {"customer": 999_999_999}).content.decode()

    assert admin_client.post(page, {"customer": customer.pk, "do": "export"}).status_code == 302
    assert PersonExport.objects.get().customer_id == customer.pk
    refused = admin_client.post(page, {"customer": customer.pk, "do": "erase"})
    assert (refused.status_code, Deletion.objects.count()) == (200, 0)
    answer = admin_client.post(page, {"customer": customer.pk, "do": "erase", "reason": "request"})
    assert answer["Location"] == f"/admin/callcentre/deletion/{Deletion.objects.get().pk}/change/"


def test_a_second_person_consents_at_the_page(admin_client, plain_static, settings):
    settings.ERASURE_NEEDS_CONSENT = True
    deletion = erasures.ask(ACTOR, Person(emails=(EMAIL,)), "on request")
    page = f"/admin/callcentre/deletion/{deletion.pk}"

    assert "A second person must consent" in admin_client.get(f"{page}/change/").content.decode()
    admin_client.post(f"{page}/decide/", {"decision": "consent"})
    deletion.refresh_from_db()
    assert (deletion.state, deletion.consented_by) == ("queued", "admin")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("jan@firma.example wrote", " wrote"),
        ("mail (jan@firma.example).", "mail ()."),
        ("jan@firma.example.pl, x.jan@firma.example, o'jan@firma.example", None),
        ("+48 22 555 01 07, 22-555-01-07, (022) 5550107, 0048225550107", ", , (, "),
        ("+49 225550107 and 1225550107 and 225550107 1", "+49 225550107 and 1225550107 and  1"),
        ("14 000 pieces, order 14000", None),
        ("+43 1 4000 called", " called"),
    ],
)
def test_only_the_person_s_own_numbers_and_addresses_are_removed(text, left):
    person = Person(numbers=("+48225550107", "+4314000"), emails=("jan@firma.example",))

    found = personal_data.without({"a": [text]}, re.compile(person.pattern, re.IGNORECASE))

    assert found == {"a": [text if left is None else left]}


def test_a_text_that_is_changed_meanwhile_keeps_its_change():
    ticket = TicketFactory(subject=f"Call {EMAIL}", sender_name="old")
    person, data = Person(emails=(EMAIL.lower(),)), TABLE[Ticket]
    assert isinstance(data, Data)
    rows, _after = personal_data.mentions(Ticket, data, person)
    Ticket.objects.update(subject=f"Now {EMAIL}", sender_name="new")

    assert personal_data.redact(Ticket, rows, data, person) == (1, 0)

    ticket.refresh_from_db()
    assert (ticket.subject, ticket.sender_name) == ("Now ", "new")
