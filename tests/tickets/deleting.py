"""A person with traces in every table, and the search for their remains in the whole database."""

from datetime import timedelta
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models import Model
from django.test import RequestFactory
from django.utils import timezone

from callcentre.core import deletions
from callcentre.core.audit import AuditAction, record, record_once
from callcentre.core.deletions import Deletion
from telephony import events as call_events
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR
from tests.telephony.factories import (
    AgentFactory,
    CallBackFactory,
    CallerPriorityFactory,
    ConnectionFactory,
    ConnectionTopicFactory,
    LegFactory,
    RecordingFactory,
    TranscriptionFactory,
)
from tests.tickets.factories import (
    AcknowledgedAddressFactory,
    BlockedSenderFactory,
    BouncedAddressFactory,
    ChatFactory,
    ChatMessageFactory,
    CustomerChangeFactory,
    CustomerFactory,
    CustomerNoteFactory,
    DispatchFactory,
    MessageFactory,
    RatingFactory,
    ReceivedMailFactory,
    StoredFileFactory,
    TicketChangeFactory,
    TicketFactory,
)
from tests.webhooks.factories import AttemptFactory, DeliveryFactory
from tickets import events
from tickets.models import Chat, Customer, Ticket
from webhooks.models import Event

# Each personal text of the person contains this word, and no other text does.
MARK = "Xyzzyna"
EMAIL = f"{MARK.lower()}@client.example"
NUMBER = "+48 22 555 98 76"
DIGITS = "48225559876"
PERSONAL = (MARK, EMAIL, NUMBER, DIGITS)


def left_of(*marks: str) -> dict[str, int]:
    """Return table -> rows with one of these texts in any column."""
    found = {}
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            table = model._meta.db_table
            cursor.execute(
                f'SELECT count(*) FROM "{table}" AS t WHERE t::text ILIKE ANY(%s)',
                [[f"%{mark}%" for mark in marks]],
            )
            if count := cursor.fetchone()[0]:
                found[table] = count
    return found


def removed(kind: str, row: Model) -> Deletion:
    """Ask for the deletion, and make it as a worker does."""
    deletion = Deletion.ask(ACTOR, kind, row, "on request")
    deletions.run(deletion.pk)
    deletion.refresh_from_db()
    return deletion


def log_entry(row: Any) -> None:
    """Write what the admin writes of an edit of this row and of a part of it."""
    request = RequestFactory().get("/")
    request.user = UserFactory()
    admin.site.get_model_admin(type(row)).log_change(request, row, [{"added": {"name": "part", "object": str(row)}}])


def a_file(name: str, **values: Any) -> Any:
    path = default_storage.save(f"files/2026/11/21/{name}", ContentFile(b"content"))
    return StoredFileFactory(token=name, path=path, filename=f"{MARK}.pdf", **values)


def a_mail(name: str, **values: Any) -> Any:
    path = default_storage.save(f"files/2026/11/21/{name}", ContentFile(b"raw"))
    about = {"sender": EMAIL, "subject": MARK, "header_id": f"{MARK}@client", "recipients": [EMAIL]}
    mail = ReceivedMailFactory(sha256=f"{name:0<64}", path=path, **about, **values)
    record(ACTOR, AuditAction.RETRY_MAIL, mail)
    return mail


def a_ticket(name: str, **values: Any) -> Ticket:
    """Create a ticket of the person with everything that a ticket can have, two files and a mail on the disk."""
    agent = AgentFactory()
    ticket: Ticket = TicketFactory(
        subject=f"{MARK} complains", sender=EMAIL, sender_name=MARK, closed=True, closed_by=agent, **values
    )
    about = {"author_name": MARK, "author_address": EMAIL, "reply_to": EMAIL, "body": MARK, "quoted": MARK}
    message = MessageFactory(ticket=ticket, attachments=[f"{name}1"], **about)
    a_file(f"{name}1", message=message)
    a_mail(f"{name}2", message=message, outcome="stored")
    reply = MessageFactory(ticket=ticket, reply=True, body=f"Dear {MARK}", agent=agent, ratings=[5])
    a_file(f"{name}3", message=reply)
    RatingFactory(message=reply)
    DispatchFactory(message=reply, recipients=[EMAIL], refused={EMAIL: MARK}, error=MARK)
    TicketChangeFactory(ticket=ticket, changes={"subject": [MARK, MARK]})
    events.ticket_updated(ticket)
    log_entry(ticket)
    return ticket


def a_chat(**values: Any) -> Chat:
    agent = AgentFactory()
    chat: Chat = ChatFactory(client_name=MARK, client_email=EMAIL, agent=agent, closed_at=timezone.now(), **values)
    ChatMessageFactory(chat=chat, body=f"I am {MARK}")
    ChatMessageFactory(chat=chat, body=f"Hello {MARK}", agent=agent)
    events.chat_created(chat)
    _answered(f"chat:{chat.pk}")
    log_entry(chat)
    return chat


def a_call(customer: Customer, direction: str, **values: Any) -> Any:
    """Create a call of the person, recorded and transcribed, with the file on the disk."""
    theirs = {"src" if direction == "INBOUND" else "dst": NUMBER}
    call = ConnectionFactory(direction=direction, customer_id=customer.pk, **theirs, **values)
    LegFactory(connection=call, role="customer", number=NUMBER)
    LegFactory(connection=call, role="agent", number="101")
    recording = RecordingFactory(connection=call, ready=True)
    recording.file = default_storage.save(recording.path, ContentFile(b"voice"))
    recording.save()
    record_once(ACTOR, AuditAction.HEAR, recording)
    said = [{"begin": 0, "end": 1, "speaker": "CUSTOMER", "text": f"I am {MARK}"}]
    TranscriptionFactory(connection=call, finished=True, parts=said, summary=[{"content": MARK, "important": True}])
    ConnectionTopicFactory(connection=call, comment=MARK, fields=[{"field_id": 1, "value": MARK}])
    call_events.connection_ended(call)
    _answered(f"connection:{call.uid}")
    return call


def a_person() -> Customer:
    """Create a customer with everything, and another customer merged into it."""
    customer: Customer = CustomerFactory(
        name=MARK, surname=MARK, email=EMAIL, identifier=MARK, custom_fields={"1": MARK}, phone_numbers=[NUMBER]
    )
    merged = CustomerFactory(surname=MARK, email=f"other.{EMAIL}", merged_into=customer)
    CustomerNoteFactory(customer=customer, message=f"{MARK} is friendly")
    for each in (customer, merged):
        CustomerChangeFactory(customer=each, changes={"surname": ["", MARK], "phone_numbers": [[], [NUMBER]]})
        events.customer_updated(each)
        log_entry(each)
    AcknowledgedAddressFactory(address=EMAIL)
    BouncedAddressFactory(address=EMAIL, reason=MARK)
    BlockedSenderFactory(entry=EMAIL)
    goes_on = a_ticket("a", customer=customer)
    a_ticket("b", customer=customer, merged_into=goes_on)
    a_chat()
    a_call(customer, "INBOUND")
    callback = CallBackFactory(customer_id=customer.pk, number=f"+{DIGITS}")
    call_events.callback_queued(callback)
    CallerPriorityFactory(number=f"+{DIGITS}", remark=MARK)  # older than the customer
    _answered(f"callback:{callback.pk}")
    a_call(merged, "OUTBOUND", created_at=timezone.now().replace(microsecond=0) - timedelta(days=40))
    return customer


def _answered(subject: str) -> None:
    """Store attempts whose receivers repeated the events of this subject."""
    for event in Event.objects.filter(subject=subject):
        AttemptFactory(delivery=DeliveryFactory(event=event, succeeded=True), answer=f"Thanks, {MARK} {NUMBER}")
