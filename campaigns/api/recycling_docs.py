"""The documents of the API about recycling."""

from callcentre.api.openapi import Operation, describe, document, integer, mapping, path, shape, text
from callcentre.core.errors import ErrorCode
from campaigns.api.recycling import RecycleInput, RecycleViewSet

describe(
    RecycleInput,
    name={"description": "Name of the new campaign; needed without `dry_run`.", "example": "Second round"},
    statuses={"description": "Records with one of these statuses of the campaign.", "example": [3]},
    outcomes={
        "description": "Records whose last call had one of these outcomes. With `statuses`, both must hold.",
        "example": ["busy", "no_answer"],
    },
    dry_run="Only count the records; nothing is written.",
)
COUNT = {"type": "integer", "minimum": 0}
document(
    RecycleViewSet,
    {"code": path("id", "Id of the campaign: five characters.", "DEMO1", ErrorCode.CAMPAIGN_NOT_FOUND)},
    recycle=Operation(
        id="recycle_campaign",
        summary="Call records again in a new campaign",
        description=(
            "Clones the campaign, paused, and counts the chosen records. A worker then copies them into the clone, to"
            " be called: those that are chosen when it begins, all at once; `GET /outbounds/:id/stats` counts them."
            " At least one of `statuses` and `outcomes` is needed. Their history and their attempts begin anew, and"
            " there is no event for each record. Records in a call are left out."
        ),
        is_extension=True,
        body=RecycleInput,
        request_example={"outcomes": ["busy", "no_answer"], "dry_run": True},
        status=200,
        answer=shape(
            "RecycledCampaign",
            "The chosen records, and the campaign that has them now.",
            outbound_id=text("The new campaign, whose records follow; null in a dry run.", "00001", nullable=True),
            records_count=integer("Chosen records.", 120, minimum=0),
            by_status=mapping("Their number by `status_id`; `none` for records without one.", COUNT, {"3": 120}),
            by_outcome=mapping(
                "Their number by the outcome of the last call; `none` for records without a call.",
                COUNT,
                {"busy": 20, "no_answer": 100},
            ),
        ),
        errors={
            ErrorCode.EMPTY: "statuses",
            ErrorCode.STATUS_NOT_FOUND: "statuses.0",
            ErrorCode.NOTHING_TO_RECYCLE: "statuses",
            ErrorCode.CAMPAIGN_IDS_EXHAUSTED: "code",
        },
    ),
)
