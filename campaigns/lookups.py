from django.http import Http404

from campaigns.models.rules import CampaignFacts


def facts_or_404(code: str) -> CampaignFacts:
    """Return the facts of the campaign with this code; raise Http404 if there is none."""
    facts = CampaignFacts.read(code)
    if facts is None:
        raise Http404
    return facts
