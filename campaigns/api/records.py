from collections.abc import Mapping
from typing import Any

import orjson
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.field_tables import properties, property_of
from callcentre.api.fields import BooleanField, TextField
from callcentre.api.filters import BooleanFilter, FilterSet, IdFilter, InstantFilter, ListFilter, TextFilter
from callcentre.api.openapi import (
    Schema,
    array,
    batch_shape,
    boolean,
    flag,
    integer,
    mapping,
    minute,
    operation,
    page,
    shape,
    text,
)
from callcentre.api.pagination import LimitOffset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, NotFound
from callcentre.core.parsing import Reject, parse_boolean, parse_text
from callcentre.core.phone import PhoneError, normalise
from campaigns.api.batches import MOST_ITEMS, items_of, messages_of
from campaigns.api.serializers import (
    RecordEditInput,
    RecordInput,
    RecordPutInput,
    full_record_data,
    record_data,
    record_fields_data,
)
from campaigns.dialling.why import TEXTS, explain_number
from campaigns.models import AdditionalNumber, Record, SystemStatus, record_rows
from campaigns.models.record_fields import BY_NAME, RECORD_FIELDS
from campaigns.models.record_rows import customers_of_records
from campaigns.models.rules import facts_or_404
from campaigns.verbs.new_records import NewRecord, add_records
from campaigns.verbs.record_edits import Edit, edit_records


class RecordFilterSet(FilterSet):
    system_status = ListFilter(choices=SystemStatus.values, help_text="One or more system statuses.")
    status_id = IdFilter(help_text="A status of the campaign.")
    agent_login = TextFilter(field_name="agent__login", help_text="Agent the record is assigned to.")
    user_login = TextFilter(field_name="agent__login", help_text="The same as `agent_login`.")
    identifier = TextFilter(help_text="Unique identifier of the record.")
    next_call_date_from = InstantFilter(field_name="next_call_at", lookup_expr="gte", help_text="First next call.")
    next_call_date_to = InstantFilter(
        field_name="next_call_at", lookup_expr="lte", is_upper_bound=True, help_text="Last next call."
    )
    has_agent = BooleanFilter(field_name="agent", lookup_expr="isnull", exclude=True, help_text="Assigned or not.")


class RecordBatchItem(RecordEditInput):
    """An item of the batch edit in the documents. The view reads these two fields itself."""

    phone_number = TextField("Number of the record, in any spelling.", max_length=100, example="+48 22 555 0117")
    search_in_additional_numbers = BooleanField("As in the query, for this item.", required=False)


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
SEARCH = flag("search_in_additional_numbers", "Whether the number is looked for among additional numbers too.")
INCLUDE = flag("include_record_fields", "Adds `record_fields` to the answer.")
REASON = shape(
    "Reason",
    "A reason why the record is not called now.",
    code=text("The reason, for programs.", "outside_hours", enum=list(TEXTS)),
    text=text("The reason, for people.", str(TEXTS["outside_hours"])),
    until=minute("It holds until then, if that is known.", "2026-03-02 09:00"),
)
EXPLANATION = shape(
    "RecordExplanation",
    "Whether the dialler may call the record now, and if not, why.",
    callable=boolean("Whether there is no reason.", example=False, of="is_callable"),
    reasons=array(REASON, "The reasons."),
    next_call_at=minute("The first time at which no reason is left, if it is known.", "2026-03-02 09:00"),
)


def by_number(entry: Schema, example: dict[str, Any]) -> Schema:
    return mapping("The result of each item. One entry for each number, keyed as it was sent.", entry, example)


class RecordViewSet(ApiViewSet):
    """Records of a campaign: the numbers to be called."""

    area = "campaigns"

    @operation(
        "list_records",
        "List the records of a campaign",
        "Ordered by id.",
        answer=page(LISTED_RECORD),
        filter_set=RecordFilterSet,
        is_paged=True,
    )
    def list(self, request: Request, code: str) -> Response:
        facts = facts_or_404(code)
        paginator = LimitOffset()
        everything = Record.objects.filter(campaign_id=facts.id).order_by("id")
        records = RecordFilterSet.filtered(request, everything, paginator.faults(request))
        ids = paginator.keys_of_page(records, request)
        rows = [] if ids is None else record_rows.of_page(ids)
        further: dict[int, list[str]] = {row["record_id"]: [] for row in rows}
        for record_id, number in AdditionalNumber.objects.filter(record_id__in=list(further)).values_list(
            "record_id", "phone_number"
        ):
            further[record_id].append(number)
        customers = customers_of_records(list(further)) if facts.is_crm else {}
        for record_id, customer in customers.items():
            further[record_id] = list(dict.fromkeys([*further[record_id], *customer.other_numbers]))
        result = [
            {
                **record_data(row),
                "customer_id": customers[row["record_id"]].id if row["record_id"] in customers else None,
                "additional_numbers": further[row["record_id"]],
                "record_fields": record_fields_data(facts.fields, orjson.loads(row["fields"])),
            }
            for row in rows
        ]
        return paginator.get_paginated_response(result)

    @operation(
        "create_record",
        "Add a record to a campaign",
        "A number that the campaign already has, in any spelling, is refused. Without a status the record"
        " is to be called (`TO_CALL`). `record_fields` can be set in CSV campaigns only.",
        is_extension=False,
        body=RecordInput,
        answer=shape("CreatedRecord", "The record that was added.", record_id=text("Its id.", "1042")),
    )
    def create(self, request: Request, code: str) -> Response:
        facts = facts_or_404(code)
        record = NewRecord(*self.read(RecordInput))
        add_records(facts, self.actor, [record])
        if record.id is None:
            raise Invalid(record.faults)
        return Response({"record_id": str(record.id)}, status=201)

    @operation(
        "read_record",
        "Read a record by its number",
        "Of several records with this number the oldest one.",
        is_extension=False,
        query=[INCLUDE, SEARCH],
        answer=RECORD,
    )
    def retrieve(self, request: Request, code: str, phone_number: str) -> Response:
        faults: list[Fault] = []
        include_fields, is_searching = _flags(request, faults, "include_record_fields", "search_in_additional_numbers")
        try:
            number = normalise(phone_number)
        except PhoneError as error:
            raise _not_found(code) from error
        row = record_rows.by_number(code, number, include_fields=include_fields, is_searching_additional=is_searching)
        return _record_response(code, row, faults)

    @operation(
        "read_record_by_identifier",
        "Read a record by its identifier",
        is_extension=False,
        query=[INCLUDE],
        answer=RECORD,
    )
    def retrieve_by_identifier(self, request: Request, code: str, identifier: str) -> Response:
        faults: list[Fault] = []
        (include_fields,) = _flags(request, faults, "include_record_fields")
        row = record_rows.by_identifier(code, identifier, include_fields=include_fields)
        return _record_response(code, row, faults)

    @operation(
        "explain_record",
        "Say why a record is not called now",
        "All reasons that hold now. A record with several numbers has reasons of its numbers only if none"
        " of them may be called. Other codes may be added.",
        answer=EXPLANATION,
    )
    def explain(self, request: Request, code: str, phone_number: str) -> Response:
        try:
            number = normalise(phone_number)
        except PhoneError as error:
            raise _not_found(code) from error
        found = explain_number(code, number, timezone.now())
        if found is None:
            raise _not_found(code)
        return Response(EXPLANATION.data(found, reasons=[REASON.data(reason) for reason in found.reasons]))

    @operation(
        "edit_record",
        "Edit a record",
        "Missing fields, and fields that are null, stay as they are. As strict as an item of the batch edit.",
        body=RecordPutInput,
        is_partial=True,
        query=[SEARCH],
        errors=[ErrorCode.NUMBER_AMBIGUOUS],
        conflicts=[ErrorCode.RECORD_BUSY],
    )
    def update(self, request: Request, code: str, phone_number: str) -> None:
        facts = facts_or_404(code)
        faults: list[Fault] = []
        (is_searching,) = _flags(request, faults, "search_in_additional_numbers")
        try:
            values, wrong = self.read(RecordPutInput, is_partial=True)
        except Invalid as error:  # an unknown record is 404, so its faults come first
            values, wrong = {}, list(error.faults)
        edit = Edit(phone_number, values, is_searching, [*faults, *wrong])
        edit_records(facts, self.actor, [edit])
        of_number = {fault.code for fault in edit.faults if fault.field == "phone_number"}
        if ErrorCode.RECORD_BUSY in of_number:
            raise Conflict(ErrorCode.RECORD_BUSY)
        if of_number - {ErrorCode.NUMBER_AMBIGUOUS}:
            raise NotFound(ErrorCode.RECORD_NOT_FOUND)
        if edit.faults:
            raise Invalid(edit.faults)


class RecordBatchViewSet(ApiViewSet):
    """Many records at once: items are independent, and the answer has one entry for each number."""

    area = "campaigns"

    @operation(
        "create_records",
        "Add many records",
        f"1 to {MOST_ITEMS:,} items; each stands alone, as strict as a single record.",
        body=batch_shape(
            "RecordBatch",
            "records",
            RecordInput,
            MOST_ITEMS,
            [{"phone_number": "+48 22 555 0318"}, {"phone_number": "22 555 01 18"}],
        ),
        answer=by_number(
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
        errors=[ErrorCode.NOT_TEXT, ErrorCode.NUL],
    )
    def create(self, request: Request, code: str) -> Response:
        facts = facts_or_404(code)
        items = items_of(request.data, "records", [], _read_number)
        records = [NewRecord(*RecordInput.read(item)) for item in items]
        add_records(facts, self.actor, records)
        answer: dict[str, dict[str, Any]] = {}
        for item, record in zip(items, records, strict=True):
            if record.id is not None:
                entry = {"status": "ADDED", "record_id": str(record.id)}
            elif {fault.code for fault in record.faults} == {ErrorCode.NUMBER_DUPLICATED}:
                entry = {"status": "ALREADY_EXISTS", "record_id": str(record.existing_id)}
            else:
                entry = {"status": "FAILED", "message": " ".join(messages_of(record.faults, RecordInput))}
            # Of several items with the same spelling, the answer is of the added one, else of the first.
            if record.id is not None or item["phone_number"] not in answer:
                answer[item["phone_number"]] = entry
        return Response(answer, status=201)

    @operation(
        "edit_records",
        "Edit many records",
        f"1 to {MOST_ITEMS:,} items; each stands alone: it is applied whole (`204`) or not at all (`400`, with a"
        " message), and never stops another. Of two items that mean the same record the first is applied. Only a"
        " body that is no array of objects with a `phone_number` is refused as a whole.",
        is_extension=False,
        body=batch_shape(
            "RecordBatchEdit",
            "records",
            RecordBatchItem,
            MOST_ITEMS,
            [
                {"phone_number": "+48 22 555 0117", "agent_login": "agent1", "next_call_date": "2026-03-04 10:30"},
                {"phone_number": "22 555 0118", "agent_login": "agent99"},
            ],
        ),
        query=[SEARCH],
        status=207,
        answer=by_number(
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
        errors=[ErrorCode.NOT_TEXT, ErrorCode.NUL],
    )
    def update(self, request: Request, code: str) -> Response:
        facts = facts_or_404(code)
        faults: list[Fault] = []
        (is_searching,) = _flags(request, faults, "search_in_additional_numbers")
        items = items_of(request.data, "records", faults, _read_number)
        edits = []
        for item in items:
            values, wrong = RecordEditInput.read(item, is_partial=True)
            edits.append(Edit(item["phone_number"], values, _searches(item, is_searching, wrong), wrong))
        edit_records(facts, self.actor, edits)
        answer: dict[str, dict[str, Any]] = {}
        for edit in edits:
            if edit.phone_number not in answer:
                entry: dict[str, Any] = {"http_status": 204}
                if edit.faults:
                    entry = {"http_status": 400, "message": " ".join(messages_of(edit.faults, RecordEditInput))}
            elif answer[edit.phone_number]["http_status"] == 204:
                entry = {"http_status": 400, "message": Fault(ErrorCode.FIRST_APPLIED).message}
            else:
                continue
            answer[edit.phone_number] = entry
        return Response(answer, status=207)


def _flags(request: Request, faults: list[Fault], *names: str) -> list[bool]:
    """Return boolean parameters of the query, false if absent or wrong; append the faults of wrong ones."""
    values = []
    for name in names:
        try:
            values.append(parse_boolean(request.query_params.get(name) or False))
        except Reject as reject:
            faults.append(Fault(reject.fault.code, name))
            values.append(False)
    return values


def _not_found(code: str) -> NotFound:
    """Return the error for an unknown record. Raise it for its campaign if that is unknown."""
    facts_or_404(code)
    return NotFound(ErrorCode.RECORD_NOT_FOUND)


def _record_response(code: str, row: dict[str, Any] | None, faults: list[Fault]) -> Response:
    if row is None:
        raise _not_found(code)
    if faults:
        raise Invalid(faults)
    return Response(record_data(row) if row["campaign_fields"] is None else full_record_data(row))


def _read_number(item: dict[str, Any]) -> None:
    """Make the item's phone number a text. Raises Reject."""
    raw = item.get("phone_number")
    try:
        if raw is None or raw == "":
            raise Reject(ErrorCode.EMPTY)
        item["phone_number"] = parse_text(raw, trim=False)
    except Reject as reject:
        raise Reject(reject.fault.code, "phone_number") from reject


def _searches(item: Mapping[str, Any], default: bool, faults: list[Fault]) -> bool:
    value = item.get("search_in_additional_numbers")
    if value is None:
        return default
    try:
        return parse_boolean(value)
    except Reject as reject:
        faults.append(Fault(reject.fault.code, "search_in_additional_numbers"))
        return default
