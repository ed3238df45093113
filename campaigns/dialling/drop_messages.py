"""The message that a person hears whose call found no agent. Without it the call is hung up at once."""

from django.db import transaction

from callcentre.core.actor import Actor
from callcentre.core.file_removals import FileRemoval
from campaigns.models import Campaign
from telephony import sounds


def set_message(campaign: Campaign, actor: Actor, sound: bytes | None) -> None:
    """Store a WAV of 8 kHz, mono, as the campaign's message, or remove it. The former file is removed."""
    with transaction.atomic():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if locked.drop_message.name:
            FileRemoval.add([locked.drop_message.name])
        if sound is None:
            locked.drop_message = ""
        else:
            sounds.store(locked.drop_message, sound)
        locked.save(update_fields=["drop_message", "updated_at"])
    campaign.drop_message = locked.drop_message


def sound_of(campaign: Campaign) -> str:
    """Return the name by which the switch plays the campaign's message; empty without one."""
    return sounds.sound_of(campaign.drop_message.name) if campaign.drop_message.name else ""
