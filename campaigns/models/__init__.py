from campaigns.models.attempt import Attempt, DiallingDay
from campaigns.models.campaign import Campaign, CampaignField, CampaignGroup, FormerCode
from campaigns.models.dialling import DiallerState, DiallingSwitch, RecordOffer, RetryRule, TrunkFailure
from campaigns.models.do_not_call import DoNotCall
from campaigns.models.hours import CampaignHours, LegalHours
from campaigns.models.imports import RecordImport
from campaigns.models.record import AdditionalNumber, Record, RecordChange
from campaigns.models.status import DictionaryStatus, RecordStatus, SystemStatus
