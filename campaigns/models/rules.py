"""The rules of records: one pure function, the same for one record and for a million rows of a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from callcentre.core.errors import ErrorCode, Fault, check_lines
from callcentre.core.lookups import found_or_404
from callcentre.core.phone import calling_code
from callcentre.core.phone_zones import zone_named, zones_of_number
from callcentre.core.statements import row_of
from campaigns.models.record_fields import PLAIN
from campaigns.models.status import SystemStatus


@dataclass(frozen=True, slots=True)
class StatusFact:
    id: int | None
    name: str
    system_status: str
    dictionary_id: int | None


_NEEDING_AGENT = frozenset(SystemStatus.needing_agent())
_NEEDING_NEXT_CALL = frozenset(SystemStatus.needing_next_call())
NO_STATUS = StatusFact(None, "", SystemStatus.TO_CALL.value, None)


@dataclass(frozen=True, slots=True)
class CampaignFacts:
    """The facts of a campaign that the rules of records use, read in one query."""

    id: int
    code: str
    is_crm: bool
    # In order.
    statuses: Mapping[int, StatusFact]
    # Name -> key in Record.fields, in order.
    fields: Mapping[str, str]
    # Key of the field that has the zone of the callee; "" for none.
    zone_key: str = ""

    @classmethod
    def read(cls, code: str) -> "CampaignFacts | None":
        """Return the facts of the campaign with this code, or None."""
        row = row_of(_FACTS, [code])
        if row is None:
            return None
        campaign_id, is_crm, zone_field, statuses, fields = row
        return cls(
            campaign_id,
            code,
            is_crm,
            {status_id: StatusFact(status_id, *rest) for status_id, *rest in orjson.loads(statuses)},
            {name: str(field_id) for name, field_id in orjson.loads(fields)},
            str(zone_field or ""),
        )

    def by_dictionary(self, dictionary_id: int) -> StatusFact | None:
        return next((fact for fact in self.statuses.values() if fact.dictionary_id == dictionary_id), None)

    @property
    def first_status(self) -> StatusFact:
        """The status of a new record without a given one: the campaign's first for TO_CALL."""
        to_call = SystemStatus.TO_CALL
        return next((fact for fact in self.statuses.values() if fact.system_status == to_call), NO_STATUS)


def facts_or_404(code: str) -> CampaignFacts:
    return found_or_404(CampaignFacts.read(code), ErrorCode.CAMPAIGN_NOT_FOUND)


_FACTS = """
SELECT c.id, c.is_crm, c.zone_field_id,
  COALESCE((SELECT jsonb_agg(jsonb_build_array(s.id, s.name, s.system_status, s.dictionary_status_id)
            ORDER BY s."order", s.id) FROM campaigns_recordstatus s WHERE s.campaign_id = c.id), '[]'),
  COALESCE((SELECT jsonb_agg(jsonb_build_array(f.name, f.id) ORDER BY f."order", f.id)
            FROM campaigns_campaignfield f WHERE f.campaign_id = c.id), '[]')
FROM campaigns_campaign c WHERE c.code = %s
"""


class Draft(NamedTuple):
    """The columns of a record that verbs write. A tuple is fast: an import makes one for each row."""

    status: StatusFact = NO_STATUS
    agent_id: int | None = None
    agent_login: str = ""
    fields: Mapping[str, str] = {}
    identifier: str = ""
    next_call_at: datetime | None = None
    order: int | None = None
    last_note: str = ""
    # They follow from the number and the fields: see `zone_of`.
    zone: str = ""
    calling_code: str = ""


def zone_of(zone_key: str, fields: Mapping[str, str], number: str) -> str:
    """Return the zones of a record: of the field with this key if it has a value, else all zones of the number.

    A text that is no zone is UNREADABLE, and the record is not callable: another zone would only be a guess.
    The zone of a customer, if there is one, goes before those of the number.
    """
    if zone_key and (text := fields.get(zone_key)):
        return zone_named(text)
    return zones_of_number(number)


def kept_zone(campaign: CampaignFacts, zone: str) -> str:
    """Return the zone that an edit leaves alone: in a campaign fed with customers it may be that of the customer."""
    return zone if campaign.is_crm else ""


def check(
    values: Mapping[str, Any], campaign: CampaignFacts, agents: Mapping[str, int], before: Draft, number: str
) -> tuple[Draft, list[Fault]]:
    """Apply the values to a draft of a record with this number: return the new draft and the faults.

    `values` have the model's names and types; a missing name changes nothing. `agents` has the ids of the logins that
    exist.
    """
    faults: list[Fault] = []
    status = _status(values, campaign, before.status, faults)
    agent_id, agent_login, is_agent_wrong = before.agent_id, before.agent_login, False
    if "agent_login" in values:
        login = values["agent_login"] or ""
        if is_agent_wrong := bool(login) and login not in agents:
            faults.append(Fault(ErrorCode.AGENT_NOT_FOUND, "agent_login"))
        else:
            agent_id, agent_login = agents.get(login), login
    if (identifier := values.get("identifier", before.identifier)) != before.identifier:
        faults += check_lines(identifier=identifier)
    fields = _fields(values["fields"], campaign, before.fields, faults) if values.get("fields") else before.fields
    plain = {name: values[name] if name in values else getattr(before, name) for name in PLAIN}
    zone = kept_zone(campaign, before.zone) or zone_of(campaign.zone_key, fields, number)
    draft = Draft(status, agent_id, agent_login, fields, zone=zone, calling_code=calling_code(number), **plain)
    if agent_id is None and not is_agent_wrong and status.system_status in _NEEDING_AGENT:
        faults.append(Fault(ErrorCode.AGENT_REQUIRED, "agent_login", {"status": status.system_status}))
    if draft.next_call_at is None and status.system_status in _NEEDING_NEXT_CALL:
        faults.append(Fault(ErrorCode.NEXT_CALL_REQUIRED, "next_call_at", {"status": status.system_status}))
    return draft, faults


def _status(values: Mapping[str, Any], campaign: CampaignFacts, before: StatusFact, faults: list[Fault]) -> StatusFact:
    given, dictionary_id = values.get("status_id"), values.get("dictionary_status_id")
    status = by_dictionary = None
    if given is not None and (status := campaign.statuses.get(given)) is None:
        faults.append(Fault(ErrorCode.STATUS_NOT_FOUND, "status_id"))
    if dictionary_id is not None and (by_dictionary := campaign.by_dictionary(dictionary_id)) is None:
        faults.append(Fault(ErrorCode.DICTIONARY_STATUS_NOT_FOUND, "dictionary_status_id"))
    if status and by_dictionary and status is not by_dictionary:
        faults.append(Fault(ErrorCode.STATUSES_DISAGREE, "dictionary_status_id"))
    return status or by_dictionary or before


def _fields(
    given: Mapping[str, str], campaign: CampaignFacts, before: Mapping[str, str], faults: list[Fault]
) -> Mapping[str, str]:
    if campaign.is_crm:
        faults.append(Fault(ErrorCode.FIELDS_IN_CRM, "fields"))
        return before
    after = dict(before)
    for name, text in given.items():
        key = campaign.fields.get(name)
        if key is None:
            faults.append(Fault(ErrorCode.FIELD_UNKNOWN, f"fields.{name}", {"name": name}))
        elif text:
            after[key] = text
        else:
            after.pop(key, None)
    return after
