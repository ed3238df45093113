"""The operations of the API on campaigns and records, and the rows that their tests need."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from campaigns.models import Campaign
from telephony.models import Agent
from telephony.verbs import presence
from tests.campaigns.factories import (
    AdditionalNumberFactory,
    AttemptFactory,
    CampaignFactory,
    CampaignGroupFactory,
    DictionaryStatusFactory,
    DoNotCallFactory,
    PastAttemptFactory,
    RecordFactory,
    RecordOfferFactory,
    RecordStatusFactory,
)
from tests.conftest import ACTOR
from tests.contract import GROUP, INTEGER_OR_NULL, NUMBER, Each, Operation, ours
from tests.telephony.contract import AGENT
from tests.telephony.factories import AgentFactory, ConnectionFactory, LegFactory

CAMPAIGN = {
    **dict.fromkeys(("id", "outbound_id", "name", "dialer", "dialing", "start_date", "end_date"), str),
    **dict.fromkeys(("crm", "active"), bool),
    **dict.fromkeys(("order", "parity"), int),
    "parameters": {"caller_id": str, "preview_timeout": int},
    "group_id": INTEGER_OR_NULL,
    "fields": [str],
}
RECORD = {
    **dict.fromkeys(("record_id", "status_id"), int),
    **dict.fromkeys(("phone_number", "system_status", "status", "call_date", "create_date", "next_call_date"), str),
    **dict.fromkeys(("agent_name", "agent_login", "last_note", "identifier"), str),
    "order": frozenset({str, int}),
}
FIELDS = {"record_fields": {"city": str}}
LISTED_RECORD = RECORD | FIELDS | {"customer_id": INTEGER_OR_NULL, "additional_numbers": [str]}
DO_NOT_CALL = {
    "id": int,
    **dict.fromkeys(("number", "prefix", "reason", "since", "until"), str),
    "outbound_id": frozenset({str, type(None)}),
}
STATUSES = [{"status_id": int, "name": str, "system_status": str, "dictionary_status_id": INTEGER_OR_NULL}]
STATS = {"id": str, "records_count": int, "completion_percent": NUMBER, "by_system_status": Each(int)}
WHY = {"callable": bool, "reasons": [{"code": str, "text": str, "until": str}], "next_call_at": str}
RECYCLED = {"outbound_id": str, "records_count": int, "by_status": Each(int), "by_outcome": Each(int)}
LISTED = 88_001
READ, WRITE = "campaigns:read", "campaigns:write"
NEW_CAMPAIGN = {"name": "New", "dialer": "preview", "crm": False}
NEW_RECORD = {"phone_number": "+48 22 300 00 01"}
ENTRIES = {"entries": [{"number": "+48 22 700 00 01"}, {"prefix": "+4870"}]}
EDITS = {"records": [{"phone_number": f"+48 22 100 {n:04}", "next_call_date": "2030-01-01 10:00"} for n in range(1, 3)]}
ADDITIONS = {"records": [{"phone_number": "+48 22 200 00 01"}, {"phone_number": "+48 22 200 00 02"}]}
AGENT_CALL = {
    "connection_id": str,
    "outbound_id": str,
    # Without the right to read campaigns, there is no record.
    "record": frozenset({type(None)}),
    "state": str,
    "since": str,
}
COUNTS = {"live_answers": int, "drops": int, "drop_rate": NUMBER}
STATUS = {
    "state": str,
    "code": str,
    "reason": str,
    "agents": Each(int),
    "ringing": int,
    "waiting": int,
    "today": COUNTS,
    "days_30": COUNTS,
    "records": Each(int),
    "pace": {"lines_per_agent": frozenset({int, float, type(None)}), "calls_per_minute": NUMBER, "done_at": str},
    "at": str,
}
PREVIEW = {"outbound_id": str, "record": frozenset({type(None)}), "offered_at": str, "expires_at": str}
# A call of the campaign, and an entry of the dictionary.
CALL, CONTACTED = "1416225570.77001", 77_002
RESULT = {"dictionary_status_id": CONTACTED, "note": "Happy."}


def of(path: str, unknown: str = "") -> tuple[str, str]:
    """Return a path of the campaign WORLD, and the same of an unknown campaign unless another one is named."""
    return f"/outbounds/WORLD{path}", f"/outbounds/WORLD{unknown}" if unknown else f"/outbounds/XXXXX{path}"


def batch(path: str) -> tuple[str, str]:
    known, unknown = of(path)
    return f"/batch{known}", f"/batch{unknown}"


def asked(method: str, paths: tuple[str, str], *expected: Any, is_ours: bool = True) -> Operation:
    """Return an operation of a known object, which has the second path for an unknown one."""
    right, status, answer, queries, body = (*expected, None)[:5]
    return Operation(method, paths[0], right, status, answer, queries, body, paths[1], is_extension=is_ours)


LOGINS = {"logins": ["free"]}
RECORD_PATH, UNKNOWN_RECORD = "/records/+48221000001", "/records/+48229999999"
AGENT_PATHS = {
    path: (f"/agents/{login}{path}", f"/agents/nobody{path}")
    for path, login in (
        *((f"/preview{action}", "previewing") for action in ("", "/accept", "/skip")),
        ("/call", "in_call"),
    )
}
OPERATIONS = [
    # Campaigns
    Operation("POST", "/outbounds", WRITE, 201, {"id": str, "outbound_id": str}, 7, NEW_CAMPAIGN),
    asked("POST", of("/clone"), WRITE, 201, {"id": str}, 14, {"name": "Copy"}, is_ours=False),
    asked("POST", of("/add_agents"), WRITE, 204, None, 5, LOGINS, is_ours=False),
    Operation("POST", "/outbound_groups", WRITE, 201, GROUP, 2, {"name": "New"}),
    # Records
    asked("POST", of("/records"), WRITE, 201, {"record_id": str}, 3, NEW_RECORD, is_ours=False),
    asked("PUT", batch("/records"), WRITE, 207, Each({"http_status": int}), 5, EDITS, is_ours=False),
    asked(
        "GET",
        of(f"{RECORD_PATH}?include_record_fields=true", UNKNOWN_RECORD),
        READ,
        200,
        RECORD | FIELDS,
        2,
        is_ours=False,
    ),
    asked("GET", of("/records_by_identifier/ID-1", "/records_by_identifier/ID-X"), READ, 200, RECORD, 2, is_ours=False),
    # Extensions
    ours("GET", "/outbounds", READ, 200, [CAMPAIGN], 3),
    asked("GET", of(""), READ, 200, CAMPAIGN, 3),
    asked("PUT", of(""), WRITE, 204, None, 6, {"name": "Renamed"}),
    asked("GET", of("/agents"), READ, 200, [AGENT], 4),
    asked("POST", of("/remove_agents"), WRITE, 204, None, 5, LOGINS),
    asked("GET", of("/statuses"), READ, 200, STATUSES, 4),
    asked("GET", of("/stats"), READ, 200, STATS, 4),
    asked("GET", of("/records"), READ, 200, {"count": int, "result": [LISTED_RECORD]}, 5),
    asked("PUT", of(RECORD_PATH, UNKNOWN_RECORD), WRITE, 204, None, 5, {"next_call_date": "2030-01-01 10:00"}),
    asked("POST", batch("/records"), WRITE, 201, Each({"status": str, "record_id": str}), 3, ADDITIONS),
    asked("GET", of(f"{RECORD_PATH}/why", f"{UNKNOWN_RECORD}/why"), READ, 200, WHY, 4),
    asked("POST", of("/recycle"), WRITE, 200, RECYCLED, 16, {"name": "Again", "outcomes": ["no_answer"]}),
    # Do not call
    ours("GET", "/do_not_call", READ, 200, {"count": int, "result": [DO_NOT_CALL]}, 3),
    ours("POST", "/do_not_call", WRITE, 201, {"id": int}, 2, {"number": "+48 22 700 00 01"}),
    ours("DELETE", f"/do_not_call/{LISTED}", WRITE, 204, None, 5, None, "/do_not_call/99999"),
    ours("POST", "/batch/do_not_call", WRITE, 207, Each({"http_status": int, "id": int}), 2, ENTRIES),
    ours("GET", "/outbound_groups", READ, 200, [GROUP], 2),
    # Dialling
    asked("POST", of("/dialer/start"), WRITE, 204, None, 5),
    asked("POST", of("/dialer/pause"), WRITE, 204, None, 5),
    asked("POST", of("/dialer/stop"), WRITE, 204, None, 6),
    asked("POST", (f"/connections/{CALL}/result", "/connections/1.1/result"), WRITE, 204, None, 10, RESULT),
    asked("GET", of("/dialer"), READ, 200, STATUS, 12),
    ours("GET", "/system/dialing", "system:read", 200, {"running": bool, "reason": str, "since": str, "by": str}, 2),
    ours("POST", "/system/dialing", "system:write", 204, None, 2, {"running": True, "reason": "All clear"}),
    asked("GET", AGENT_PATHS["/preview"], "agents:read", 200, PREVIEW, 4),
    asked("POST", AGENT_PATHS["/preview/accept"], "agents:write", 201, {"connection_id": str}, 34),
    asked("POST", AGENT_PATHS["/preview/skip"], "agents:write", 204, None, 12, {"reason": "Busy"}),
    asked("GET", AGENT_PATHS["/call"], "agents:read", 200, AGENT_CALL, 5),
]


def fill(size: int) -> None:
    """Create the campaign WORLD with all existing agents."""
    agents = list(Agent.objects.exclude(group=None).order_by("pk"))
    CampaignGroupFactory.create_batch(size)
    DictionaryStatusFactory.create_batch(size)
    settings = {"caller_id": "+48221000000", "preview_timeout": 30}
    campaign = CampaignFactory(code="WORLD", is_dialling=True, fields=["city"], **settings)
    for _ in range(1, size):
        CampaignFactory(fields=["city"], **settings)
    campaign.agents.set(agents)
    entry = DictionaryStatusFactory(pk=CONTACTED, system_status="NO_CALL")
    RecordStatusFactory(campaign=campaign, system_status="NO_CALL", dictionary_status=entry)
    _talk(campaign)
    _offer(campaign)
    DoNotCallFactory(pk=LISTED)
    for n in range(1, size + 2):
        record = RecordFactory(
            campaign=campaign, phone_number=f"+48 22 100 {n:04}", identifier=f"ID-{n}", agent=agents[0]
        )
        AdditionalNumberFactory(record=record)
        PastAttemptFactory(campaign=campaign, record_id=record.pk, outcome="no_answer")
        DoNotCallFactory(campaign=campaign)


def _talk(campaign: Campaign) -> None:
    """Let the agent "in_call" talk with a record of the campaign."""
    agent = AgentFactory(login="in_call")
    record = RecordFactory(campaign=campaign, phone_number="+48 22 100 9000", system_status="IN_PROGRESS")
    began = datetime.fromtimestamp(1416225570, UTC)
    call = ConnectionFactory(
        pk=77_001, created_at=began, talking=True, agent=agent, campaign_code=campaign.code, record_id=record.pk
    )
    AdditionalNumberFactory(record=record)
    AttemptFactory(record=record, connection=call, agent=agent)
    LegFactory(connection=call, role="agent", agent=agent)


def _offer(campaign: Campaign) -> None:
    """Offer a record of the campaign to the agent "previewing"."""
    agent = AgentFactory(login="previewing", number="preview")
    presence.log_in(agent, ACTOR)
    record = RecordFactory(campaign=campaign, phone_number="+48 22 100 9001")
    AdditionalNumberFactory(record=record)
    # Kept for all tests of the module, which may take longer than a preview.
    RecordOfferFactory(record=record, agent=agent, expires_at=timezone.now() + timedelta(days=1))
