from collections.abc import Mapping
from typing import Any

import orjson

from callcentre.api.field_tables import TableInput, row_writer
from callcentre.api.fields import (
    BooleanField,
    ChoiceField,
    DateField,
    IdField,
    Input,
    InstantField,
    IntegerField,
    ListField,
    NumberField,
    TextField,
    TextMapField,
)
from callcentre.api.openapi import array, boolean, input_shape, integer, shape, text
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.times import day
from campaigns.models import Campaign
from campaigns.models.record_fields import ADD, BATCH_EDIT, EDIT, RECORD_FIELDS

MAX_FIELDS = 200
_ID_ERRORS = [ErrorCode.CAMPAIGN_ID_TAKEN, ErrorCode.CAMPAIGN_ID_MALFORMED, ErrorCode.CAMPAIGN_IDS_EXHAUSTED]
_ID: dict[str, Any] = {"source": "code", "required": False, "max_length": 5, "min_length": 5, "errors": _ID_ERRORS}
_RATIO: dict[str, Any] = {"required": False, "min_value": 0, "max_value": 100}


class Parameters(Input):
    caller_id = TextField("Number presented by the campaign.", required=False, max_length=40, example="+48225550100")
    preview_timeout = IntegerField(
        "Seconds an agent has to look at a record.", required=False, min_value=1, max_value=3600, example=60
    )
    predictive_max_calls = NumberField("Maximum over-dialling ratio.", example=2.5, **_RATIO)
    predictive_min_calls = NumberField(
        "Minimum over-dialling ratio; at most the maximum.", example=1.1, errors=[ErrorCode.RATIOS_CROSSED], **_RATIO
    )

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
    nested = Parameters

    def to_internal_value(self, data: Any) -> Any:
        super().to_internal_value({} if isinstance(data, dict) else data)
        return data if isinstance(data, dict) else {}


class CampaignEditInput(WithParameters):
    name = TextField("Name of the campaign.", max_length=200, example="Spring offer")
    dialer = ChoiceField("How the campaign dials.", choices=Campaign.Dialer.values, example="progressive")
    crm = BooleanField("What feeds the campaign: the CRM (true) or CSV files (false).", source="is_crm", example=False)
    active = BooleanField("Whether the campaign may be dialled.", source="is_active", required=False, default=True)
    start_date = DateField("First day of dialling; by default the current day.", required=False, example="2026-03-02")
    end_date = DateField(
        "Last day of dialling; not before the first. Without it the campaign goes on.",
        required=False,
        example="2026-03-31",
        errors=[ErrorCode.END_BEFORE_START],
    )
    order = IntegerField(
        "Order among the campaigns: the lowest is dialled first.",
        required=False,
        min_value=1,
        max_value=99_999,
        default=50,
    )
    parity = IntegerField(
        "Share of the dialling among campaigns of the same order.",
        required=False,
        min_value=1,
        max_value=100,
        default=50,
    )
    parameters = ParametersField(
        "Parameters of the dialler; an unknown key is refused.",
        required=False,
        example={"caller_id": "+48225550100", "predictive_max_calls": 2.5},
        errors=[ErrorCode.PARAMETER_UNKNOWN],
    )
    group_id = IdField("A campaign group.", required=False, errors=[ErrorCode.GROUP_NOT_FOUND])
    # DRF takes the declared fields out of the class, so that this one hides no attribute.
    fields = ListField(  # type: ignore[assignment]
        "Names of fields that its records have. Fields that the campaign lacks are added, none is removed."
        " A CRM campaign has no fields.",
        source="field_names",
        child=TextField(max_length=100),
        required=False,
        max_length=MAX_FIELDS,
        example=["first_name", "city"],
        errors=[ErrorCode.FIELDS_IN_CRM],
    )


class CampaignInput(CampaignEditInput):
    id = TextField(
        "Five letters or digits that never change; the lowest number that no campaign has or had if left out.",
        example="SPR26",
        **_ID,
    )


class CloneInput(WithParameters):
    new_id = TextField(
        "Id of the new campaign: five letters or digits; the lowest number that no campaign has or had if left out.",
        example="SUM26",
        **_ID,
    )
    name = TextField("Name of the new campaign.", max_length=200, example="Summer offer")
    start_date = DateField("First day of dialling; by default the current day.", required=False, example="2026-06-01")
    end_date = DateField(
        "Last day of dialling; not before the first. Without it the campaign goes on.",
        required=False,
        errors=[ErrorCode.END_BEFORE_START],
    )
    parameters = ParametersField(
        "Parameters that differ from the source's.",
        required=False,
        errors=[ErrorCode.PARAMETER_UNKNOWN],
    )


class LoginsInput(Input):
    logins = ListField(
        "Logins of agents.",
        child=TextField(max_length=100),
        max_length=10_000,
        example=["agent1", "agent2"],
        errors=[ErrorCode.AGENTS_NOT_FOUND],
    )


class CampaignGroupInput(Input):
    name = TextField("Name of the group; groups may share one.", max_length=100, example="Spring")


CAMPAIGN = shape(
    "Campaign",
    "An outbound campaign.",
    id=text("The campaign's id.", "DEMO1", minLength=5, maxLength=5, of="code"),
    outbound_id=text("The id again.", "DEMO1", minLength=5, maxLength=5, of="code"),
    name=text("Name of the campaign.", "Spring offer"),
    dialer=text("How the campaign dials.", "progressive", enum=["predictive", "progressive", "preview"]),
    crm=boolean("Fed by the CRM (true) or by CSV files (false).", example=False, of="is_crm"),
    active=boolean("Whether it may be dialled.", example=True, of="is_active"),
    dialing=text(
        "Whether the dialler calls its records.",
        "running",
        enum=["running", "paused"],
        of=lambda campaign: "running" if campaign.is_dialling else "paused",
    ),
    start_date=text("First day of dialling, `YYYY-MM-DD`.", "2026-03-02", write=day),
    end_date=text("Last day of dialling, `YYYY-MM-DD`; an empty string when unset.", write=day),
    order=integer("Order among the campaigns: the lowest is dialled first.", 50, minimum=1, maximum=99_999),
    parity=integer("Share of the dialling among campaigns of the same order.", 50, minimum=1, maximum=100),
    parameters={"allOf": [input_shape(Parameters)], "description": "The parameters that are set."},
    group_id=integer("The campaign's group.", 1, nullable=True),
    # The fields must be prefetched.
    fields=array(
        {"type": "string", "example": "first_name"},
        "Names of the fields that its records have.",
        of=lambda campaign: [field.name for field in campaign.fields.all()],
    ),
)


# Records


class RecordEditInput(TableInput):
    """The fields that an item of the batch may change."""

    table = RECORD_FIELDS
    accepts = BATCH_EDIT


class RecordPutInput(TableInput):
    """The fields that our PUT of one record may change."""

    table = RECORD_FIELDS
    accepts = EDIT
    example = {"agent_login": "agent1", "next_call_date": "2026-03-04 10:30", "note": "Call in the morning."}


class RecordInput(TableInput):
    """A new record."""

    table = RECORD_FIELDS
    accepts = ADD
    example = {
        "phone_number": "+48 22 555 0317",
        "identifier": "C-10317",
        "record_fields": {"first_name": "Joanna", "city": "Gdańsk"},
    }


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

    status_id = IdField(
        "Status of the record, of its campaign; this or `dictionary_status_id` is needed.",
        required=False,
        example=14,
        errors=[ErrorCode.EMPTY, ErrorCode.RESULT_IN_PROGRESS, ErrorCode.STATUS_NOT_FOUND],
    )
    dictionary_status_id = IdField(
        "Entry of the dictionary: the campaign's status for it is meant.",
        required=False,
        errors=[ErrorCode.DICTIONARY_STATUS_NOT_FOUND, ErrorCode.STATUSES_DISAGREE],
    )
    next_call_date = InstantField(
        "When the record is to be called next: `YYYY-MM-DD hh:mm`; needed for `MY_RECORD` and"
        " `CALL_NO_SOONER_THAN`. A time that was planned before the call does not stay.",
        source="next_call_at",
        required=False,
        example="2026-03-04 10:30",
        errors=[ErrorCode.NEXT_CALL_REQUIRED],
    )
    assign_to_login = TextField(
        "Agent who gets the record; needed for `MY_RECORD`. An empty string takes the agent away.",
        source="agent_login",
        required=False,
        max_length=100,
        example="agent1",
        errors=[ErrorCode.AGENT_NOT_FOUND, ErrorCode.AGENT_REQUIRED],
    )
    note = TextField(
        "The last note of the record.",
        source="last_note",
        required=False,
        max_length=10_000,
        example="Wants to be called in the morning.",
    )
    record_fields = TextMapField(
        "Fields to change; an empty text clears.",
        source="fields",
        required=False,
        example={"city": "Gdańsk"},
        errors=[ErrorCode.FIELD_UNKNOWN, ErrorCode.FIELDS_IN_CRM],
    )
    is_wrong_number = BooleanField(
        "Whether the number that was called is wrong, and is never called again for this record. Without it"
        " the status decides.",
        source="is_number_wrong",
        required=False,
    )
