"""The documents of the API about records."""

from typing import Any

from callcentre.api.field_tables import describe_input, properties, property_of
from callcentre.api.fields import BooleanField, TextField
from callcentre.api.openapi import (
    SHAPES,
    Operation,
    Schema,
    array,
    boolean,
    describe,
    document,
    flag,
    input_shape,
    integer,
    mapping,
    minute,
    page,
    path,
    shape,
    text,
)
from callcentre.api.serializers import Input
from callcentre.core.errors import ErrorCode
from campaigns.api.filters import RecordFilterSet
from campaigns.api.records import MAX_BATCH, RecordBatchViewSet, RecordViewSet
from campaigns.api.serializers import RecordEditInput, RecordInput, RecordPutInput
from campaigns.dialling.why import TEXTS
from campaigns.models.record_fields import BY_NAME, RECORD_FIELDS


class RecordBatchItem(RecordEditInput):
    """An item of the batch edit in the documents. The view reads these two fields itself."""

    phone_number = TextField(max_length=100)
    search_in_additional_numbers = BooleanField(required=False)


def batch(name: str, item: type[Input]) -> Schema:
    SHAPES[name] = {
        "type": "object",
        "required": ["records"],
        "properties": {"records": array(input_shape(item), "The items.", minItems=1, maxItems=MAX_BATCH)},
    }
    return {"$ref": f"#/components/schemas/{name}"}


CORE: Any = properties(RECORD_FIELDS)
FIELDS = property_of(BY_NAME["fields"])
RECORD = shape(
    "Record",
    "A number to be called in a campaign.",
    optional=("record_fields",),
    **CORE,
    record_fields=FIELDS | {"description": "Only with `include_record_fields=true`: name of a field -> its text."},
)
LISTED_RECORD = shape(
    "ListedRecord",
    "A record with all that is known of it.",
    **CORE,
    customer_id=integer("In a CRM campaign the oldest customer with the number.", 77, nullable=True),
    additional_numbers=property_of(BY_NAME["additional_numbers"])
    | {"description": "Further numbers of the same person; in a CRM campaign those of its customer too."},
    record_fields=FIELDS,
)

for reader in (RecordEditInput, RecordPutInput, RecordInput):
    describe_input(reader)
describe(
    RecordBatchItem,
    phone_number={"description": "Number of the record, in any spelling.", "example": "+48 22 555 0117"},
    search_in_additional_numbers="As in the query, for this item.",
)

SEARCH = flag("search_in_additional_numbers", "Whether the number is looked for among additional numbers too.")
INCLUDE = flag("include_record_fields", "Adds `record_fields` to the answer.")
CODE = path("id", "Id of the campaign: five characters.", "DEMO1", ErrorCode.CAMPAIGN_NOT_FOUND)
RULES = {
    ErrorCode.STATUS_NOT_FOUND: "status_id",
    ErrorCode.DICTIONARY_STATUS_NOT_FOUND: "dictionary_status_id",
    ErrorCode.STATUSES_DISAGREE: "dictionary_status_id",
    ErrorCode.AGENT_NOT_FOUND: "agent_login",
    ErrorCode.AGENT_REQUIRED: "agent_login",
    ErrorCode.NEXT_CALL_REQUIRED: "next_call_date",
    ErrorCode.FIELD_UNKNOWN: "record_fields.colour",
    ErrorCode.FIELDS_IN_CRM: "record_fields",
}
NUMBER_RULES = {
    ErrorCode.PHONE_LETTERS: "phone_number",
    ErrorCode.PHONE_INVALID: "phone_number",
    ErrorCode.PHONE_TOO_LONG: "phone_number",
}
IDENTIFIER_RULES = {ErrorCode.IDENTIFIER_TAKEN: "identifier", ErrorCode.NOT_ONE_LINE: "identifier"}
WHOLE_BATCH_ERRORS = {
    ErrorCode.EMPTY: "records",
    ErrorCode.NOT_LIST: "records",
    ErrorCode.TOO_MANY: "records",
    ErrorCode.NOT_OBJECT: "records.3",
    ErrorCode.NOT_TEXT: "records.3.phone_number",
    ErrorCode.NUL: "records.3.phone_number",
}


def by_number(description: str, entry: Schema, example: dict[str, Any]) -> Schema:
    return mapping(f"{description} One entry for each number, keyed as it was sent.", entry, example)


document(
    RecordViewSet,
    {
        "code": CODE,
        "phone_number": path(
            "phone_number",
            "Number of the record, in any spelling, URL-encoded.",
            "+48225550117",
            ErrorCode.RECORD_NOT_FOUND,
        ),
        "identifier": path("identifier", "Identifier of the record.", "C-10117", ErrorCode.RECORD_NOT_FOUND),
    },
    list=Operation(
        id="list_records",
        summary="List the records of a campaign",
        description="Ordered by id.",
        is_extension=True,
        answer=page(LISTED_RECORD),
        filter_set=RecordFilterSet,
        is_paged=True,
    ),
    create=Operation(
        id="create_record",
        summary="Add a record to a campaign",
        description=(
            "A number that the campaign already has, in any spelling, is refused. Without a status the record is"
            " to be called (`TO_CALL`). `record_fields` can be set in CSV campaigns only."
        ),
        body=RecordInput,
        request_example={
            "phone_number": "+48 22 555 0317",
            "identifier": "C-10317",
            "record_fields": {"first_name": "Joanna", "city": "Gdańsk"},
        },
        answer=shape("CreatedRecord", "The record that was added.", record_id=text("Its id.", "1042")),
        errors={ErrorCode.NUMBER_DUPLICATED: "phone_number"} | IDENTIFIER_RULES | NUMBER_RULES | RULES,
    ),
    retrieve=Operation(
        id="read_record",
        summary="Read a record by its number",
        description="Of several records with this number the oldest one.",
        query=(INCLUDE, SEARCH),
        answer=RECORD,
    ),
    explain=Operation(
        id="explain_record",
        summary="Say why a record is not called now",
        description=(
            "All reasons that hold now. A record with several numbers has reasons of its numbers only if none of them"
            " may be called. Other codes may be added."
        ),
        is_extension=True,
        answer=shape(
            "RecordExplanation",
            "Whether the dialler may call the record now, and if not, why.",
            callable=boolean("Whether there is no reason.", example=False),
            reasons=array(
                shape(
                    "Reason",
                    "A reason why the record is not called now.",
                    code=text("The reason, for programs.", "outside_hours", enum=list(TEXTS)),
                    text=text("The reason, for people.", str(TEXTS["outside_hours"])),
                    until=minute("It holds until then, if that is known.", "2026-03-02 09:00"),
                ),
                "The reasons.",
            ),
            next_call_at=minute("The first time at which no reason is left, if it is known.", "2026-03-02 09:00"),
        ),
    ),
    retrieve_by_identifier=Operation(
        id="read_record_by_identifier",
        summary="Read a record by its identifier",
        query=(INCLUDE,),
        answer=RECORD,
    ),
    update=Operation(
        id="edit_record",
        summary="Edit a record",
        description=(
            "Missing fields, and fields that are null, stay as they are. As strict as an item of the batch edit."
        ),
        is_extension=True,
        body=RecordPutInput,
        is_partial=True,
        query=(SEARCH,),
        request_example={"agent_login": "agent1", "next_call_date": "2026-03-04 10:30", "note": "Call in the morning."},
        errors={ErrorCode.NUMBER_AMBIGUOUS: "phone_number"}
        | IDENTIFIER_RULES
        | RULES
        | {ErrorCode.PHONE_INVALID: "additional_numbers.0", ErrorCode.PHONE_LETTERS: "additional_numbers.0"},
        conflicts={ErrorCode.RECORD_BUSY: ""},
    ),
)
document(
    RecordBatchViewSet,
    {"code": CODE},
    update=Operation(
        id="edit_records",
        summary="Edit many records",
        description=(
            f"1 to {MAX_BATCH:,} items; each stands alone: it is applied whole (`204`) or not at all (`400`, with a"
            " message), and never stops another. Of two items that mean the same record the first is applied. Only a"
            " body that is no array of objects with a `phone_number` is refused as a whole."
        ),
        body=batch("RecordBatchEdit", RecordBatchItem),
        query=(SEARCH,),
        request_example={
            "records": [
                {"phone_number": "+48 22 555 0117", "agent_login": "agent1", "next_call_date": "2026-03-04 10:30"},
                {"phone_number": "22 555 0118", "agent_login": "agent99"},
            ]
        },
        status=207,
        answer=by_number(
            "The result of each item.",
            shape(
                "EditedRecord",
                "The result of one item.",
                optional=("message",),
                http_status=integer("204: edited; 400: refused.", 204, enum=[204, 400]),
                message=text("The reason of a refusal.", "Agent not found."),
            ),
            {
                "+48 22 555 0117": {"http_status": 204},
                "22 555 0118": {"http_status": 400, "message": "Agent not found."},
            },
        ),
        errors=WHOLE_BATCH_ERRORS,
    ),
    create=Operation(
        id="create_records",
        summary="Add many records",
        description=f"1 to {MAX_BATCH:,} items; each stands alone, as strict as a single record.",
        is_extension=True,
        body=batch("RecordBatch", RecordInput),
        request_example={"records": [{"phone_number": "+48 22 555 0318"}, {"phone_number": "22 555 01 18"}]},
        answer=by_number(
            "The result of each item.",
            shape(
                "AddedRecord",
                "The result of one item.",
                optional=("record_id", "message"),
                status=text("What was done.", "ADDED", enum=["ADDED", "ALREADY_EXISTS", "FAILED"]),
                record_id=text("Id of the added record, or of the one that has the number.", "1042"),
                message=text("The reason of the failure.", "A phone number has no letters."),
            ),
            {
                "+48 22 555 0318": {"status": "ADDED", "record_id": "1042"},
                "22 555 01 18": {"status": "ALREADY_EXISTS", "record_id": "118"},
            },
        ),
        errors=WHOLE_BATCH_ERRORS,
    ),
)
