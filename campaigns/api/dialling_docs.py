"""The documents of the API about the dialling of campaigns."""

from callcentre.api.openapi import Operation, boolean, describe, document, integer, minute, number, path, shape, text
from callcentre.core.errors import ErrorCode
from campaigns.api.dialling import AllDiallingViewSet, DiallingViewSet, SwitchInput
from campaigns.dialling.obstacles import TEXTS

describe(
    SwitchInput,
    running={"description": "Whether calls of campaigns are placed.", "example": False},
    reason={"description": "Why; shown to those who ask.", "example": "Fire drill"},
)

COUNTS = shape(
    "DiallingCounts",
    "Answers and drops of a span of days.",
    live_answers=integer("Calls that persons have answered.", 400, minimum=0),
    drops=integer("Those among them that got no agent in time.", 8, minimum=0),
    drop_rate=number("The drops in percent of the live answers; 0 without an answer.", 2.0, minimum=0, maximum=100),
)
STATUS = shape(
    "DiallingStatus",
    "The present dialling of a campaign.",
    state=text(
        "`dialling`: calls are placed. `waiting`: none can be placed now. `paused`: the dialling of the campaign is"
        " paused. `stopped`: the campaign is inactive or outside its dates, or all dialling is switched off.",
        "dialling",
        enum=["dialling", "waiting", "paused", "stopped"],
    ),
    code=text(
        "Reason for which nothing is dialled; an empty string while it is. " + ", ".join(f"`{code}`" for code in TEXTS)
    ),
    reason=text("The reason in one sentence, in the language of the request; an empty string while it is dialled."),
    agents=shape(
        "DiallingAgents",
        "The active agents of the campaign in outbound mode, by state.",
        free=integer("Free agents.", 2, minimum=0),
        preview=integer("Agents who look at an offered record.", 0, minimum=0),
        ringing=integer("Agents whose phone rings, or who are held for a call that is placed.", 1, minimum=0),
        talking=integer("Agents in a call.", 5, minimum=0),
        wrap_up=integer("Agents in wrap-up.", 1, minimum=0),
        paused=integer("Agents on a pause.", 1, minimum=0),
        logged_out=integer("Agents who are not logged in.", 3, minimum=0),
    ),
    ringing=integer("Calls of the campaign that are placed and not answered.", 4, minimum=0),
    waiting=integer("Answered calls of the campaign that wait for an agent.", 0, minimum=0),
    today=COUNTS,
    days_30=COUNTS,
    records=shape(
        "DiallingRecords",
        "The records of the campaign.",
        to_call=integer("Records that are to be called, now or later.", 150, minimum=0),
        due=integer("Those among them that may be called now.", 120, minimum=0),
        in_progress=integer("Records in a call.", 6, minimum=0),
        done=integer("Records that are not called any more.", 44, minimum=0),
        not_callable_now=integer("Records to be called that may not be called now.", 30, minimum=0),
    ),
    pace=shape(
        "DiallingPace",
        "How fast the campaign is dialled.",
        lines_per_agent={
            "type": "number",
            "nullable": True,
            "description": "Calls that are placed for each free agent; null while nothing is dialled.",
            "example": 1.4,
        },
        calls_per_minute=number("Calls a minute, in the last ten minutes.", 12.5, minimum=0),
        done_at=minute("When all records have been called once at this pace.", "2026-11-21 11:30"),
    ),
    at=text("When this was read: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:00"),
)
SWITCH = shape(
    "AllDialling",
    "The switch of all dialling.",
    running=boolean("Whether calls of campaigns are placed.", example=True),
    reason=text("The reason that was given with the last switch.", "Fire drill"),
    since=text("Time of the last switch: `YYYY-MM-DD hh:mm:ss`; an empty string if there was none.", ""),
    by=text("Who switched last; an empty string if there was none.", "demo"),
)

document(
    DiallingViewSet,
    {"code": path("id", "Id of the campaign: five characters.", "DEMO1", ErrorCode.CAMPAIGN_NOT_FOUND)},
    retrieve=Operation(
        id="read_dialling",
        summary="Read the dialling of a campaign",
        description="State, reason, agents, calls, drop rates, records and pace.",
        is_extension=True,
        answer=STATUS,
    ),
    start=Operation(
        id="start_dialling",
        summary="Start the dialling of a campaign",
        description="The dialler calls its records while it is active, in its dates and hours, and agents are free.",
        is_extension=True,
    ),
    pause=Operation(
        id="pause_dialling",
        summary="Pause the dialling of a campaign",
        description="No new call is placed. Calls that ring or talk go on.",
        is_extension=True,
    ),
    stop=Operation(
        id="stop_dialling",
        summary="Stop the dialling of a campaign",
        description="No new call is placed, and calls that are not answered yet are hung up.",
        is_extension=True,
    ),
)
document(
    AllDiallingViewSet,
    retrieve=Operation(
        id="read_all_dialling",
        summary="Read the switch of all dialling",
        is_extension=True,
        answer=SWITCH,
    ),
    switch=Operation(
        id="switch_all_dialling",
        summary="Switch all dialling on or off",
        description="Off: no call of any campaign is placed from the next second on. Calls that ring or talk go on.",
        is_extension=True,
        body=SwitchInput,
        request_example={"running": False, "reason": "Fire drill"},
    ),
)
