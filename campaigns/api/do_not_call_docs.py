"""The documents of the API about the do-not-call list."""

from callcentre.api.openapi import (
    SHAPES,
    Operation,
    array,
    describe,
    document,
    input_shape,
    integer,
    mapping,
    minute,
    page,
    path,
    shape,
    text,
)
from callcentre.core.errors import ErrorCode
from campaigns.api.do_not_call import (
    MAX_ENTRIES,
    DoNotCallBatchViewSet,
    DoNotCallFilterSet,
    DoNotCallInput,
    DoNotCallViewSet,
)

describe(
    DoNotCallInput,
    number={"description": "The number, in any spelling.", "example": "+48 22 555 0117"},
    prefix="In place of a number: the beginning of numbers, from the country code on, as `+4822`.",
    outbound_id="The campaign that does not call it; all campaigns if left out.",
    reason="Why it is not called.",
    since="The entry holds from then on, `YYYY-MM-DD hh:mm`; now if left out.",
    until="The entry holds until then, `YYYY-MM-DD hh:mm`; without end if left out.",
)
ENTRY = shape(
    "DoNotCallEntry",
    "A number, or the beginning of numbers, that is not called.",
    id=integer("The entry's id.", 501),
    number=text("The number as it was sent; empty if the entry is of a beginning.", "+48 22 555 0117"),
    prefix=text("The beginning of numbers; empty if the entry is of one number.", ""),
    outbound_id={
        "type": "string",
        "nullable": True,
        "description": "The campaign that does not call it; null for all campaigns.",
        "example": "DEMO1",
    },
    reason=text("Why it is not called.", "Asked by phone."),
    since=minute("The entry holds from then on.", "2026-03-02 08:15"),
    until=minute("The entry holds until then."),
)
SHAPES["DoNotCallBatch"] = {
    "type": "object",
    "required": ["entries"],
    "properties": {"entries": array(input_shape(DoNotCallInput), "The items.", minItems=1, maxItems=MAX_ENTRIES)},
}
RULES = {
    ErrorCode.EMPTY: "number",
    ErrorCode.NUMBER_OR_PREFIX: "prefix",
    ErrorCode.PHONE_LETTERS: "number",
    ErrorCode.PHONE_INVALID: "number",
    ErrorCode.PHONE_TOO_LONG: "number",
    ErrorCode.PREFIX_INVALID: "prefix",
    ErrorCode.CAMPAIGN_NOT_FOUND: "outbound_id",
    ErrorCode.UNTIL_BEFORE_SINCE: "until",
}

document(
    DoNotCallViewSet,
    {"pk": path("id", "Id of the entry.", "501", ErrorCode.DO_NOT_CALL_NOT_FOUND)},
    list=Operation(
        id="list_do_not_call",
        summary="List the do-not-call entries",
        description="Ordered by id.",
        is_extension=True,
        answer=page(ENTRY),
        filter_set=DoNotCallFilterSet,
        is_paged=True,
        errors={ErrorCode.PHONE_LETTERS: "number", ErrorCode.PHONE_INVALID: "number"},
    ),
    create=Operation(
        id="create_do_not_call",
        summary="Add a do-not-call entry",
        description=(
            "The dialler passes over the number from now on. A number has one entry for a campaign, and one for all: a"
            " further one extends it to the later end."
        ),
        is_extension=True,
        body=DoNotCallInput,
        request_example={"number": "+48 22 555 0117", "reason": "Asked by phone."},
        answer=shape("CreatedDoNotCall", "The entry.", id=integer("Its id.", 501)),
        errors=RULES,
    ),
    destroy=Operation(
        id="delete_do_not_call",
        summary="Delete a do-not-call entry",
        description="Records with the number may be called again at once.",
        is_extension=True,
    ),
)
document(
    DoNotCallBatchViewSet,
    create=Operation(
        id="create_many_do_not_call",
        summary="Add many do-not-call entries",
        description=f"1 to {MAX_ENTRIES:,} items; each stands alone, as strict as a single entry.",
        is_extension=True,
        body={"$ref": "#/components/schemas/DoNotCallBatch"},
        request_example={"entries": [{"number": "+48 22 555 0117"}, {"prefix": "+48 70", "reason": "Premium."}]},
        status=207,
        answer=mapping(
            "The result of each item, keyed by its number or prefix as it was sent. Items of one spelling, as for two"
            " campaigns, have one result.",
            shape(
                "AddedDoNotCall",
                "The result of the items of one spelling.",
                optional=("id", "ids", "message"),
                http_status=integer("201: all are added; 400: at least one is refused.", 201, enum=[201, 400]),
                id=integer("Id of the entry; of the first one, if there are several.", 501),
                ids=array(integer("Id of an entry.", 501), "Ids of all entries, if there are several."),
                message=text("The reasons of refusals.", "A phone number has no letters."),
            ),
            {
                "+48 22 555 0117": {"http_status": 201, "id": 501},
                "+48 70": {"http_status": 201, "id": 502},
            },
        ),
        errors={
            ErrorCode.EMPTY: "entries",
            ErrorCode.NOT_LIST: "entries",
            ErrorCode.TOO_MANY: "entries",
            ErrorCode.NOT_OBJECT: "entries.3",
        },
    ),
)
