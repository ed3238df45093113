from collections.abc import Mapping, Sequence
from typing import Any

from callcentre.api.fields import (
    BooleanField,
    ChoiceField,
    DateField,
    IdField,
    InstantField,
    IntegerField,
    ListField,
    NumberField,
    TextField,
    TextMapField,
)
from callcentre.api.serializers import Input
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.parsing import INT32
from callcentre.core.times import day, minute
from campaigns.models import Campaign


class Parameters(Input):
    caller_id = TextField(required=False, max_length=40)
    preview_timeout = IntegerField(required=False, min_value=1, max_value=3600)
    predictive_max_calls = NumberField(required=False, min_value=0, max_value=100)
    predictive_min_calls = NumberField(required=False, min_value=0, max_value=100)

    @classmethod
    def read(cls, data: Any, *, is_partial: bool = False) -> tuple[dict[str, Any], list[Fault]]:
        values, faults = super().read(data, is_partial=is_partial)
        faults += [Fault(ErrorCode.PARAMETER_UNKNOWN, name, {"name": name}) for name in data if name not in cls.plan()]
        return values, faults


class WithParameters(Input):
    """An input whose `parameters` are columns of the model."""

    @classmethod
    def read(cls, data: Any, *, is_partial: bool = False) -> tuple[dict[str, Any], list[Fault]]:
        values, faults = super().read(data, is_partial=is_partial)
        parameters = values.pop("parameters", None)
        if isinstance(parameters, dict):
            given, wrong = Parameters.read(parameters, is_partial=True)  # "" is a value: of a clone too it wins
            values |= given
            faults += [fault.under("parameters") for fault in wrong]
        return values, faults


class ParametersField(TextMapField):
    def to_internal_value(self, data: Any) -> Any:
        super().to_internal_value({} if isinstance(data, dict) else data)
        return data if isinstance(data, dict) else {}


class CampaignEditInput(WithParameters):
    name = TextField(max_length=200)
    dialer = ChoiceField(choices=Campaign.Dialer.values)
    crm = BooleanField(source="is_crm")
    active = BooleanField(source="is_active", required=False)
    start_date = DateField(required=False)
    end_date = DateField(required=False)
    order = IntegerField(required=False, min_value=1, max_value=99_999)
    parity = IntegerField(required=False, min_value=1, max_value=100)
    parameters = ParametersField(required=False)
    group_id = IdField(required=False)


class CampaignInput(CampaignEditInput):
    id = TextField(source="code", required=False, max_length=5, min_length=5, help_text="5 letters or digits")


class CloneInput(WithParameters):
    new_id = TextField(source="code", required=False, max_length=5, min_length=5)
    name = TextField(max_length=200)
    start_date = DateField(required=False)
    end_date = DateField(required=False)
    parameters = ParametersField(required=False)


class LoginsInput(Input):
    logins = ListField(child=TextField(max_length=100), max_length=10_000)


class CampaignGroupInput(Input):
    name = TextField(max_length=100)


def campaign_data(campaign: Campaign) -> dict[str, Any]:
    """A campaign with the names of its fields; wants `fields` prefetched."""
    return {
        "id": campaign.code,
        "outbound_id": campaign.code,
        "name": campaign.name,
        "dialer": campaign.dialer,
        "crm": campaign.is_crm,
        "active": campaign.is_active,
        "start_date": day(campaign.start_date),
        "end_date": day(campaign.end_date),
        "order": campaign.order,
        "parity": campaign.parity,
        "parameters": campaign.parameters,
        "group_id": campaign.group_id,
        "fields": [field.name for field in campaign.fields.all()],
    }


# Records


class RecordEditInput(Input):
    """What an item of the batch may change."""

    status_id = IdField(required=False)
    dictionary_status_id = IdField(required=False)
    agent_login = TextField(required=False, max_length=100)
    next_call_date = InstantField(source="next_call_at", required=False)
    record_fields = TextMapField(source="fields", required=False)


class RecordPutInput(RecordEditInput):
    """What our PUT of one record may change besides."""

    identifier = TextField(required=False, max_length=100)
    order = IntegerField(required=False, max_value=INT32)
    additional_numbers = ListField(child=TextField(max_length=100), required=False, max_length=20)
    note = TextField(source="last_note", required=False, max_length=10_000)


class RecordInput(RecordEditInput):
    phone_number = TextField(max_length=100)
    identifier = TextField(required=False, max_length=100)
    order = IntegerField(required=False, max_value=INT32)
    additional_numbers = ListField(child=TextField(max_length=100), required=False, max_length=20)


# The columns that record_data() wants, for values_list().
RECORD_COLUMNS: tuple[str, ...] = (
    "id",
    "phone_number",
    "system_status",
    "status__name",
    "status_id",
    "called_at",
    "created_at",
    "next_call_at",
    "agent__name",
    "agent__surname",
    "agent__login",
    "last_note",
    "identifier",
    "order",
    "fields",
)


def record_data(row: Sequence[Any]) -> dict[str, Any]:
    """A record as the interface shows it, from RECORD_COLUMNS."""
    return {
        "record_id": row[0],
        "phone_number": row[1],
        "system_status": row[2],
        "status": row[3] or "",
        "status_id": row[4],
        "call_date": minute(row[5]),
        "create_date": minute(row[6]),
        "next_call_date": minute(row[7]),
        "agent_name": f"{row[8]} {row[9]}".strip() if row[10] else "",
        "agent_login": row[10] or "",
        "last_note": row[11],
        "identifier": row[12],
        "order": "" if row[13] is None else row[13],
    }


def record_fields_data(names: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """All fields of the campaign, "" where the record has no value. `names`: name -> key, in order."""
    return {name: values.get(key, "") for name, key in names.items()}
