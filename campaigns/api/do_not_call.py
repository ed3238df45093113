"""The do-not-call list."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import Input, InstantField, TextField
from callcentre.api.filters import FilterSet, TextFilter
from callcentre.api.openapi import (
    array,
    batch_shape,
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
from callcentre.core.errors import ErrorCode, Invalid
from callcentre.core.lookups import get_or_404
from callcentre.core.parsing import Reject, parse_text
from callcentre.core.phone import PhoneError, normalise
from campaigns.api.batches import MOST_ITEMS, items_of, messages_of
from campaigns.models import DoNotCall
from campaigns.verbs.do_not_call import NewEntry, add_entries, remove_entry


class DoNotCallInput(Input):
    number = TextField(
        "The number, in any spelling.",
        required=False,
        max_length=100,
        example="+48 22 555 0117",
        errors=[ErrorCode.EMPTY, ErrorCode.PHONE_LETTERS, ErrorCode.PHONE_INVALID, ErrorCode.PHONE_TOO_LONG],
    )
    prefix = TextField(
        "In place of a number: the beginning of numbers, from the country code on, as `+4822`.",
        required=False,
        max_length=100,
        errors=[ErrorCode.NUMBER_OR_PREFIX, ErrorCode.PREFIX_INVALID],
    )
    outbound_id = TextField(
        "The campaign that does not call it; all campaigns if left out.",
        source="campaign_code",
        required=False,
        max_length=5,
        errors=[ErrorCode.CAMPAIGN_NOT_FOUND],
    )
    reason = TextField("Why it is not called.", required=False, max_length=300, example="Asked by phone.")
    since = InstantField("The entry holds from then on, `YYYY-MM-DD hh:mm`; now if left out.", required=False)
    until = InstantField(
        "The entry holds until then, `YYYY-MM-DD hh:mm`; without end if left out.",
        required=False,
        errors=[ErrorCode.UNTIL_BEFORE_SINCE],
    )


class NumberFilter(TextFilter):
    """A number in any spelling: its own entries, and those of its beginnings."""

    errors = (ErrorCode.PHONE_LETTERS, ErrorCode.PHONE_INVALID)

    def parse(self, text: str) -> str:
        try:
            return normalise(parse_text(text))
        except PhoneError as error:
            raise Reject(error.fault("").code) from error

    def filter(self, qs: Any, value: str) -> Any:
        return qs.covering(value)


class DoNotCallFilterSet(FilterSet):
    number = NumberFilter(help_text="A number in any spelling: the entries that forbid to call it.")
    outbound_id = TextFilter(field_name="campaign__code", help_text="Id of a campaign: its own entries only.")


_COLUMNS = ("id", "phone_number", "is_prefix", "campaign__code", "reason", "since", "until")
ENTRY = shape(
    "DoNotCallEntry",
    "A number, or the beginning of numbers, that is not called.",
    id=integer("The entry's id.", 501),
    number=text(
        "The number as it was sent; empty if the entry is of a beginning.",
        "+48 22 555 0117",
        of=lambda row: "" if row["is_prefix"] else row["phone_number"],
    ),
    prefix=text(
        "The beginning of numbers; empty if the entry is of one number.",
        of=lambda row: row["phone_number"] if row["is_prefix"] else "",
    ),
    outbound_id=text(
        "The campaign that does not call it; null for all campaigns.", "DEMO1", nullable=True, of="campaign__code"
    ),
    reason=text("Why it is not called.", "Asked by phone."),
    since=minute("The entry holds from then on.", "2026-03-02 08:15"),
    until=minute("The entry holds until then."),
)
BATCH = batch_shape(
    "DoNotCallBatch",
    "entries",
    DoNotCallInput,
    MOST_ITEMS,
    [{"number": "+48 22 555 0117"}, {"prefix": "+48 70", "reason": "Premium."}],
)


class DoNotCallViewSet(ApiViewSet):
    """Numbers, and beginnings of numbers, that are not called."""

    area = "campaigns"

    @operation(
        "list_do_not_call",
        "List the do-not-call entries",
        "Ordered by id.",
        answer=page(ENTRY),
        filter_set=DoNotCallFilterSet,
        is_paged=True,
    )
    def list(self, request: Request) -> Response:
        paginator = LimitOffset()
        entries = DoNotCallFilterSet.filtered(request, DoNotCall.objects.order_by("id"), paginator.faults(request))
        page = paginator.paginate_queryset(entries, request, columns=_COLUMNS)
        return paginator.get_paginated_response([ENTRY.data(row) for row in page])

    @operation(
        "create_do_not_call",
        "Add a do-not-call entry",
        "The dialler passes over the number from now on. A number has one entry for a campaign, and one for"
        " all: a further one extends it to the later end.",
        body=DoNotCallInput,
        answer=shape("CreatedDoNotCall", "The entry.", id=integer("Its id.", 501)),
    )
    def create(self, request: Request) -> Response:
        entry = NewEntry(*self.read(DoNotCallInput))
        add_entries(self.actor, [entry])
        if entry.faults:
            raise Invalid(entry.faults)
        return Response({"id": entry.id}, status=201)

    @operation(
        "delete_do_not_call", "Delete a do-not-call entry", "Records with the number may be called again at once."
    )
    def destroy(self, request: Request, pk: str) -> None:
        remove_entry(get_or_404(DoNotCall.objects.all(), pk, ErrorCode.DO_NOT_CALL_NOT_FOUND), self.actor)


class DoNotCallBatchViewSet(ApiViewSet):
    """Many entries at once: each stands alone, and the answer has one result for each spelling."""

    area = "campaigns"

    @operation(
        "create_many_do_not_call",
        "Add many do-not-call entries",
        f"1 to {MOST_ITEMS:,} items; each stands alone, as strict as a single entry.",
        body=BATCH,
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
    )
    def create(self, request: Request) -> Response:
        items = items_of(request.data, "entries", [])
        entries = [NewEntry(*DoNotCallInput.read(item)) for item in items]
        add_entries(self.actor, entries)
        # Items may have the same spelling, for example for two campaigns.
        by_spelling: dict[str, list[NewEntry]] = defaultdict(list)
        for item, entry in zip(items, entries, strict=True):
            by_spelling[str(item.get("number") or item.get("prefix") or "")].append(entry)
        answer = {spelling: _result(several) for spelling, several in by_spelling.items()}
        return Response(answer, status=207)


def _result(entries: Sequence[NewEntry]) -> dict[str, Any]:
    """Return the result of the items of one spelling: the ids of added entries, and the reasons of refusals."""
    ids = list(dict.fromkeys(entry.id for entry in entries if entry.id))
    reasons = dict.fromkeys(messages_of((fault for entry in entries for fault in entry.faults), DoNotCallInput))
    result: dict[str, Any] = {"http_status": 400 if reasons else 201}
    if ids:
        result["id"] = ids[0]
    if len(ids) > 1:
        result["ids"] = ids
    if reasons:
        result["message"] = " ".join(reasons)
    return result
