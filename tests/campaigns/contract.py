"""The operations of the API on campaigns and records, and the rows that their tests need."""

from telephony.models import Agent
from tests.campaigns.factories import (
    AdditionalNumberFactory,
    CampaignFactory,
    CampaignGroupFactory,
    DictionaryStatusFactory,
    RecordFactory,
)
from tests.contract import GROUP, INTEGER_OR_NULL, Each, Operation, ours
from tests.telephony.contract import AGENT

CAMPAIGN = {
    "id": str,
    "outbound_id": str,
    "name": str,
    "dialer": str,
    "crm": bool,
    "active": bool,
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
READ, WRITE = "campaigns:read", "campaigns:write"
NEW_CAMPAIGN = {"name": "New", "dialer": "preview", "crm": False}
EDITS = {"records": [{"phone_number": f"+48 22 100 {n:04}", "next_call_date": "2030-01-01 10:00"} for n in range(1, 3)]}
ADDITIONS = {"records": [{"phone_number": "+48 22 200 00 01"}, {"phone_number": "+48 22 200 00 02"}]}

OPERATIONS = [
    # Campaigns
    Operation("POST", "/outbounds", WRITE, 201, {"id": str, "outbound_id": str}, 7, NEW_CAMPAIGN),
    Operation(
        "POST", "/outbounds/WORLD/clone", WRITE, 201, {"id": str}, 12, {"name": "Copy"}, "/outbounds/XXXXX/clone"
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
        4,
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
        4,
        ADDITIONS,
        "/batch/outbounds/XXXXX/records",
    ),
    ours("GET", "/outbound_groups", READ, 200, [GROUP], 2),
]


def fill(size: int) -> None:
    """Create the campaign WORLD with all existing agents."""
    agents = list(Agent.objects.exclude(group=None).order_by("pk"))
    CampaignGroupFactory.create_batch(size)
    DictionaryStatusFactory.create_batch(size)
    settings = {"caller_id": "+48221000000", "preview_timeout": 30}
    campaign = CampaignFactory(code="WORLD", fields=["city"], **settings)
    for _ in range(1, size):
        CampaignFactory(fields=["city"], **settings)
    campaign.agents.set(agents)
    for n in range(1, size + 2):
        record = RecordFactory(
            campaign=campaign, phone_number=f"+48 22 100 {n:04}", identifier=f"ID-{n}", agent=agents[0]
        )
        AdditionalNumberFactory(record=record)
