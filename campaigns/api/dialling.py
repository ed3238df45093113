"""The dialling of a campaign and of all campaigns."""

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import BooleanField, ChoiceField, IdField, Input, ListField, TextField
from callcentre.api.openapi import boolean, count, mapping, minute, number, operation, second, shape, text
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from campaigns.api.views import campaign_or_404
from campaigns.dialling.obstacles import TEXTS
from campaigns.dialling.status import dialling_status
from campaigns.models import Attempt, DiallingSwitch
from campaigns.verbs.dialling import pause_dialling, start_dialling, stop_dialling, switch_dialling
from campaigns.verbs.recycling import recycle_campaign


class SwitchInput(Input):
    running = BooleanField("Whether calls of campaigns are placed.", source="is_running", example=False)
    reason = TextField("Why; shown to those who ask.", required=False, max_length=300, example="Fire drill")


COUNTS = shape(
    "DiallingCounts",
    "Answers and drops of a span of days.",
    live_answers=count("Calls that persons have answered.", 400),
    drops=count("Those among them that got no agent in time.", 8),
    drop_rate=number("The drops in percent of the live answers; 0 without an answer.", 2.0, minimum=0, maximum=100),
)
PACE = shape(
    "DiallingPace",
    "How fast the campaign is dialled.",
    lines_per_agent=number(
        "Calls that are placed for each free agent; null while nothing is dialled.", 1.4, nullable=True
    ),
    calls_per_minute=number("Calls a minute, in the last ten minutes.", 12.5, minimum=0),
    done_at=minute("When all records have been called once at this pace.", "2026-11-21 11:30"),
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
        free=count("Free agents.", 2),
        preview=count("Agents who look at an offered record.", 0),
        ringing=count("Agents whose phone rings, or who are held for a call that is placed.", 1),
        talking=count("Agents in a call.", 5),
        wrap_up=count("Agents in wrap-up.", 1),
        paused=count("Agents on a pause.", 1),
        logged_out=count("Agents who are not logged in.", 3),
    ),
    ringing=count("Calls of the campaign that are placed and not answered.", 4),
    waiting=count("Answered calls of the campaign that wait for an agent.", 0),
    today=COUNTS,
    days_30=COUNTS,
    records=shape(
        "DiallingRecords",
        "The records of the campaign.",
        to_call=count("Records that are to be called, now or later.", 150),
        due=count("Those among them that may be called now.", 120),
        in_progress=count("Records in a call.", 6),
        done=count("Records that are not called any more.", 44),
        not_callable_now=count("Records to be called that may not be called now.", 30),
    ),
    pace=PACE,
    at=second("When this was read: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:00"),
)
SWITCH = shape(
    "AllDialling",
    "The switch of all dialling.",
    running=boolean("Whether calls of campaigns are placed.", example=True, of="is_running"),
    reason=text("The reason that was given with the last switch.", "Fire drill"),
    since=second("Time of the last switch: `YYYY-MM-DD hh:mm:ss`; an empty string if there was none.", of="at"),
    by=text("Who switched last; an empty string if there was none.", "demo", of="actor_name"),
)


class DiallingViewSet(ApiViewSet):
    """The dialling of a campaign."""

    area = "campaigns"

    @operation(
        "read_dialling",
        "Read the dialling of a campaign",
        "State, reason, agents, calls, drop rates, records and pace.",
        answer=STATUS,
    )
    def retrieve(self, request: Request, code: str) -> Response:
        status = dialling_status(campaign_or_404(code))
        counts = {"today": COUNTS.data(status.today), "days_30": COUNTS.data(status.days_30)}
        return Response(STATUS.data(status, pace=PACE.data(status), **counts))

    @operation(
        "start_dialling",
        "Start the dialling of a campaign",
        "The dialler calls its records while it is active, in its dates and hours, and agents are free.",
    )
    def start(self, request: Request, code: str) -> None:
        start_dialling(campaign_or_404(code), self.actor)

    @operation(
        "pause_dialling", "Pause the dialling of a campaign", "No new call is placed. Calls that ring or talk go on."
    )
    def pause(self, request: Request, code: str) -> None:
        pause_dialling(campaign_or_404(code), self.actor)

    @operation(
        "stop_dialling",
        "Stop the dialling of a campaign",
        "No new call is placed, and calls that are not answered yet are hung up.",
    )
    def stop(self, request: Request, code: str) -> None:
        stop_dialling(campaign_or_404(code), self.actor)


class AllDiallingViewSet(ApiViewSet):
    """The switch of all dialling."""

    area = "system"

    @operation("read_all_dialling", "Read the switch of all dialling", answer=SWITCH)
    def retrieve(self, request: Request) -> Response:
        newest = DiallingSwitch.objects.of_all().first()
        never = {"running": True, "reason": "", "since": "", "by": ""}
        return Response(SWITCH.data(newest) if newest else never)

    @operation(
        "switch_all_dialling",
        "Switch all dialling on or off",
        "Off: no call of any campaign is placed from the next second on. Calls that ring or talk go on.",
        body=SwitchInput,
    )
    def switch(self, request: Request) -> None:
        values, faults = self.read(SwitchInput)
        switch_dialling(self.actor, faults, **values)


OUTCOMES = [outcome.value for outcome in Attempt.Outcome if outcome != Attempt.Outcome.NOT_DIALLED]


class RecycleInput(Input):
    example = {"outcomes": ["busy", "no_answer"], "dry_run": True}
    name = TextField(
        "Name of the new campaign; needed without `dry_run`.", required=False, max_length=200, example="Second round"
    )
    statuses = ListField(
        "Records with one of these statuses of the campaign.",
        child=IdField(),
        required=False,
        max_length=1_000,
        example=[3],
        errors=[ErrorCode.EMPTY, ErrorCode.STATUS_NOT_FOUND, ErrorCode.NOTHING_TO_RECYCLE],
    )
    outcomes = ListField(
        "Records whose last call had one of these outcomes. With `statuses`, both must hold.",
        child=ChoiceField(choices=OUTCOMES),
        required=False,
        max_length=len(OUTCOMES),
        example=["busy", "no_answer"],
    )
    dry_run = BooleanField("Only count the records; nothing is written.", source="is_dry_run", required=False)


COUNT = {"type": "integer", "minimum": 0}


class RecycleViewSet(ApiViewSet):
    """Records of a campaign that are called again in a new one."""

    area = "campaigns"

    @operation(
        "recycle_campaign",
        "Call records again in a new campaign",
        "Clones the campaign, paused, and counts the chosen records. A worker then copies them into the"
        " clone, to be called: those that are chosen when it begins, all at once; `GET"
        " /outbounds/:id/stats` counts them. At least one of `statuses` and `outcomes` is needed. Their"
        " history and their attempts begin anew, and there is no event for each record. Records in a call"
        " are left out.",
        body=RecycleInput,
        status=200,
        answer=shape(
            "RecycledCampaign",
            "The chosen records, and the campaign that has them now.",
            outbound_id=text("The new campaign, whose records follow; null in a dry run.", "00001", nullable=True),
            records_count=count("Chosen records.", 120),
            by_status=mapping("Their number by `status_id`; `none` for records without one.", COUNT, {"3": 120}),
            by_outcome=mapping(
                "Their number by the outcome of the last call; `none` for records without a call.",
                COUNT,
                {"busy": 20, "no_answer": 100},
            ),
        ),
        errors=[ErrorCode.CAMPAIGN_IDS_EXHAUSTED],
    )
    def recycle(self, request: Request, code: str) -> Response:
        source = campaign_or_404(code)
        values, faults = self.read(RecycleInput)
        recycled = recycle_campaign(source, self.actor, faults, **values)
        return Response(
            {
                "outbound_id": recycled.campaign.code if recycled.campaign else None,
                "records_count": recycled.records_count,
                "by_status": {str(key or "none"): count for key, count in recycled.by_status.items()},
                "by_outcome": {key or "none": count for key, count in recycled.by_outcome.items()},
            }
        )
