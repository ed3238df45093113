"""The table of a connection's fields: the SELECT list, the answers and their documents follow from it."""

from dataclasses import dataclass

from callcentre.core.field_tables import Field, Kind
from telephony.models.connection import Connection
from telephony.models.transcription import Transcription


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionField(Field):
    """A field of a connection. In SQL `c` is the connection, `a` its agent, `t` its topic, `tr` its transcription."""

    # Description of the filter of the same name; "" without one.
    filter_sentence: str = ""


# In the order of answers.
CONNECTION_FIELDS = (
    ConnectionField(
        name="created_at", wire="date", kind=Kind.MINUTE, sentence="When it was requested, or came in.",
        example="2026-11-21 09:30", sql="c.created_at",
    ),
    ConnectionField(
        name="src", kind=Kind.TEXT,
        sentence="Who called: the caller's number, or the SIP number of the agent's phone.", example="101",
        sql="c.src", filter_sentence="Who called: a number in any spelling, or a SIP number.",
    ),
    ConnectionField(
        name="dst", kind=Kind.TEXT, sentence="Who was called.", example="+48 22 555 0107", sql="c.dst",
        filter_sentence="Who was called, likewise.",
    ),
    ConnectionField(
        name="disposition", kind=Kind.CHOICE, sentence="The result; an empty string for an open call.",
        example="ANSWERED", sql="c.disposition", choices=("", *Connection.Disposition.values),
    ),
    ConnectionField(
        name="duration", kind=Kind.INTEGER, sentence="Whole seconds from start to end; 0 for an open call.",
        example=65, minimum=0, sql="GREATEST(floor(extract(epoch FROM c.ended_at - c.created_at)), 0)::integer",
    ),
    ConnectionField(
        name="billsec", kind=Kind.INTEGER, sentence="Whole seconds of talk; 0 for an open or unanswered call.",
        example=58, minimum=0, sql="GREATEST(floor(extract(epoch FROM c.ended_at - c.answered_at)), 0)::integer",
    ),
    ConnectionField(
        name="user_login", kind=Kind.TEXT,
        sentence="Agent who requested it, or answered it last; an empty string for none.", example="agent1",
        sql="COALESCE(a.login, '')", filter_sentence="Agent who requested the call, or answered it last.",
    ),
    ConnectionField(
        name="uid", wire="connection_id", kind=Kind.TEXT, sentence="The connection's id.", example="1416225570.341",
        sql="floor(extract(epoch FROM c.created_at))::bigint || '.' || c.id", filter_sentence="Id of one connection.",
    ),
    ConnectionField(
        name="direction", wire="type", kind=Kind.CHOICE, sentence="The direction.", example="OUTBOUND",
        sql="c.direction", choices=tuple(Connection.Direction.values),
    ),
    ConnectionField(
        name="queue_id", kind=Kind.ID, sentence="Queue of the call.", example=3, sql="c.queue_id", unset=None,
        filter_sentence="Queue of the call.",
    ),
    ConnectionField(
        name="topic_id", kind=Kind.ID, sentence="Topic of the call.", example=5, sql="t.topic_id", unset=None,
    ),
    ConnectionField(
        name="customer_id", kind=Kind.ID, sentence="Customer with the number.", example=77, sql="c.customer_id",
        unset=None,
    ),
    ConnectionField(
        name="filename",
        wire="filename",
        kind=Kind.TEXT,
        sentence="Name of the recording; an empty string for none.",
        example="1416225570.341.wav",
        # The first recording with a file: a call that was held has several, and a removed one has no file.
        sql="""(
    SELECT r.name || '.wav' FROM telephony_recording r
    WHERE r.connection_id = c.id AND r.state = 'ready' ORDER BY r.id LIMIT 1
  )""",
        unset="",
    ),
    ConnectionField(
        name="transcription_status", kind=Kind.CHOICE,
        sentence="State of the transcription; an empty string for none.", example="SUCCESS", sql="tr.status",
        unset="", choices=("", *Transcription.Status.values),
    ),
    ConnectionField(
        name="outbound_id", kind=Kind.TEXT, sentence="Campaign whose dialler placed the call; null for other calls.",
        example="DEMO1", sql="NULLIF(c.campaign_code, '')", unset=None,
    ),
    ConnectionField(
        name="record_id", kind=Kind.ID, sentence="Record that the dialler called; null for other calls.",
        example=1042, sql="c.record_id", unset=None,
    ),
)  # fmt: skip
# One connection has these as well.
DETAIL_FIELDS = (
    *CONNECTION_FIELDS,
    ConnectionField(
        name="cause", kind=Kind.INTEGER,
        sentence="ITU-T Q.850 cause of the end; null for an open call, and if it is unknown.", example=16,
        sql="c.cause", unset=None,
    ),
    ConnectionField(
        name="cause_text", kind=Kind.TEXT, sentence="Reason for the end in words; an empty string for an open call.",
        example="Normal clearing", sql="c.cause_text",
    ),
    ConnectionField(
        name="note", kind=Kind.TEXT, example="Wants a refund.", unset="",
        sentence="Note for the agent who is consulted now, or who got the call last; an empty string for none.",
        sql="""COALESCE(
    (SELECT x.note FROM telephony_consultation x WHERE x.connection_id = c.id AND x.ended_at IS NULL),
    (SELECT x.note FROM telephony_transfer x WHERE x.connection_id = c.id AND x.actor_kind <> 'system'
     ORDER BY x.id DESC LIMIT 1),
    '')""",
    ),
)  # fmt: skip
FILTER_SENTENCES = {field.wire: field.filter_sentence for field in CONNECTION_FIELDS if field.filter_sentence}
