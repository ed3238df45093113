"""The record of the call or of the offer: its fields, the script of the campaign, and the result."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from callcentre.web.desk.situation import Situation
from campaigns.models import Campaign, RecordStatus, SystemStatus, record_rows
from campaigns.models.status import SYSTEM_NAMES, as_read
from campaigns.scripts import filled

# The order of results.
_OWN, _SERVICE, _SYSTEM = range(3)


def offer_facts(desk: Situation) -> Any:
    return (desk.offer.pk, desk.offer.expires_at) if desk.offer else None


def offer_context(desk: Situation, facts: Any) -> dict[str, Any]:
    return {"offer": desk.offer, "customer": desk.customer if desk.offer else None}


def record_facts(desk: Situation) -> Any:
    if offer := desk.offer:
        return "offer", offer.pk
    attempt = desk.attempt
    return ("call", attempt.pk, attempt.result) if attempt else None


def record_context(desk: Situation, facts: Any) -> dict[str, Any]:
    """Return the record and the script; of a call also the statuses to choose from and the given result."""
    offer, attempt = desk.offer, desk.attempt
    if offer:
        code, record_id = offer.campaign.code, offer.record_id
    elif attempt:
        code, record_id = attempt.campaign_code, attempt.record_id
    else:
        return {"record": None}
    row = record_rows.by_id(code, record_id)
    if row is None:
        return {"record": None}
    fields = fields_of(row)
    campaign = Campaign.objects.get(code=code)
    values: dict[str, str] = {one["name"]: one["value"] for one in fields}
    context = {
        "record": row,
        "status": as_read(row["status"], row["system_status"]),
        "fields": fields,
        "campaign": campaign,
        "script": filled(campaign.script, {"phone_number": row["phone_number"], **values}),
        "key": f"offer-{offer.pk}" if offer else f"call-{attempt.connection_id}" if attempt else "",
    }
    if offer or attempt is None:
        return context
    result: Mapping[str, Any] = attempt.result or {}
    given = result.get("values", {})
    return context | {
        "connection_uid": attempt.connection_uid,
        **_statuses(campaign, given.get("status_id")),
        "chosen": given.get("status_id"),
        "note": given.get("last_note", "") or "",
        "next_call": _as_input(given.get("next_call_at")),
        "is_number_wrong": bool(result.get("is_number_wrong")),
    }


def _as_input(instant: str | None) -> str:
    """Return an instant of a stored result as an input of the page wants it; "" for none."""
    moment = parse_datetime(instant) if instant else None
    return timezone.localtime(moment).strftime("%Y-%m-%dT%H:%M") if moment else ""


def fields_of(row: Mapping[str, Any]) -> list[dict[str, str]]:
    values = orjson.loads(row["fields"])
    return [
        {"key": str(pk), "name": name, "value": values.get(str(pk), "")}
        for name, pk in orjson.loads(row["campaign_fields"] or "[]")
    ]


def _statuses(campaign: Campaign, chosen: int | None) -> dict[str, Any]:
    """Return the statuses that a result can have: first the campaign's own, then the service's, folded the system's."""
    statuses = RecordStatus.objects.filter(campaign=campaign).exclude(system_status=SystemStatus.IN_PROGRESS)
    ordered = sorted(statuses.select_related("dictionary_status"), key=_place)
    results = [
        {
            "pk": status.pk,
            "name": str(status),
            "needs_time": status.system_status in SystemStatus.needing_next_call(),
            "is_success": status.is_success,
            "is_system": _place(status) == _SYSTEM,
            "meaning": SystemStatus(status.system_status).meaning,
            "key": str(number) if number < 10 else "",
        }
        for number, status in enumerate(ordered, 1)
    ]
    folded = [result for result in results if result["is_system"]]
    return {
        "results": [result for result in results if not result["is_system"]],
        "system_results": folded,
        "is_unfolded": len(folded) == len(results) or any(result["pk"] == chosen for result in folded),
    }


def _place(status: RecordStatus) -> int:
    entry = status.dictionary_status
    if entry and entry.key:
        return _SERVICE
    return _SYSTEM if entry and status.name in SYSTEM_NAMES else _OWN
