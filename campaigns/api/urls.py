from callcentre.api.exceptions import CONSTRAINTS
from callcentre.api.openapi import path
from callcentre.api.routers import route
from callcentre.core.errors import ErrorCode, Fault
from campaigns.api.calls import AgentCallViewSet, PreviewViewSet, ResultViewSet
from campaigns.api.dialling import AllDiallingViewSet, DiallingViewSet, RecycleViewSet
from campaigns.api.do_not_call import DoNotCallBatchViewSet, DoNotCallViewSet
from campaigns.api.records import RecordBatchViewSet, RecordViewSet
from campaigns.api.views import CampaignGroupViewSet, CampaignViewSet

path("code", "id", "Id of the campaign: five characters.", "DEMO1", ErrorCode.CAMPAIGN_NOT_FOUND)
path("pk", "id", "Id of the entry.", "501", ErrorCode.DO_NOT_CALL_NOT_FOUND)
path(
    "phone_number",
    "phone_number",
    "Number of the record, in any spelling, URL-encoded.",
    "+48225550117",
    ErrorCode.RECORD_NOT_FOUND,
)
path("identifier", "identifier", "Identifier of the record.", "C-10117", ErrorCode.RECORD_NOT_FOUND)

urlpatterns = [
    route("outbounds", CampaignViewSet, get="list", post="create"),
    route("outbounds/:code", CampaignViewSet, get="retrieve", put="update"),
    route("outbounds/:code/clone", CampaignViewSet, post="clone"),
    route("outbounds/:code/recycle", RecycleViewSet, post="recycle"),
    route("outbounds/:code/agents", CampaignViewSet, get="agents"),
    route("outbounds/:code/add_agents", CampaignViewSet, post="add_agents"),
    route("outbounds/:code/remove_agents", CampaignViewSet, post="remove_agents"),
    route("outbounds/:code/statuses", CampaignViewSet, get="statuses"),
    route("outbounds/:code/stats", CampaignViewSet, get="stats"),
    route("outbounds/:code/dialer", DiallingViewSet, get="retrieve"),
    route("outbounds/:code/dialer/start", DiallingViewSet, post="start"),
    route("outbounds/:code/dialer/pause", DiallingViewSet, post="pause"),
    route("outbounds/:code/dialer/stop", DiallingViewSet, post="stop"),
    route("outbounds/:code/records", RecordViewSet, get="list", post="create"),
    # Before the route of the record, whose number may have slashes too.
    route("outbounds/:code/records/:phone_number/why", RecordViewSet, get="explain"),
    route("outbounds/:code/records/:phone_number", RecordViewSet, get="retrieve", put="update"),
    route("outbounds/:code/records_by_identifier/:identifier", RecordViewSet, get="retrieve_by_identifier"),
    route("batch/outbounds/:code/records", RecordBatchViewSet, put="update", post="create"),
    route("do_not_call", DoNotCallViewSet, get="list", post="create"),
    route("do_not_call/:pk", DoNotCallViewSet, delete="destroy"),
    route("batch/do_not_call", DoNotCallBatchViewSet, post="create"),
    route("connections/:connection_id/result", ResultViewSet, post="give"),
    route("agents/:login/call", AgentCallViewSet, get="retrieve"),
    route("agents/:login/preview", PreviewViewSet, get="retrieve"),
    route("agents/:login/preview/accept", PreviewViewSet, post="accept"),
    route("agents/:login/preview/skip", PreviewViewSet, post="skip"),
    route("system/dialing", AllDiallingViewSet, get="retrieve", post="switch"),
    route("outbound_groups", CampaignGroupViewSet, get="list", post="create"),
]

CONSTRAINTS.update(
    {
        "campaigns_campaign_code_key": Fault(ErrorCode.CAMPAIGN_ID_TAKEN, "code"),
        "record_number_is_unique": Fault(ErrorCode.NUMBER_DUPLICATED, "phone_number"),
        "record_identifier_is_unique": Fault(ErrorCode.IDENTIFIER_TAKEN, "identifier"),
    }
)
