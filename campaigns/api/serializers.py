from collections.abc import Mapping
from typing import Any

import orjson

from callcentre.api.field_tables import TableInput, row_writer
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
from callcentre.core.times import day
from campaigns.models import Campaign
from campaigns.models.record_fields import ADD, BATCH_EDIT, EDIT, RECORD_FIELDS

MAX_FIELDS = 200


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
            given, wrong = Parameters.read(parameters, is_partial=True)  # "" is a value, also of a clone
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
    # DRF takes the declared fields out of the class, so that this one hides no attribute.
    fields = ListField(  # type: ignore[assignment]
        source="field_names", child=TextField(max_length=100), required=False, max_length=MAX_FIELDS
    )


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
    """Return a campaign with the names of its fields; `fields` must be prefetched."""
    return {
        "id": campaign.code,
        "outbound_id": campaign.code,
        "name": campaign.name,
        "dialer": campaign.dialer,
        "crm": campaign.is_crm,
        "active": campaign.is_active,
        "dialing": "running" if campaign.is_dialling else "paused",
        "start_date": day(campaign.start_date),
        "end_date": day(campaign.end_date),
        "order": campaign.order,
        "parity": campaign.parity,
        "parameters": campaign.parameters,
        "group_id": campaign.group_id,
        "fields": [field.name for field in campaign.fields.all()],
    }


# Records


class RecordEditInput(TableInput):
    """The fields that an item of the batch may change."""

    table = RECORD_FIELDS
    accepts = BATCH_EDIT


class RecordPutInput(TableInput):
    """The fields that our PUT of one record may change."""

    table = RECORD_FIELDS
    accepts = EDIT


class RecordInput(TableInput):
    """A new record."""

    table = RECORD_FIELDS
    accepts = ADD


record_data = row_writer(RECORD_FIELDS)


def record_fields_data(names: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of all fields of the campaign, "" for none. `names`: name -> key, in order."""
    return {name: values.get(key, "") for name, key in names.items()}


def full_record_data(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record that was read with the fields of its campaign."""
    names = {name: str(field_id) for name, field_id in orjson.loads(row["campaign_fields"])}
    return {**record_data(row), "record_fields": record_fields_data(names, orjson.loads(row["fields"]))}


class ResultInput(Input):
    """The result of a campaign's call: an edit of its record."""

    status_id = IdField(required=False)
    dictionary_status_id = IdField(required=False)
    next_call_date = InstantField(source="next_call_at", required=False)
    assign_to_login = TextField(source="agent_login", required=False, max_length=100)
    note = TextField(source="last_note", required=False, max_length=10_000)
    record_fields = TextMapField(source="fields", required=False)
    is_wrong_number = BooleanField(source="is_number_wrong", required=False)
