"""The tables of the fields of tickets and messages: answers, inputs, documents and SQL follow from them.

In SQL `t` is the ticket, `q` its queue, `s` its status, `ss` its sub-status, `m` the message, `a` the agent.
"""

from django.conf import settings

from callcentre.core.errors import ErrorCode as E
from callcentre.core.field_tables import Field, Kind
from tickets.models.message import Message
from tickets.models.ticket import PRIORITIES, Source

# The inputs: a new ticket, an edit.
OPEN, EDIT = "open", "edit"
_BOTH = (OPEN, EDIT)


def minute_sql(column: str) -> str:
    """Return the SQL that spells a time. Spelling all times of a page in Python would take longer than the rest."""
    return f"COALESCE(to_char({column} AT TIME ZONE '{settings.TIME_ZONE}', 'YYYY-MM-DD HH24:MI'), '')"


def _duration(column: str, hours: str) -> str:
    """Return the SQL that spells the time from the creation until `column`, with at least as many digits as `hours`."""
    seconds = f"GREATEST(floor(extract(epoch FROM {column} - t.created_at)), 0)"
    hours, rest = f"to_char(floor({seconds} / 3600), 'FM9999999{hours}')", f"make_interval(secs => {seconds})"
    return f"CASE WHEN {column} IS NULL THEN '' ELSE {hours} || to_char({rest}, ':MI:SS') END"


TICKET_FIELDS = (
    Field(name="id", wire="ticket_id", kind=Kind.TEXT_ID, sentence="The ticket's id.", example=5012, sql="t.id::text"),
    Field(
        name="agent_login", wire="user_login", kind=Kind.TEXT,
        sentence="Login of the assigned agent; empty for none.", example="agent1", sql="COALESCE(a.login, '')",
        inputs=_BOTH,
        input_note="The agent must be active. A new ticket with an agent counts as entered on behalf of the customer.",
        errors=(E.AGENT_NOT_FOUND,), max_length=100,
    ),
    Field(
        name="sender", wire="from", kind=Kind.TEXT, sentence="Address of the sender.",
        example="jan.kowal@client.example", sql="t.sender", inputs=_BOTH,
        input_note="Replies go to it. It may have a name before it. An empty text: none.",
        errors=(E.ADDRESS_MALFORMED,), max_length=320,
    ),
    Field(
        name="queue_name", wire="ticket_queue_name", kind=Kind.TEXT, sentence="Name of the ticket queue.",
        example="Customer service", sql="q.name",
    ),
    Field(
        name="queue_id", wire="ticket_queue_id", kind=Kind.ID, sentence="The ticket queue.", example=2,
        sql="t.queue_id", inputs=_BOTH, errors=(E.TICKET_QUEUE_NOT_FOUND,),
        input_note="A new ticket without one is in the first active queue.",
    ),
    Field(
        name="subject", kind=Kind.TEXT, sentence="The subject.", example="Parcel lost", sql="t.subject", inputs=_BOTH,
        input_note="A new one begins a new conversation in some mail programs.", errors=(E.NOT_ONE_LINE,),
        is_required=True, max_length=500,
    ),
    Field(
        name="category_id", kind=Kind.ID, sentence="The category.", example=3, sql="t.category_id", unset=None,
        inputs=_BOTH, input_note="An empty text: none.", errors=(E.TICKET_CATEGORY_NOT_FOUND,),
    ),
    Field(
        name="source", kind=Kind.CHOICE, sentence="The way by which it came.", example="email", sql="t.source",
        inputs=(OPEN,), choices=tuple(Source.values),
    ),
    Field(
        name="status_id", kind=Kind.TEXT_ID, sentence="The status.", example=2, sql="t.status_id::text", inputs=_BOTH,
        input_note="The default is the first status of new tickets. Another status clears the sub-status.",
        errors=(E.TICKET_STATUS_NOT_FOUND, E.STATUS_MERGED_BY_HAND),
    ),
    Field(
        name="substatus_id", kind=Kind.TEXT_ID, sentence="The sub-status; empty for none.",
        sql="COALESCE(t.substatus_id::text, '')", inputs=_BOTH, input_note="One of the status. An empty text: none.",
        errors=(E.SUBSTATUS_NOT_FOUND,),
    ),
    Field(
        name="tags", kind=Kind.TEXTS, sentence="Words to find it by.", example=["parcel"], sql="t.tags", inputs=_BOTH,
        input_note="They replace all tags.", max_length=100, max_items=100,
    ),
    Field(
        name="customer_id", kind=Kind.ID, sentence="The customer.", example=77, sql="t.customer_id", unset=None,
        inputs=_BOTH, input_note="By default the oldest one with the address in `from`. An empty text: none.",
        errors=(E.CUSTOMER_NOT_FOUND,),
    ),
    Field(
        name="full_status_name", kind=Kind.TEXT, sentence="Names of status and sub-status.",
        example="Waiting for customer", sql="s.name || COALESCE(' - ' || ss.name, '')",
    ),
    Field(
        name="created_at", kind=Kind.MINUTE, sentence="When it began.", example="2026-11-20 09:58",
        sql=minute_sql("t.created_at"),
    ),
    Field(
        name="updated_at", kind=Kind.MINUTE, sentence="When it last changed.", example="2026-11-20 10:15",
        sql=minute_sql("t.updated_at"),
    ),
    Field(
        name="closed_at", kind=Kind.MINUTE, sentence="When it was closed.", sql=minute_sql("t.closed_at"),
    ),
    Field(
        name="close_time", kind=Kind.TEXT,
        sentence="`hhh:mm:ss` from its creation until it was closed; empty while it is open.",
        sql=_duration("t.closed_at", "000"),
    ),
    Field(
        name="first_agent_responded_at", kind=Kind.MINUTE, sentence="When an agent first replied.",
        example="2026-11-20 10:15", sql=minute_sql("t.first_agent_responded_at"),
    ),
    Field(
        name="first_agent_response_time", kind=Kind.TEXT,
        sentence="`hh:mm:ss` from its creation until the first reply; empty before.", example="00:17:12",
        sql=_duration("t.first_agent_responded_at", "00"),
    ),
    Field(
        name="connected_ids", wire="connected_ticket_ids", kind=Kind.INTEGERS, sentence="Connected tickets.",
        example=[4711], sql="t.connected_ids",
    ),
)  # fmt: skip
_PRIORITY = " ".join(f"WHEN {rank.value} THEN '{name}'" for name, rank in PRIORITIES.items())
# Of one ticket. A list of tickets has the keys that programs have always got.
WHOLE_TICKET_FIELDS = (
    *TICKET_FIELDS,
    Field(
        name="priority", kind=Kind.CHOICE, sentence="How urgent it is.", example="high",
        sql=f"CASE t.priority {_PRIORITY} END", inputs=_BOTH, choices=tuple(PRIORITIES),
        input_note="A new ticket without one is `normal`.",
    ),
    Field(
        name="type_id", kind=Kind.ID, sentence="The type.", example=1, sql="t.type_id", unset=None, inputs=_BOTH,
        input_note="An empty text: none.", errors=(E.TICKET_TYPE_NOT_FOUND,),
    ),
    Field(
        name="team_id", kind=Kind.ID, sentence="The team.", example=4, sql="t.team_id", unset=None, inputs=_BOTH,
        input_note="By default that of the ticket queue. An empty text: none.", errors=(E.TEAM_NOT_FOUND,),
    ),
    Field(
        name="postponed_until", kind=Kind.MINUTE, sentence="When a postponed ticket comes back; empty for never.",
        example="2026-11-23 09:00", inputs=(EDIT,),
        sql=minute_sql("CASE WHEN s.kind = 'postponed' THEN t.postponed_until END"),
        input_note="It also sets the status of postponed tickets. An empty text: never.",
        errors=(E.POSTPONED_UNTIL, E.POSTPONED_STATUS),
    ),
)  # fmt: skip
MESSAGE_FIELDS = (
    Field(name="id", wire="message_id", kind=Kind.ID, sentence="The message's id.", example=9001, sql="m.id"),
    Field(
        name="agent_login", wire="user_login", kind=Kind.TEXT,
        sentence="Login of the agent who wrote it; empty for the customer.", example="agent1",
        sql="COALESCE(a.login, '')",
    ),
    Field(
        name="type", kind=Kind.CHOICE,
        sentence="From the customer (MAIL), to the customer (REPLY), or among agents (COMMENT).", example="REPLY",
        sql="m.type", choices=tuple(Message.Type.values),
    ),
    Field(
        name="body", kind=Kind.TEXT, sentence="The text: sanitised HTML, or plain text as it was sent.",
        example="<p>We have sent it again.</p>", sql="m.body || m.quoted",
    ),
    Field(name="comment", kind=Kind.TEXT, sentence="The text of a comment.", sql="m.comment"),
    Field(
        name="system_comment", kind=Kind.TEXT, sentence="What the service did.",
        example="Changed status from [New] to [Waiting for customer]", sql="m.system_comment",
    ),
    Field(
        name="created_at", kind=Kind.MINUTE, sentence="When it was written.", example="2026-11-20 10:15",
        sql=minute_sql("m.created_at"),
    ),
    Field(
        name="attachments", kind=Kind.TEXTS, sentence="Tokens for GET /files/:token.", example=["Zk3v"],
        sql="m.attachments",
    ),
    Field(
        name="ratings", kind=Kind.INTEGERS, sentence="Ratings of the customer, 1 to 5.", example=[5], sql="m.ratings",
    ),
)  # fmt: skip
