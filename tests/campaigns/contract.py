"""The operations of the API on campaigns and records, and the rows that their tests need."""

from datetime import UTC, datetime, timedelta

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
    "id": str,
    "outbound_id": str,
    "name": str,
    "dialer": str,
    "crm": bool,
    "active": bool,
    "dialing": str,
    "start_date": str,
    "end_date": str,
    "order": int,
    "parity": int,
    "parameters": {"caller_id": str, "preview_timeout": int},
    "group_id": INTEGER_OR_NULL,
    "fields": [str],
}
RECORD = {
    "record_id": int,
    "phone_number": str,
    "system_status": str,
    "status": str,
    "status_id": int,
    "call_date": str,
    "create_date": str,
    "next_call_date": str,
    "agent_name": str,
    "agent_login": str,
    "last_note": str,
    "identifier": str,
    "order": frozenset({str, int}),
}
FIELDS = {"record_fields": {"city": str}}
DO_NOT_CALL = {
    "id": int,
    "number": str,
    "prefix": str,
    "outbound_id": frozenset({str, type(None)}),
    "reason": str,
    "since": str,
    "until": str,
}
LISTED = 88_001
READ, WRITE = "campaigns:read", "campaigns:write"
NEW_CAMPAIGN = {"name": "New", "dialer": "preview", "crm": False}
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

OPERATIONS = [
    # Campaigns
    Operation("POST", "/outbounds", WRITE, 201, {"id": str, "outbound_id": str}, 7, NEW_CAMPAIGN),
    Operation(
        "POST", "/outbounds/WORLD/clone", WRITE, 201, {"id": str}, 14, {"name": "Copy"}, "/outbounds/XXXXX/clone"
    ),
    Operation(
        "POST", "/outbounds/WORLD/add_agents", WRITE, 204, None, 5, {"logins": ["free"]}, "/outbounds/XXXXX/add_agents"
    ),
    Operation("POST", "/outbound_groups", WRITE, 201, GROUP, 2, {"name": "New"}),
    # Records
    Operation(
        "POST",
        "/outbounds/WORLD/records",
        WRITE,
        201,
        {"record_id": str},
        3,
        {"phone_number": "+48 22 300 00 01"},
        "/outbounds/XXXXX/records",
    ),
    Operation(
        "PUT",
        "/batch/outbounds/WORLD/records",
        WRITE,
        207,
        Each({"http_status": int}),
        5,
        EDITS,
        "/batch/outbounds/XXXXX/records",
    ),
    Operation(
        "GET",
        "/outbounds/WORLD/records/+48221000001?include_record_fields=true",
        READ,
        200,
        RECORD | FIELDS,
        2,
        None,
        "/outbounds/WORLD/records/+48229999999",
    ),
    Operation(
        "GET",
        "/outbounds/WORLD/records_by_identifier/ID-1",
        READ,
        200,
        RECORD,
        2,
        None,
        "/outbounds/WORLD/records_by_identifier/ID-X",
    ),
    # Extensions
    ours("GET", "/outbounds", READ, 200, [CAMPAIGN], 3),
    ours("GET", "/outbounds/WORLD", READ, 200, CAMPAIGN, 3, None, "/outbounds/XXXXX"),
    ours("PUT", "/outbounds/WORLD", WRITE, 204, None, 6, {"name": "Renamed"}, "/outbounds/XXXXX"),
    ours("GET", "/outbounds/WORLD/agents", READ, 200, [AGENT], 4, None, "/outbounds/XXXXX/agents"),
    ours(
        "POST",
        "/outbounds/WORLD/remove_agents",
        WRITE,
        204,
        None,
        5,
        {"logins": ["free"]},
        "/outbounds/XXXXX/remove_agents",
    ),
    ours(
        "GET",
        "/outbounds/WORLD/statuses",
        READ,
        200,
        [{"status_id": int, "name": str, "system_status": str, "dictionary_status_id": INTEGER_OR_NULL}],
        4,
        None,
        "/outbounds/XXXXX/statuses",
    ),
    ours(
        "GET",
        "/outbounds/WORLD/stats",
        READ,
        200,
        {"id": str, "records_count": int, "completion_percent": frozenset({int, float}), "by_system_status": Each(int)},
        4,
        None,
        "/outbounds/XXXXX/stats",
    ),
    ours(
        "GET",
        "/outbounds/WORLD/records",
        READ,
        200,
        {"count": int, "result": [RECORD | FIELDS | {"customer_id": INTEGER_OR_NULL, "additional_numbers": [str]}]},
        5,
        None,
        "/outbounds/XXXXX/records",
    ),
    ours(
        "PUT",
        "/outbounds/WORLD/records/+48221000001",
        WRITE,
        204,
        None,
        5,
        {"next_call_date": "2030-01-01 10:00"},
        "/outbounds/WORLD/records/+48229999999",
    ),
    ours(
        "POST",
        "/batch/outbounds/WORLD/records",
        WRITE,
        201,
        Each({"status": str, "record_id": str}),
        3,
        ADDITIONS,
        "/batch/outbounds/XXXXX/records",
    ),
    ours(
        "GET",
        "/outbounds/WORLD/records/+48221000001/why",
        READ,
        200,
        {"callable": bool, "reasons": [{"code": str, "text": str, "until": str}], "next_call_at": str},
        4,
        None,
        "/outbounds/WORLD/records/+48229999999/why",
    ),
    ours(
        "POST",
        "/outbounds/WORLD/recycle",
        WRITE,
        200,
        {"outbound_id": str, "records_count": int, "by_status": Each(int), "by_outcome": Each(int)},
        16,
        {"name": "Again", "outcomes": ["no_answer"]},
        "/outbounds/XXXXX/recycle",
    ),
    # Do not call
    ours("GET", "/do_not_call", READ, 200, {"count": int, "result": [DO_NOT_CALL]}, 3),
    ours("POST", "/do_not_call", WRITE, 201, {"id": int}, 2, {"number": "+48 22 700 00 01"}),
    ours("DELETE", f"/do_not_call/{LISTED}", WRITE, 204, None, 5, None, "/do_not_call/99999"),
    ours(
        "POST",
        "/batch/do_not_call",
        WRITE,
        207,
        Each({"http_status": int, "id": int}),
        2,
        {"entries": [{"number": "+48 22 700 00 01"}, {"prefix": "+4870"}]},
    ),
    ours("GET", "/outbound_groups", READ, 200, [GROUP], 2),
    # Dialling
    ours("POST", "/outbounds/WORLD/dialer/start", WRITE, 204, None, 5, None, "/outbounds/XXXXX/dialer/start"),
    ours("POST", "/outbounds/WORLD/dialer/pause", WRITE, 204, None, 5, None, "/outbounds/XXXXX/dialer/pause"),
    ours("POST", "/outbounds/WORLD/dialer/stop", WRITE, 204, None, 6, None, "/outbounds/XXXXX/dialer/stop"),
    ours(
        "POST",
        f"/connections/{CALL}/result",
        WRITE,
        204,
        None,
        10,
        {"dictionary_status_id": CONTACTED, "note": "Happy."},
        "/connections/1.1/result",
    ),
    ours("GET", "/outbounds/WORLD/dialer", READ, 200, STATUS, 12, None, "/outbounds/XXXXX/dialer"),
    ours("GET", "/system/dialing", "system:read", 200, {"running": bool, "reason": str, "since": str, "by": str}, 2),
    ours("POST", "/system/dialing", "system:write", 204, None, 2, {"running": True, "reason": "All clear"}),
    ours("GET", "/agents/previewing/preview", "agents:read", 200, PREVIEW, 4, None, "/agents/nobody/preview"),
    ours(
        "POST",
        "/agents/previewing/preview/accept",
        "agents:write",
        201,
        {"connection_id": str},
        34,
        None,
        "/agents/nobody/preview/accept",
    ),
    ours(
        "POST",
        "/agents/previewing/preview/skip",
        "agents:write",
        204,
        None,
        12,
        {"reason": "Busy"},
        "/agents/nobody/preview/skip",
    ),
    ours("GET", "/agents/in_call/call", "agents:read", 200, AGENT_CALL, 5, None, "/agents/nobody/call"),
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
