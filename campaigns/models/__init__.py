from campaigns.models.campaign import Campaign, CampaignField, CampaignGroup
from campaigns.models.imports import RecordImport
from campaigns.models.record import AdditionalNumber, Record, RecordChange
from campaigns.models.status import DictionaryStatus, RecordStatus, SystemStatus

__all__ = [
    "AdditionalNumber",
    "Campaign",
    "CampaignField",
    "CampaignGroup",
    "DictionaryStatus",
    "Record",
    "RecordChange",
    "RecordImport",
    "RecordStatus",
    "SystemStatus",
]
