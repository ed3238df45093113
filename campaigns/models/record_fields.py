"""The table of a record's fields: answers, inputs, SQL, history, files and the admin's form follow from it.

A field that is stored is also an attribute of `Record` and of `Draft` (`campaigns/models/rules.py`).
"""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from callcentre.core.errors import ErrorCode as E
from callcentre.core.field_tables import Field, Kind, stored_values
from campaigns.models.status import SystemStatus

# The inputs: a new record, an edit of one record, an item of the batch edit.
ADD, EDIT, BATCH_EDIT = "add", "edit", "batch edit"
_EVERY = (ADD, EDIT, BATCH_EDIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordField(Field):
    """A field of a record. In SQL `r` is the record, `s` its status, `a` its agent."""

    is_exported: bool = False
    # Label of the column of an import; None for a field that no import sets.
    import_label: Any = None
    # The model's field that the admin's form shows.
    form: str = ""


# In the order of answers, exports and the form.
RECORD_FIELDS = (
    RecordField(
        name="id", wire="record_id", kind=Kind.ID,
        sentence="The record's id.", example=1042,
        sql="r.id", is_exported=True,
    ),
    RecordField(
        name="phone_number", wire="phone_number", kind=Kind.TEXT, max_length=100, is_required=True,
        sentence="The number as it was sent.", example="+48 22 555 0117",
        sql="r.phone_number", inputs=(ADD,), input_note="Any spelling will do.",
        errors=(E.NUMBER_DUPLICATED, E.PHONE_LETTERS, E.PHONE_INVALID, E.PHONE_TOO_LONG),
        is_exported=True, import_label=_("phone number"),
    ),
    RecordField(
        name="identifier", wire="identifier", kind=Kind.TEXT, max_length=100,
        sentence="Identifier, unique in the campaign; an empty string for none.", example="C-10117",
        sql="r.identifier", stored="identifier", in_history=True,
        inputs=(ADD, EDIT), input_note="One line, without control characters.",
        errors=(E.IDENTIFIER_TAKEN, E.NOT_ONE_LINE),
        is_exported=True, import_label=_("identifier"), form="identifier",
    ),
    RecordField(
        name="status", wire="status", kind=Kind.TEXT,
        sentence="Name of the record's status in the campaign.", example="Agent's own record",
        sql="COALESCE(s.name, '')", is_exported=True, import_label=_("status (name or id)"),
    ),
    RecordField(
        name="status_id", wire="status_id", kind=Kind.ID, unset=None,
        sentence="Id of the record's status in the campaign.", example=14,
        sql="r.status_id", stored="status.id", inputs=_EVERY, errors=(E.STATUS_NOT_FOUND,),
        import_label=_("id of the status"), form="status",
    ),
    RecordField(
        name="dictionary_status_id", wire="dictionary_status_id", kind=Kind.ID,
        sentence="An entry of the dictionary of statuses: the campaign's status for it is meant.",
        inputs=_EVERY, errors=(E.DICTIONARY_STATUS_NOT_FOUND, E.STATUSES_DISAGREE),
        import_label=_("id of the dictionary status"),
    ),
    RecordField(
        name="system_status", wire="system_status", kind=Kind.CHOICE, choices=tuple(SystemStatus.values),
        sentence="What the dialler does with the record.", example="MY_RECORD",
        sql="r.system_status", stored="status.system_status", is_exported=True,
    ),
    RecordField(name="agent_id", kind=Kind.ID, stored="agent_id"),
    RecordField(
        name="agent_login", wire="agent_login", kind=Kind.TEXT, max_length=100,
        sentence="Login of the agent the record is assigned to; an empty string for none.", example="agent1",
        sql="COALESCE(a.login, '')", in_history=True,
        inputs=_EVERY, input_note="Needed for `MY_RECORD`. An empty string takes the agent away.",
        errors=(E.AGENT_NOT_FOUND, E.AGENT_REQUIRED),
        is_exported=True, import_label=_("login of the agent"), form="agent",
    ),
    RecordField(
        name="agent_name", wire="agent_name", kind=Kind.TEXT,
        sentence="Name of that agent; an empty string for none.", example="Anna Nowak",
        sql="trim(concat_ws(' ', a.name, a.surname))", is_exported=True,
    ),
    RecordField(
        name="next_call_at", wire="next_call_date", kind=Kind.MINUTE, unset="",
        sentence="When it is to be called next.", example="2026-03-04 10:30",
        sql="r.next_call_at", stored="next_call_at", in_history=True,
        inputs=_EVERY, errors=(E.NEXT_CALL_REQUIRED,),
        input_note="`YYYY-MM-DD hh:mm`; `MY_RECORD` and `CALL_NO_SOONER_THAN` need it, `CALL_PROGRESSIVE` obeys it.",
        is_exported=True, import_label=_("next call (YYYY-MM-DD hh:mm)"), form="next_call_at",
    ),
    RecordField(
        name="order", wire="order", kind=Kind.INTEGER, unset="",
        sentence="Order of the record: the lowest is dialled first, records without one last; empty when unset.",
        example=10,
        sql='r."order"', stored="order", in_history=True, inputs=(ADD, EDIT),
        is_exported=True, import_label=_("order"), form="order",
    ),
    RecordField(
        name="called_at", wire="call_date", kind=Kind.MINUTE, unset="",
        sentence="When it was last called.",
        sql="r.called_at", is_exported=True,
    ),
    RecordField(
        name="created_at", wire="create_date", kind=Kind.MINUTE,
        sentence="When it was added.", example="2026-03-02 08:15",
        sql="r.created_at", is_exported=True,
    ),
    RecordField(
        name="last_note", wire="last_note", kind=Kind.TEXT, max_length=10_000,
        sentence="The last note.", example="Wants to be called in the morning.",
        sql="r.last_note", stored="last_note", in_history=True, inputs=(EDIT,), input_name="note",
        is_exported=True, form="last_note",
    ),
    RecordField(name="zone", kind=Kind.TEXT, stored="zone"),
    RecordField(name="calling_code", kind=Kind.TEXT, stored="calling_code"),
    # Stored in rows of their own.
    RecordField(
        name="additional_numbers", wire="additional_numbers", kind=Kind.TEXTS, max_length=100, max_items=20,
        sentence="Further numbers of the same person.", example=["+48 601 234 567"],
        inputs=(ADD, EDIT), input_note="All of them.", errors=(E.PHONE_LETTERS, E.PHONE_INVALID),
        import_label=_("additional numbers"),
    ),
    # Keyed by the names of the campaign's fields on the wire, by their ids in the column.
    RecordField(
        name="fields", wire="record_fields", kind=Kind.TEXT_MAP,
        sentence="Name of a field of the campaign -> its text.", example={"first_name": "Joanna", "city": "Gdańsk"},
        stored="fields", in_history=True, inputs=_EVERY, errors=(E.FIELD_UNKNOWN, E.FIELDS_IN_CRM),
        input_note="Only given fields change; an empty text clears.",
    ),
)  # fmt: skip
BY_NAME = {field.name: field for field in RECORD_FIELDS}
# The columns that verbs write.
STORED = tuple(field for field in RECORD_FIELDS if field.stored)
# The columns of a file of records, by their names.
IMPORTED = {field.wire: field for field in RECORD_FIELDS if field.import_label}
# The columns whose value in an input is the value in the database.
PLAIN = tuple(field.name for field in STORED if field.stored == field.name and field.inputs and field.name != "fields")
values_to_store = stored_values(STORED)
