"""The API operations of tickets, customers, chats and files, and the rows that they need."""

from dataclasses import replace
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from callcentre.core.personal_data import Person
from callcentre.models import ApiUser
from telephony.models import Agent, Queue
from tests.callcentre.factories import DeletionFactory, PersonExportFactory
from tests.contract import GROUP, INTEGER_OR_NULL, Each, Operation, ours
from tests.tickets.factories import (
    ChatFactory,
    ChatMessageFactory,
    CompanyFactory,
    CustomerFactory,
    CustomerNoteFactory,
    CustomFieldFactory,
    MacroFactory,
    MessageFactory,
    StoredFileFactory,
    TeamFactory,
    TicketFactory,
    TicketTypeFactory,
)
from tickets.models import CustomerNumber, TicketCategory, TicketQueue, TicketStatus, TicketSubstatus
from tickets.models.automation import Happening
from tickets.models.service_level import LEVELS
from tickets.verbs.automation import after_change

READ, WRITE = "tickets:read", "tickets:write"
CUSTOMERS, CUSTOMERS_WRITE = "customers:read", "customers:write"
VALUES = Each(frozenset({str, int, type(None)}))


def texts(names: str) -> dict[str, object]:
    """Return the shape of these keys whose values are texts."""
    return dict.fromkeys(names.split(), str)


MESSAGE = texts("user_login type body comment system_comment created_at")
MESSAGE |= {"message_id": int, "attachments": [str], "ratings": [int]}
TICKET = texts(
    "ticket_id user_login from ticket_queue_name subject source status_id substatus_id full_status_name created_at"
    " updated_at closed_at close_time first_agent_responded_at first_agent_response_time"
)
TICKET |= {"ticket_queue_id": int, "category_id": int, "customer_id": int, "tags": [str], "messages": [MESSAGE]}
TICKET |= {"connected_ticket_ids": [int]}
CUSTOM = {"custom_fields": VALUES}
WHOLE = {"priority": str, "type_id": int, "team_id": int, "postponed_until": str}
CUSTOMER = texts("name surname email phone_number identifier time_zone created_at updated_at")
CUSTOMER |= {"customer_id": int, "company_id": INTEGER_OR_NULL, "phone_numbers": [str], "custom_fields": VALUES}
TIMELINE_NOTE = {"message": str, "author_name": str}
STATUS = {"id": int, "name": str, "kind": str, "order": int, "substatuses": [GROUP]}
CHAT, NO_CHAT = "/chats/6c2f6dba-5a36-4dd2-9d3f-1a2ddc2a4a5b", "/chats/0d9c6a52-5f0b-4a4c-8b1c-6a2f3f1c7e90"
CHAT_ROW = texts("id client_name client_email agent_login status created_at assigned_at answered_at closed_at")
CHAT_ROW |= {"chat_queue_id": int}
CHAT_MESSAGE = {"message_id": int, "agent_login": str, "body": str, "created_at": str}
TICKET_PATH, NO_TICKET = "/tickets/55001", "/tickets/999999999"
NEW_TICKET = {
    "subject": "S",
    "body": "B",
    "from": "jan@client.example",
    "user_login": "free",
    "custom_fields": {"colour": "red"},
}
EDIT = {"user_login": "free", "status_id": "55001", "custom_fields": {"colour": "red"}}
NEW_CUSTOMER = {"surname": "S", "phone_numbers": ["+48 22 700 00 01"], "custom_fields": {"size": "L"}}

PERSONAL, PERSONAL_WRITE = "personal_data:read", "personal_data:write"
PERSON = {"emails": ["lone@client.example"]}
FOUND = texts("kind fate reason") | {"count": int}
PREVIEW = {"customer_ids": [], "phone_numbers": [], "emails": [str], "kinds": [FOUND]}
EXPORT = texts("state kept_until") | dict.fromkeys(("export_id", "row_count", "file_size"), int)
ERASURE = texts("state reason asked_by consented_by error created_at finished_at")
ERASURE |= {"erasure_id": int, "deleted": {}, "emptied": {}, "kept": {}}

# A known row and an unknown one.
ERASURES = ("/personal_data/erasures/67001", "/personal_data/erasures/9")
TICKETS, NOTES = (TICKET_PATH, NO_TICKET), ("/customers/44001", "/customers/999999999")


def post_to(rows: tuple[str, str], action: str, right: str, *rest: Any) -> Operation:
    known, unknown = (f"{row}/{action}" for row in rows)
    return replace(Operation("POST", known, right, *rest), unknown=unknown)


OPERATIONS = [
    # A full page needs a count of the filter; the page below is not full and needs none.
    Operation("GET", "/tickets?limit=1", READ, 200, {"count": int, "result": [TICKET]}, 5),
    post_to(TICKETS, "comment", WRITE, 204, None, 7, {"comment": "C", "user_login": "free"}),
    replace(post_to(TICKETS, "macro", WRITE, 204, None, 16, {"macro_id": 71_001}), is_extension=True),
    post_to(TICKETS, "agent_response", WRITE, 201, [], 11, {"body": "B", "user_login": "free"}),
    post_to(TICKETS, "customer_response", WRITE, 204, None, 7, {"body": "B"}),
    post_to(NOTES, "notes", CUSTOMERS_WRITE, 204, None, 6, {"message": "M", "user_login": "free"}),
    # Tickets
    ours(
        "GET",
        "/tickets?include_custom_fields=true&custom_fields[colour][0]=red&custom_fields[colour][1]=blue",
        READ,
        200,
        {"count": int, "result": [TICKET | CUSTOM]},
        6,
    ),
    ours("POST", "/tickets", WRITE, 201, {"ticket_id": str}, 7, NEW_TICKET),
    ours("GET", TICKET_PATH, READ, 200, TICKET | CUSTOM | WHOLE, 5, None, NO_TICKET),
    ours("POST", "/tickets/take_next", WRITE, 200, {"ticket_id": str}, 16, {"user_login": "free"}),
    ours("PUT", TICKET_PATH, WRITE, 204, None, 13, EDIT, NO_TICKET),
    ours("GET", "/ticket_statuses", READ, 200, [STATUS], 3),
    ours("GET", "/ticket_categories", READ, 200, [GROUP], 2),
    ours("GET", "/ticket_types", READ, 200, [GROUP], 2),
    ours("GET", "/ticket_teams", READ, 200, [GROUP], 2),
    ours("GET", "/ticket_macros", READ, 200, [GROUP], 2),
    ours("GET", "/ticket_queues", READ, 200, [GROUP], 2),
    # Files and chats
    ours(
        "POST",
        "/temporary_files?filename=a.pdf",
        WRITE,
        201,
        {"filename": str, "token": str, "size": int},
        3,
        b"abc",
        content_type="application/octet-stream",
    ),
    ours("GET", "/files/contract-file", READ, 200, bytes, 2, None, "/files/unknown", answer_type="application/pdf"),
    ours(
        "POST",
        "/chats",
        WRITE,
        201,
        {"id": str},
        4,
        {"client_name": "Jan", "client_email": "", "chat_queue_id": 88_001},
    ),
    ours("GET", "/chats", READ, 200, {"count": int, "result": [CHAT_ROW]}, 3),
    ours("GET", CHAT, READ, 200, CHAT_ROW, 2, None, NO_CHAT),
    ours(
        "GET", f"{CHAT}/messages", READ, 200, {"count": int, "result": [CHAT_MESSAGE]}, 4, None, f"{NO_CHAT}/messages"
    ),
    ours("POST", f"{CHAT}/assign", WRITE, 204, None, 6, {"agent_login": "free"}, f"{NO_CHAT}/assign"),
    ours("POST", f"{CHAT}/messages", WRITE, 204, None, 9, {"body": "B", "agent_login": "free"}, f"{NO_CHAT}/messages"),
    ours("POST", f"{CHAT}/close", WRITE, 204, None, 5, None, f"{NO_CHAT}/close"),
    # Customers
    ours("GET", "/customers", CUSTOMERS, 200, {"count": int, "result": [CUSTOMER]}, 5),
    ours("GET", "/customers/44001", CUSTOMERS, 200, CUSTOMER, 4, None, "/customers/999999999"),
    # With this right alone the timeline has notes only. The statements are those of an API user with all rights.
    ours(
        "GET",
        "/customers/44001/timeline",
        CUSTOMERS,
        200,
        {"next": str, "result": [{"kind": str, "id": str, "at": str, "agent_login": str, "note": TIMELINE_NOTE}]},
        6,
        None,
        "/customers/999999999/timeline",
    ),
    ours("POST", "/customers", CUSTOMERS_WRITE, 201, {"customer_id": int}, 4, NEW_CUSTOMER),
    ours("GET", "/companies", CUSTOMERS, 200, [{"company_id": int, "name": str}], 2),
    ours("POST", "/companies", CUSTOMERS_WRITE, 201, {"company_id": int}, 2, {"name": "N"}),
    # Personal data
    ours("POST", "/personal_data/preview", PERSONAL_WRITE, 200, PREVIEW, 40, PERSON),
    ours("POST", "/personal_data/exports", PERSONAL_WRITE, 201, {"export_id": int}, 6, PERSON),
    ours("GET", "/personal_data/exports/66001", PERSONAL, 200, EXPORT, 2, None, "/personal_data/exports/9"),
    ours(
        *("GET", "/personal_data/exports/66001/file", PERSONAL_WRITE, 200, bytes, 4, None),
        "/personal_data/exports/9/file",
        answer_type="application/octet-stream",
    ),
    ours(
        *("POST", "/personal_data/erasures", PERSONAL_WRITE, 201, {"erasure_id": int, "state": str}, 45),
        {**PERSON, "reason": "R"},
    ),
    ours("GET", "/personal_data/erasures/67001", PERSONAL, 200, ERASURE, 2, None, "/personal_data/erasures/9"),
    replace(post_to(ERASURES, "consent", PERSONAL_WRITE, 204, None, 5), is_extension=True),
    replace(post_to(ERASURES, "refuse", PERSONAL_WRITE, 204, None, 5), is_extension=True),
]


def fill(size: int) -> None:
    """Create complete tickets in a queue of their own, with customers and chats."""
    queue = TicketQueue.objects.create(name="Service")
    category = TicketCategory.objects.create(name="Parcels")
    kind = TicketTypeFactory()
    MacroFactory(pk=71_001)
    team = TeamFactory()
    TicketFactory(queue=queue, status=TicketStatus.objects.get(kind="new"), custom_fields={})
    for status in TicketStatus.objects.all():
        TicketSubstatus.objects.create(status=status, name="Finer")
    TicketStatus.objects.create(pk=55_001, name="Done", kind="closed", order=900).substatuses.create(name="Finer")
    agent = Agent.objects.get(login="free")
    colour = CustomFieldFactory(name="colour")
    size_field = CustomFieldFactory(name="size", owner="customer")
    path = default_storage.save("files/contract", ContentFile(b"abc"))
    PersonExportFactory(pk=66_001, state="finished", next_attempt_at=None, file=path, finished_at=timezone.now())
    DeletionFactory(pk=67_001, kind="person", state="asked", next_attempt_at=None, person=Person().text)
    ChatFactory(client_email="lone@client.example")
    file = StoredFileFactory(token="contract-file", filename="a.pdf", path=path, api_user=ApiUser.objects.first())
    for n in range(size):
        TicketCategory.objects.create(name=f"Category {n}")
        TicketQueue.objects.create(name=f"Queue {n}")
        TicketTypeFactory()
        MacroFactory()
        TeamFactory()
        customer = CustomerFactory(pk=44_001 + n, company=CompanyFactory(), custom_fields={str(size_field.pk): "L"})
        CustomerNoteFactory(customer_id=44_001, customer=None)
        CustomerNumber.objects.create(customer=customer, phone_number=f"22 600 {n:04}", number=f"+4822600{n:04}")
        ticket = TicketFactory(
            pk=55_001 + n,
            queue=queue,
            category=category,
            type=kind,
            team=team,
            agent=agent,
            customer=customer,
            tags=["parcel"],
            custom_fields={str(colour.pk): "red"},
            connected_ids=[1],
        )
        message = MessageFactory(ticket=ticket, reply=True, agent=agent, attachments=[f"t{n}"], ratings=[5])
        if n == 0:
            file.message = message
            file.save()
    chat = ChatFactory(pk=CHAT.removeprefix("/chats/"), queue=Queue.objects.get(pk=88_001))
    for _n in range(size):
        ChatFactory(queue=chat.queue, agent=agent)
        ChatMessageFactory(chat=chat, agent=agent)
    # What a process keeps of them.
    LEVELS.get()
    after_change(ticket, Happening.CHANGED)
