"""The documents of the API about campaigns; `records_docs` has those about records."""

from callcentre.api.openapi import (
    Operation,
    array,
    boolean,
    describe,
    document,
    integer,
    mapping,
    nest,
    number,
    path,
    shape,
    text,
)
from callcentre.core.errors import ErrorCode
from campaigns.api import (  # noqa: F401  (describe the rest of this app)
    calls_docs,
    dialling_docs,
    do_not_call_docs,
    records_docs,
    recycling_docs,
)
from campaigns.api.serializers import (
    CampaignEditInput,
    CampaignGroupInput,
    CampaignInput,
    CloneInput,
    LoginsInput,
    Parameters,
    ParametersField,
)
from campaigns.api.views import CampaignGroupViewSet, CampaignViewSet
from campaigns.models import SystemStatus
from telephony.api.agents_docs import AGENT

ID = {"code": path("id", "Id of the campaign: five characters.", "DEMO1", ErrorCode.CAMPAIGN_NOT_FOUND)}
FIRST_DAY = {"description": "First day of dialling; the current day if left out."}
LAST_DAY = "Last day of dialling; not before the first. Without it the campaign goes on."

nest(ParametersField, Parameters)
describe(
    Parameters,
    caller_id="Number presented by the campaign.",
    preview_timeout="Seconds an agent has to look at a record.",
    predictive_max_calls="Maximum over-dialling ratio.",
    predictive_min_calls="Minimum over-dialling ratio; at most the maximum.",
)
describe(
    CampaignEditInput,
    name="Name of the campaign.",
    dialer="How the campaign dials.",
    crm="What feeds the campaign: the CRM (true) or CSV files (false).",
    active="Whether the campaign may be dialled.",
    start_date="First day of dialling.",
    end_date=LAST_DAY,
    order="Order among the campaigns: the lowest is dialled first.",
    parity="Share of the dialling among campaigns of the same order.",
    parameters="Parameters of the dialler; an unknown key is refused.",
    group_id="A campaign group.",
    fields={
        "description": (
            "Names of fields that its records have. Fields that the campaign lacks are added, none is removed. A CRM"
            " campaign has no fields."
        ),
        "example": ["first_name", "city"],
    },
)
describe(
    CampaignInput,
    id="Five letters or digits that never change; the lowest number that no campaign has or had if left out.",
    active={"default": True},
    start_date=FIRST_DAY,
    order={"default": 50},
    parity={"default": 50},
)
describe(
    CloneInput,
    new_id="Id of the new campaign: five letters or digits; the lowest number that no campaign has or had if left out.",
    name="Name of the new campaign.",
    start_date=FIRST_DAY,
    end_date=LAST_DAY,
    parameters="Parameters that differ from the source's.",
)
describe(LoginsInput, logins={"description": "Logins of agents.", "example": ["agent1", "agent2"]})
describe(CampaignGroupInput, name="Name of the group; groups may share one.")

CAMPAIGN = shape(
    "Campaign",
    "An outbound campaign.",
    id=text("The campaign's id.", "DEMO1", minLength=5, maxLength=5),
    outbound_id=text("The id again.", "DEMO1", minLength=5, maxLength=5),
    name=text("Name of the campaign.", "Spring offer"),
    dialer=text("How the campaign dials.", "progressive", enum=["predictive", "progressive", "preview"]),
    crm=boolean("Fed by the CRM (true) or by CSV files (false).", example=False),
    active=boolean("Whether it may be dialled.", example=True),
    dialing=text("Whether the dialler calls its records.", "running", enum=["running", "paused"]),
    start_date=text("First day of dialling, `YYYY-MM-DD`.", "2026-03-02"),
    end_date=text("Last day of dialling, `YYYY-MM-DD`; an empty string when unset."),
    order=integer("Order among the campaigns: the lowest is dialled first.", 50, minimum=1, maximum=99_999),
    parity=integer("Share of the dialling among campaigns of the same order.", 50, minimum=1, maximum=100),
    parameters=shape(
        "CampaignParameters",
        "The parameters that are set.",
        optional=("caller_id", "preview_timeout", "predictive_max_calls", "predictive_min_calls"),
        caller_id=text("Number presented by the campaign.", "+48225550100"),
        preview_timeout=integer("Seconds an agent has to look at a record.", 60),
        predictive_max_calls=number("Maximum over-dialling ratio.", 2.5),
        predictive_min_calls=number("Minimum over-dialling ratio.", 1.1),
    ),
    group_id=integer("The campaign's group.", 1, nullable=True),
    fields=array({"type": "string", "example": "first_name"}, "Names of the fields that its records have."),
)
CAMPAIGN_STATUS = shape(
    "CampaignStatus",
    "A status that records of the campaign can have.",
    status_id=integer("The status's id.", 11),
    name=text("Its name.", "To be called"),
    system_status=text("What the dialler does with such a record.", "TO_CALL", enum=SystemStatus.values),
    dictionary_status_id=integer("The dictionary entry behind it.", 1, nullable=True),
)
CAMPAIGN_STATS = shape(
    "CampaignStats",
    "How far a campaign is.",
    id=text("The campaign's id.", "DEMO1"),
    records_count=integer("Records of the campaign.", 200, minimum=0),
    completion_percent=number("Share of records with which nothing more is to be done.", 12.5, minimum=0, maximum=100),
    by_system_status=mapping(
        "Records of each system status.",
        {"type": "integer"},
        dict.fromkeys(SystemStatus.values, 0) | {"TO_CALL": 175, "NO_CALL": 25},
    ),
)
CAMPAIGN_GROUP = shape(
    "CampaignGroup",
    "Campaigns that belong together.",
    id=integer("The group's id.", 1),
    name=text("The group's name.", "Spring"),
)
# Rules of a campaign, and the field that breaks each.
RULES = {ErrorCode.END_BEFORE_START: "end_date", ErrorCode.RATIOS_CROSSED: "parameters.predictive_min_calls"}
PARAMETER_RULES = {
    ErrorCode.PARAMETER_UNKNOWN: "parameters.colour",
    ErrorCode.NOT_NUMBER: "parameters.predictive_max_calls",
    ErrorCode.OUT_OF_RANGE: "parameters.preview_timeout",
    ErrorCode.NOT_INTEGER: "parameters.preview_timeout",
}
OTHER_RULES = {ErrorCode.GROUP_NOT_FOUND: "group_id", ErrorCode.FIELDS_IN_CRM: "fields"}
ID_RULES = {
    ErrorCode.CAMPAIGN_ID_TAKEN: "id",
    ErrorCode.CAMPAIGN_ID_MALFORMED: "id",
    ErrorCode.CAMPAIGN_IDS_EXHAUSTED: "id",
}

document(
    CampaignViewSet,
    ID,
    list=Operation(
        id="list_campaigns",
        summary="List the campaigns",
        description="All of them, by their order, then by id.",
        is_extension=True,
        answer=array(CAMPAIGN),
    ),
    create=Operation(
        id="create_campaign",
        summary="Create a campaign",
        description=(
            "The new campaign gets one status for each entry of the dictionary. Its dialling runs: a second after its"
            " first records are added, the dialler calls them if agents of the campaign are ready and the hours allow"
            " it. To begin later, use `active` or `start_date`, or pause it (`POST /outbounds/{id}/dialer/pause`). A"
            " clone is paused until `POST /outbounds/{id}/dialer/start`."
        ),
        body=CampaignInput,
        request_example={
            "id": "SPR26",
            "name": "Spring offer",
            "dialer": "progressive",
            "crm": False,
            "start_date": "2026-03-02",
            "end_date": "2026-03-31",
            "parameters": {"caller_id": "+48225550100", "predictive_max_calls": 2.5},
            "fields": ["first_name", "city"],
        },
        answer=shape(
            "CreatedCampaign",
            "The campaign that was created.",
            id=text("Its id.", "SPR26"),
            outbound_id=text("Its id again.", "SPR26"),
        ),
        errors=ID_RULES | RULES | PARAMETER_RULES | OTHER_RULES,
    ),
    retrieve=Operation(id="read_campaign", summary="Read a campaign", is_extension=True, answer=CAMPAIGN),
    update=Operation(
        id="edit_campaign",
        summary="Edit a campaign",
        description="Missing fields, and fields that are null, stay as they are. The id never changes.",
        is_extension=True,
        body=CampaignEditInput,
        is_partial=True,
        request_example={"name": "Spring offer, second wave", "active": False, "parameters": {"preview_timeout": 45}},
        errors=RULES | PARAMETER_RULES | OTHER_RULES,
    ),
    clone=Operation(
        id="clone_campaign",
        summary="Clone a campaign",
        description=(
            "Copies settings, parameters (the given ones win), group, fields, statuses and agents; no records, no"
            " history, no dates. Its dialling is paused."
        ),
        body=CloneInput,
        request_example={"new_id": "SUM26", "name": "Summer offer", "start_date": "2026-06-01"},
        answer=shape("ClonedCampaign", "The new campaign.", id=text("Its id.", "SUM26")),
        errors=dict.fromkeys(ID_RULES, "new_id") | RULES | PARAMETER_RULES,
    ),
    agents=Operation(
        id="list_campaign_agents",
        summary="List the agents of a campaign",
        description="Ordered by login.",
        is_extension=True,
        answer=array(AGENT),
    ),
    add_agents=Operation(
        id="add_campaign_agents",
        summary="Add agents to a campaign",
        description=(
            "Agents who are in it already stay. If one of the logins is unknown, none is added and the message names"
            " all that are."
        ),
        body=LoginsInput,
        request_example={"logins": ["agent1", "agent2"]},
        errors={ErrorCode.AGENTS_NOT_FOUND: "logins"},
    ),
    remove_agents=Operation(
        id="remove_campaign_agents",
        summary="Take agents out of a campaign",
        description="Agents who are not in it are no fault. If one of the logins is unknown, none is taken out.",
        is_extension=True,
        body=LoginsInput,
        request_example={"logins": ["agent2"]},
        errors={ErrorCode.AGENTS_NOT_FOUND: "logins"},
    ),
    statuses=Operation(
        id="list_campaign_statuses",
        summary="List the statuses of a campaign",
        description="Those that its records can have, in order.",
        is_extension=True,
        answer=array(CAMPAIGN_STATUS),
    ),
    stats=Operation(
        id="read_campaign_stats",
        summary="Read how far a campaign is",
        is_extension=True,
        answer=CAMPAIGN_STATS,
    ),
)
document(
    CampaignGroupViewSet,
    list=Operation(
        id="list_campaign_groups",
        summary="List the groups of campaigns",
        description="All of them, ordered by name.",
        is_extension=True,
        answer=array(CAMPAIGN_GROUP),
    ),
    create=Operation(
        id="create_campaign_group",
        summary="Create a group of campaigns",
        body=CampaignGroupInput,
        request_example={"name": "Spring"},
        answer=CAMPAIGN_GROUP,
    ),
)
