from callcentre.core.errors import ErrorCode
from callcentre.core.lookups import found_or_404
from campaigns.models.rules import CampaignFacts


def facts_or_404(code: str) -> CampaignFacts:
    """Return the facts of the campaign with this code; raise NotFound if there is none."""
    return found_or_404(CampaignFacts.read(code), ErrorCode.CAMPAIGN_NOT_FOUND)
