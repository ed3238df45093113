"""The documentation of the API of tickets. Customers, chats and files are in customers_docs."""

from typing import Any

from callcentre.api.field_tables import describe_input, properties
from callcentre.api.openapi import (
    Operation,
    array,
    describe,
    document,
    flag,
    integer,
    mapping,
    page,
    path,
    shape,
    text,
)
from callcentre.core.errors import ErrorCode
from tickets.api import customers_docs  # noqa: F401  (documents the rest of this app)
from tickets.api.filters import TicketFilterSet
from tickets.api.serializers import (
    AgentResponseInput,
    CommentInput,
    CustomerResponseInput,
    TicketEditInput,
    TicketInput,
)
from tickets.api.tickets import TicketCategoryViewSet, TicketQueueViewSet, TicketStatusViewSet, TicketViewSet
from tickets.models.ticket_fields import MESSAGE_FIELDS, TICKET_FIELDS

ID = {"ticket_id": path("id", "Id of the ticket.", "5012", ErrorCode.TICKET_NOT_FOUND)}
AGENT_LOGIN = "Login of an active agent."
ATTACHMENTS = "Tokens of temporary files, each of which can be used once."

describe_input(
    TicketInput,
    body="The customer's first message.",
    body_type={"description": "The format of `body`.", "default": "PLAIN"},
    custom_fields="Custom field -> value; an unknown name is refused.",
    attachments=ATTACHMENTS,
)
describe_input(
    TicketEditInput, custom_fields="Custom field -> value; an empty value clears the field, other fields stay."
)
describe(
    CommentInput,
    comment="The comment.",
    comment_type={"description": "The format of `comment`; HTML is sanitised.", "default": "HTML"},
    user_login=AGENT_LOGIN,
)
describe(
    AgentResponseInput,
    body="The message to the customer.",
    body_type={"description": "The format of `body`; marketplaces accept PLAIN only.", "default": "HTML"},
    user_login="Login of the active agent who sends it.",
    date="When it was sent; by default now. Neither before the ticket's creation nor in the future.",
    attachments=ATTACHMENTS,
)
describe(
    CustomerResponseInput,
    body="The customer's message.",
    body_type={"description": "The format of `body`; HTML is sanitised.", "default": "HTML"},
    date="When it came; by default now. Neither before the ticket's creation nor in the future.",
    from_name="The name to show with the message instead of the customer's.",
)

OF_MESSAGE: Any = properties(MESSAGE_FIELDS)
OF_TICKET: Any = properties(TICKET_FIELDS)
MESSAGE = shape("TicketMessage", "A part of the conversation.", **OF_MESSAGE)
TICKET = shape(
    "Ticket",
    "A matter of a customer and its conversation.",
    optional=("custom_fields",),
    **OF_TICKET,
    messages=array(MESSAGE, "Oldest first."),
    custom_fields=mapping(
        "Custom field -> value, null where it has none; with `include_custom_fields`.",
        {},
        {"order_number": "A-1204", "priority": None},
    ),
)
NAMED = shape(
    "Named", "An entry that tickets refer to.", id=integer("Its id.", 2), name=text("Its name.", "Complaints")
)
STATUS = shape(
    "TicketStatus",
    "A status that tickets can have.",
    id=integer("The status's id.", 2),
    name=text("Its name.", "Waiting for customer"),
    kind=text("What the service makes of it.", "waiting_for_customer"),
    order=integer("Order among the statuses; of a kind's, the lowest is the one that tickets move to.", 20),
    substatuses=array(NAMED, "Finer words for it."),
)
CHOICES = {
    ErrorCode.AGENT_NOT_FOUND: "user_login",
    ErrorCode.TICKET_STATUS_NOT_FOUND: "status_id",
    ErrorCode.SUBSTATUS_NOT_FOUND: "substatus_id",
    ErrorCode.STATUS_MERGED_BY_HAND: "status_id",
    ErrorCode.TICKET_CATEGORY_NOT_FOUND: "category_id",
    ErrorCode.TICKET_QUEUE_NOT_FOUND: "ticket_queue_id",
    ErrorCode.CUSTOM_FIELD_UNKNOWN: "custom_fields.colour",
    ErrorCode.CUSTOM_FIELD_OPTION: "custom_fields.priority",
    ErrorCode.CUSTOMER_NOT_FOUND: "customer_id",
    ErrorCode.NOT_ONE_LINE: "subject",
    ErrorCode.ADDRESS_MALFORMED: "from",
}
MESSAGES = {ErrorCode.DATE_OUTSIDE: "date"}

document(
    TicketViewSet,
    ID,
    list=Operation(
        id="list_tickets",
        summary="List tickets",
        description="Ordered by their last change, newest first, with their messages.",
        answer=page(TICKET),
        filter_set=TicketFilterSet,
        is_paged=True,
        query=(flag("include_custom_fields", "Adds `custom_fields` to each ticket."),),
        errors={ErrorCode.NOT_CHOICE: "order"},
    ),
    create=Operation(
        id="create_ticket",
        summary="Open a ticket",
        description=(
            "With the customer's first message. No mail is sent. Replies to a ticket of the source `email` go to"
            " `from`: an address, also as `Jan Kowal <jan@client.example>`."
        ),
        is_extension=True,
        body=TicketInput,
        request_example={
            "subject": "Parcel lost",
            "body": "Where is my parcel?",
            "from": "jan.kowal@client.example",
            "tags": ["parcel"],
            "custom_fields": {"order_number": "A-1204"},
        },
        answer=shape("CreatedTicket", "The new ticket.", ticket_id=text("Its id.", "5012")),
        errors=CHOICES
        | {
            ErrorCode.TICKET_QUEUE_MISSING: "ticket_queue_id",
            ErrorCode.FILE_NOT_FOUND: "attachments.0",
            ErrorCode.FILES_TOO_LARGE: "attachments",
        },
    ),
    retrieve=Operation(
        id="read_ticket",
        summary="Read a ticket",
        description="With its custom fields.",
        is_extension=True,
        answer=TICKET,
    ),
    update=Operation(
        id="edit_ticket",
        summary="Edit a ticket",
        description=(
            "Missing fields, and fields that are null, stay as they are. A change of status leaves a message with a"
            " `system_comment`. Replies go to `from`: an address, also as `Jan Kowal <jan@client.example>`. A ticket"
            " without a customer gets the one with that address."
        ),
        is_extension=True,
        body=TicketEditInput,
        is_partial=True,
        request_example={"user_login": "agent1", "status_id": 5, "custom_fields": {"priority": "high"}},
        errors=CHOICES | {ErrorCode.TICKET_MERGED: ""},
    ),
    comment=Operation(
        id="comment_ticket",
        summary="Comment a ticket",
        description="For the other agents. The status stays.",
        body=CommentInput,
        request_example={"comment": "The courier calls back at noon.", "comment_type": "PLAIN", "user_login": "agent1"},
        errors={ErrorCode.AGENT_NOT_FOUND: "user_login", ErrorCode.TICKET_MERGED: ""},
    ),
    agent_response=Operation(
        id="respond_to_ticket",
        summary="Send a message to the customer",
        description=(
            "For tickets of the sources `email`, `marketplace_message` and `marketplace_dispute`. A worker sends it. A"
            " ticket that is new or in progress then waits for the customer."
        ),
        body=AgentResponseInput,
        request_example={"body": "<p>We have sent it again.</p>", "user_login": "agent1"},
        answer={"type": "array", "items": {"type": "object"}, "maxItems": 0, "example": []},
        status=201,
        errors=MESSAGES
        | {
            ErrorCode.TICKET_MERGED: "",
            ErrorCode.AGENT_NOT_FOUND: "user_login",
            ErrorCode.REPLY_UNSUPPORTED: "",
            ErrorCode.PLAIN_ONLY: "body_type",
            ErrorCode.RECIPIENT_UNKNOWN: "",
            ErrorCode.FILE_NOT_FOUND: "attachments.0",
            ErrorCode.FILES_TOO_LARGE: "attachments",
        },
    ),
    customer_response=Operation(
        id="add_customer_response",
        summary="Add a reply of the customer",
        description="The ticket becomes new again, even if it was closed. After a merge it is the other ticket.",
        body=CustomerResponseInput,
        request_example={"body": "Thank you!", "body_type": "PLAIN", "from_name": "Jan Kowal"},
        errors=MESSAGES | {ErrorCode.NOT_ONE_LINE: "from_name"},
    ),
)
document(
    TicketStatusViewSet,
    list=Operation(
        id="list_ticket_statuses", summary="List the statuses of tickets", is_extension=True, answer=array(STATUS)
    ),
)
document(
    TicketCategoryViewSet,
    list=Operation(
        id="list_ticket_categories", summary="List the categories of tickets", is_extension=True, answer=array(NAMED)
    ),
)
document(
    TicketQueueViewSet,
    list=Operation(id="list_ticket_queues", summary="List the ticket queues", is_extension=True, answer=array(NAMED)),
)
