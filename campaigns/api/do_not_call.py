"""The do-not-call list."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.exceptions import renamed
from callcentre.api.fields import InstantField, TextField
from callcentre.api.filters import FilterSet, TextFilter
from callcentre.api.pagination import LimitOffset
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.lookups import get_or_404
from callcentre.core.parsing import Reject, parse_text
from callcentre.core.phone import PhoneError, normalise
from callcentre.core.times import minute
from campaigns.models import DoNotCall
from campaigns.verbs.do_not_call import NewEntry, add_entries, remove_entry

MAX_ENTRIES = 10_000


class DoNotCallInput(Input):
    number = TextField(required=False, max_length=100)
    prefix = TextField(required=False, max_length=100)
    outbound_id = TextField(source="campaign_code", required=False, max_length=5)
    reason = TextField(required=False, max_length=300)
    since = InstantField(required=False)
    until = InstantField(required=False)


class NumberFilter(TextFilter):
    """A number in any spelling: its own entries, and those of its beginnings."""

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

    class Meta:
        model = DoNotCall
        fields: tuple[str, ...] = ()


class DoNotCallViewSet(ApiViewSet):
    """Numbers, and beginnings of numbers, that are not called."""

    area = "campaigns"

    def list(self, request: Request) -> Response:
        paginator = LimitOffset()
        entries = DoNotCallFilterSet.filtered(request, DoNotCall.objects.order_by("id"), paginator.faults(request))
        page = paginator.paginate_queryset(entries, request, columns=_COLUMNS)
        return paginator.get_paginated_response([entry_data(row) for row in page])

    def create(self, request: Request) -> Response:
        entry = NewEntry(*self.read(DoNotCallInput))
        add_entries(self.actor, [entry])
        if entry.faults:
            raise Invalid(entry.faults)
        return Response({"id": entry.id}, status=201)

    def destroy(self, request: Request, pk: str) -> Response:
        remove_entry(get_or_404(DoNotCall.objects.all(), pk, ErrorCode.DO_NOT_CALL_NOT_FOUND), self.actor)
        return Response(status=204)


class DoNotCallBatchViewSet(ApiViewSet):
    """Many entries at once: each stands alone, and the answer has one result for each spelling."""

    area = "campaigns"

    def create(self, request: Request) -> Response:
        items = _items(request.data)
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
    names = DoNotCallInput.wire_names()
    ids = list(dict.fromkeys(entry.id for entry in entries if entry.id))
    reasons = dict.fromkeys(renamed(fault, names).message for entry in entries for fault in entry.faults)
    result: dict[str, Any] = {"http_status": 400 if reasons else 201}
    if ids:
        result["id"] = ids[0]
    if len(ids) > 1:
        result["ids"] = ids
    if reasons:
        result["message"] = " ".join(reasons)
    return result


def _items(body: Any) -> list[Mapping[str, Any]]:
    """Return the items of a batch. Raise Invalid if the body is no array of objects."""
    if not isinstance(body, Mapping):
        raise Invalid([Fault(ErrorCode.BODY_NOT_OBJECT)])
    items = body.get("entries")
    if items in (None, "", []):
        raise Invalid([Fault(ErrorCode.EMPTY, "entries")])
    if not isinstance(items, list):
        raise Invalid([Fault(ErrorCode.NOT_LIST, "entries")])
    if len(items) > MAX_ENTRIES:
        raise Invalid([Fault(ErrorCode.TOO_MANY, "entries", {"limit": MAX_ENTRIES})])
    faults = [
        Fault(ErrorCode.NOT_OBJECT, f"entries.{place}")
        for place, item in enumerate(items)
        if not isinstance(item, Mapping)
    ]
    if faults:
        raise Invalid(faults)
    return items


_COLUMNS = ("id", "phone_number", "is_prefix", "campaign__code", "reason", "since", "until")


def entry_data(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry as answers show it: the number or the beginning, the other one is empty."""
    is_prefix = row["is_prefix"]
    return {
        "id": row["id"],
        "number": "" if is_prefix else row["phone_number"],
        "prefix": row["phone_number"] if is_prefix else "",
        "outbound_id": row["campaign__code"],
        "reason": row["reason"],
        "since": minute(row["since"]),
        "until": minute(row["until"]),
    }
