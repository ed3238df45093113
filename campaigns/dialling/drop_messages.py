"""The message that a person hears whose call found no agent."""

from campaigns.models import Campaign


def sound_of(campaign: Campaign) -> str:
    """Return the name by which the switch plays the campaign's message; empty without one."""
    return campaign.drop_message.name or ""
