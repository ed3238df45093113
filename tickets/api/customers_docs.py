"""The documentation of the API of customers, companies, chats and files."""

from typing import Any

from callcentre.api.field_tables import describe_input, properties
from callcentre.api.openapi import (
    Operation,
    Parameter,
    array,
    describe,
    document,
    integer,
    limit_parameter,
    mapping,
    minute,
    page,
    path,
    shape,
    text,
)
from callcentre.core.errors import ErrorCode
from tickets.api.chats import (
    AssignInput,
    ChatFilterSet,
    ChatInput,
    ChatMessageFilterSet,
    ChatMessageInput,
    ChatViewSet,
)
from tickets.api.customers import (
    MAX_CUSTOMERS,
    CompanyInput,
    CompanyViewSet,
    CustomerFilterSet,
    CustomerInput,
    CustomerViewSet,
    NoteInput,
    TimelineFilterSet,
)
from tickets.api.files import FileViewSet, TemporaryFileViewSet
from tickets.models import ChatState
from tickets.models.customer_fields import CUSTOMER_FIELDS

describe_input(
    CustomerInput,
    phone_numbers={
        "description": "Phone numbers, the main one first; `phone_number` (one or an array) is understood too.",
        "example": ["+48 22 555 01 07"],
    },
    custom_fields="Custom field -> value; an unknown name is refused.",
)
describe(CompanyInput, name="Name of the company.")
describe(NoteInput, message="The note.", user_login="Login of the active agent who wrote the note.")
describe(
    ChatInput,
    client_name="Name of the client.",
    client_email="E-mail address of the client.",
    chat_queue_id="A queue of GET /queues.",
)
describe(AssignInput, agent_login="Login of an active agent.")
describe(ChatMessageInput, body="The text.", agent_login="Login of the agent who wrote it; left out: the client.")

OF_CUSTOMER: Any = properties(CUSTOMER_FIELDS)
CUSTOMER = shape(
    "Customer",
    "A person that the contact centre serves.",
    **OF_CUSTOMER,
    custom_fields=mapping("Custom field -> value, null where it has none.", {}, {"loyalty": "gold"}),
)
COMPANY = shape(
    "Company",
    "An organisation that customers belong to.",
    company_id=integer("Its id.", 4),
    name=text("Its name.", "ACME"),
)
CHAT = shape(
    "Chat",
    "A written conversation with a client of the website.",
    id=text("The chat's id.", "6c2f6dba-5a36-4dd2-9d3f-1a2ddc2a4a5b", format="uuid"),
    client_name=text("Name of the client.", "Jan Kowal"),
    client_email=text("The client's e-mail address; may be empty.", "jan.kowal@client.example"),
    chat_queue_id=integer("The queue.", 3),
    agent_login=text("Login of the assigned agent; an empty string if there is none.", "agent1"),
    status=text(
        "`waiting`: no agent is assigned. `open`: an agent is assigned. `closed`: no more messages are accepted.",
        "open",
        enum=ChatState.values,
    ),
    created_at=minute("When it was started.", "2026-11-20 10:15"),
    assigned_at=minute("When it was assigned.", "2026-11-20 10:16"),
    answered_at=minute("When an agent first wrote in it.", "2026-11-20 10:16"),
    closed_at=minute("When it was closed."),
)
CHAT_MESSAGE = shape(
    "ChatMessage",
    "A message of the client or of an agent in a chat.",
    message_id=integer("The message's id; later messages have larger ids.", 7120),
    agent_login=text("Login of the agent who wrote it; an empty string for the client.", "agent1"),
    body=text("The text.", "How can I help?"),
    created_at=minute("When it was written.", "2026-11-20 10:16"),
)
_CALL: Any = {
    "recordings": array(text("A file name.", "1790001234.77.wav"), "The stored recordings, oldest first."),
    "summary": array(text("A sentence.", "The parcel is late."), "The summary by the model; empty if there is none."),
    "sentiment": text("How the customer felt; empty if unknown.", "NEUTRAL"),
}
# Kind of an entry -> its shape.
TIMELINE: Any = {
    "attempt": shape(
        "TimelineAttempt",
        "A call of the dialler. It is an entry of its own instead of a call.",
        outbound_id=text("The campaign.", "SALES"),
        record_id=integer("The record; it may be gone.", 4711),
        phone_number=text("The number called.", "+48 22 555 01 07"),
        connection_id=text("The call.", "1790001234.77"),
        outcome=text(
            "`answered`, `busy`, `no_answer`, `failed`, `dropped` or `machine`; empty while the call goes on.",
            "answered",
        ),
        status=text("The status that the agent chose as the result; empty if there is none.", "Sold"),
        note=text("The agent's note of the result.", "Wants a call in spring."),
        **_CALL,
    ),
    "call": shape(
        "TimelineCall",
        "A call that no dialler placed.",
        direction=text("The direction.", "INBOUND", enum=["INBOUND", "OUTBOUND"]),
        phone_number=text("The number of the customer, as it was sent.", "+48 22 555 01 07"),
        queue_id=integer("The queue.", 3, nullable=True),
        disposition=text("The result as in GET /connections; empty while the call goes on.", "ANSWERED"),
        billsec=integer("The talk in seconds.", 62),
        **_CALL,
    ),
    "chat": shape(
        "TimelineChat",
        "A chat of a client with one of the customer's addresses.",
        client_name=text("Name of the client.", "Jan Kowal"),
        chat_queue_id=integer("The queue.", 3),
        status=text("The state of the chat.", "closed", enum=ChatState.values),
        closed_at=minute("When it was closed.", "2026-11-20 10:30"),
    ),
    "note": shape(
        "TimelineNote",
        "A note about the customer.",
        message=text("The note.", "Prefers to be called in the morning."),
        author_name=text("Who wrote it.", "Anna Nowak"),
    ),
    "rating": shape(
        "TimelineRating",
        "A rating of a reply.",
        value=integer("1 (worst) to 5.", 5),
        ticket_id=text("The ticket.", "60"),
        message_id=integer("The reply.", 184),
    ),
    "ticket": shape(
        "TimelineTicket",
        "A ticket, by the time when it was opened.",
        subject=text("The subject.", "Parcel lost"),
        source=text("The way by which it came.", "email"),
        ticket_queue_id=integer("The ticket queue.", 1),
        full_status_name=text("The present status.", "Closed"),
        closed_at=minute("When it was closed.", "2026-11-21 09:00"),
    ),
}
ENTRY = shape(
    "TimelineEntry",
    "An entry of a timeline. Beside the common fields it has one object, named after its kind.",
    optional=tuple(TIMELINE),
    kind=text("The kind.", "note", enum=list(TIMELINE)),
    id=text("Id of the ticket, chat, note or rating; of a call and an attempt the id of the call.", "12"),
    at=minute("When it began, or was written.", "2026-11-20 10:15"),
    agent_login=text("Login of the agent; an empty string if there is none.", "agent1"),
    **TIMELINE,
)
FILE = {"type": "string", "format": "binary", "example": "%PDF-1.7 …"}

document(
    CustomerViewSet,
    {"customer_id": path("id", "Id of the customer.", "77", ErrorCode.CUSTOMER_NOT_FOUND)},
    list=Operation(
        id="list_customers",
        summary="List customers",
        description="Ordered by id. Phone numbers match in any spelling.",
        is_extension=True,
        answer=page(CUSTOMER),
        filter_set=CustomerFilterSet,
        is_paged=True,
        most=MAX_CUSTOMERS,
    ),
    retrieve=Operation(
        id="read_customer",
        summary="Read a customer",
        description="For a merged customer, returns the customer that it was merged into.",
        is_extension=True,
        answer=CUSTOMER,
    ),
    create=Operation(
        id="create_customer",
        summary="Enter a customer",
        is_extension=True,
        body=CustomerInput,
        request_example={"name": "Jan", "surname": "Kowal", "phone_numbers": ["+48 22 555 01 07"]},
        answer=shape("CreatedCustomer", "The new customer.", customer_id=integer("The id.", 77)),
        errors={
            ErrorCode.PHONE_LETTERS: "phone_numbers.0",
            ErrorCode.PHONE_INVALID: "phone_numbers.0",
            ErrorCode.PHONE_TOO_LONG: "phone_numbers.0",
            ErrorCode.COMPANY_NOT_FOUND: "company_id",
            ErrorCode.CUSTOMER_IDENTIFIER_TAKEN: "identifier",
            ErrorCode.NOT_ONE_LINE: "identifier",
            ErrorCode.CUSTOM_FIELD_UNKNOWN: "custom_fields.colour",
            ErrorCode.CUSTOM_FIELD_OPTION: "custom_fields.loyalty",
            ErrorCode.ADDRESS_MALFORMED: "email",
        },
    ),
    timeline=Operation(
        id="read_customer_timeline",
        summary="Read the timeline of a customer",
        description=(
            "Calls, attempts of campaigns, tickets, chats, notes and ratings, newest first. A kind is there if the API"
            " user may read its rows: calls need `connections:read`, attempts `campaigns:read`; tickets, chats and"
            " ratings need `tickets:read`. To read on, give `next` as `before`; it is empty at the end. Entries that"
            " come meanwhile shift no page."
        ),
        is_extension=True,
        query=(limit_parameter(),),
        filter_set=TimelineFilterSet,
        answer={
            "type": "object",
            "required": ["next", "result"],
            "additionalProperties": False,
            "properties": {
                "next": text(
                    "Where the next page begins; an empty string on the last page.", "1795165200000000.note.12"
                ),
                "result": array(ENTRY, "This page of them."),
            },
        },
        answer_example={
            "next": "1795165200000000.note.12",
            "result": [
                {
                    "kind": "note",
                    "id": "12",
                    "at": "2026-11-20 10:00",
                    "agent_login": "agent1",
                    "note": {"message": "Prefers to be called in the morning.", "author_name": "Anna Nowak"},
                }
            ],
        },
        errors={ErrorCode.PLACE_MALFORMED: "before"},
    ),
    add_note=Operation(
        id="add_customer_note",
        summary="Add a note to a customer",
        body=NoteInput,
        request_example={"message": "Prefers to be called in the morning.", "user_login": "agent1"},
        errors={ErrorCode.AGENT_NOT_FOUND: "user_login"},
    ),
)
document(
    CompanyViewSet,
    list=Operation(
        id="list_companies",
        summary="List the companies",
        description="Ordered by name.",
        is_extension=True,
        answer=array(COMPANY),
    ),
    create=Operation(
        id="create_company",
        summary="Enter a company",
        is_extension=True,
        body=CompanyInput,
        request_example={"name": "ACME"},
        answer=shape("CreatedCompany", "The new company.", company_id=integer("The id.", 4)),
    ),
)
document(
    ChatViewSet,
    {
        "chat_id": path(
            "id", "Id of the chat: a UUID.", "6c2f6dba-5a36-4dd2-9d3f-1a2ddc2a4a5b", ErrorCode.CHAT_NOT_FOUND
        )
    },
    list=Operation(
        id="list_chats",
        summary="List chats",
        description="Ordered by their start, newest first.",
        is_extension=True,
        answer=page(CHAT),
        filter_set=ChatFilterSet,
        is_paged=True,
    ),
    retrieve=Operation(id="read_chat", summary="Read a chat", is_extension=True, answer=CHAT),
    messages=Operation(
        id="list_chat_messages",
        summary="List the messages of a chat",
        description="Oldest first. To follow a chat, give the last `message_id` as `after`.",
        is_extension=True,
        answer=page(CHAT_MESSAGE),
        filter_set=ChatMessageFilterSet,
        is_paged=True,
    ),
    create=Operation(
        id="start_chat",
        summary="Start a chat",
        is_extension=True,
        body=ChatInput,
        request_example={"client_name": "Jan Kowal", "client_email": "jan.kowal@client.example", "chat_queue_id": 3},
        answer=shape(
            "StartedChat", "The chat.", id=text("Its id.", "6c2f6dba-5a36-4dd2-9d3f-1a2ddc2a4a5b", format="uuid")
        ),
        errors={ErrorCode.CHAT_QUEUE_NOT_FOUND: "chat_queue_id"},
    ),
    assign=Operation(
        id="assign_chat",
        summary="Give a chat to an agent",
        description="Nothing changes if the agent already has it.",
        is_extension=True,
        body=AssignInput,
        request_example={"agent_login": "agent1"},
        errors={ErrorCode.AGENT_NOT_FOUND: "agent_login"},
        conflicts={ErrorCode.CHAT_CLOSED: ""},
    ),
    write=Operation(
        id="write_in_chat",
        summary="Write in a chat",
        description="A chat without an agent is assigned to the first agent who writes in it.",
        is_extension=True,
        body=ChatMessageInput,
        request_example={"body": "How can I help?", "agent_login": "agent1"},
        errors={ErrorCode.AGENT_NOT_FOUND: "agent_login"},
        conflicts={ErrorCode.CHAT_CLOSED: ""},
    ),
    close=Operation(
        id="close_chat",
        summary="Close a chat",
        description="A chat that is already closed stays as it is.",
        is_extension=True,
    ),
)
document(
    TemporaryFileViewSet,
    create=Operation(
        id="upload_temporary_file",
        summary="Upload a file",
        description=(
            "For the attachments of a message. It is kept for 24 hours, and only this API user can use it, once."
        ),
        is_extension=True,
        body=FILE,
        request_example=FILE["example"],
        request_type="application/octet-stream",
        query=(
            Parameter(
                "filename",
                {"type": "string", "example": "invoice.pdf"},
                "Name of the file.",
                (ErrorCode.EMPTY, ErrorCode.TOO_LONG, ErrorCode.NUL),
                is_required=True,
            ),
        ),
        answer=shape(
            "TemporaryFile",
            "The file.",
            filename=text("Its name, cleaned.", "invoice.pdf"),
            token=text("The name of the file in `attachments`.", "Zk3vJp"),
            size=integer("Bytes.", 48_213),
        ),
        errors={ErrorCode.FILE_EMPTY_UPLOAD: "", ErrorCode.FILE_CUT_SHORT: "", ErrorCode.TOO_MANY_FILES: ""},
    ),
)
document(
    FileViewSet,
    {"token": path("token", "Token of an attachment.", "Zk3vJp", ErrorCode.ATTACHMENT_NOT_FOUND)},
    retrieve=Operation(
        id="download_file",
        summary="Download an attachment",
        description="Always as a download, never shown inside a page. The content type is that of the file.",
        is_extension=True,
        answer=FILE,
        missing=(ErrorCode.FILE_GONE,),
        # Client generators use only the first type.
        answer_types=("application/octet-stream", "*/*"),
    ),
)
