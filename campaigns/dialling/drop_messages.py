"""The message that a person hears whose call found no agent: stored, and named for the switch.

Asterisk finds it in a folder of sounds that it shares with this service (SOUNDS_FOLDER), or fetches it from a signed
address (SOUNDS_URL). Without both it cannot play it, and the call is hung up at once.
"""

import logging
import os
from pathlib import Path

from django.conf import settings
from django.core import signing
from django.core.files.storage import default_storage
from django.db import transaction

from callcentre.core.actor import Actor
from callcentre.core.deletions import FileRemoval
from campaigns.models import Campaign

logger = logging.getLogger(__name__)

_signer = signing.Signer(salt="campaigns.drop_message")


def set_message(campaign: Campaign, actor: Actor, sound: bytes | None) -> None:
    """Store a WAV of 8 kHz, mono, as the campaign's message, or remove it. The former file is removed."""
    with transaction.atomic():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if locked.drop_message.name:
            FileRemoval.add([locked.drop_message.name])
        if sound is None:
            locked.drop_message = ""
        else:
            locked.store_message(sound)
        locked.save(update_fields=["drop_message", "updated_at"])
    campaign.drop_message = locked.drop_message


def sound_of(campaign: Campaign) -> str:
    """Return the name by which the switch plays the campaign's message; empty without one."""
    name = campaign.drop_message.name or ""
    if not name:
        return ""
    if settings.SOUNDS_FOLDER:
        return _in_folder(name)
    if settings.SOUNDS_URL:
        return f"{settings.SOUNDS_URL.rstrip('/')}{signed_path(campaign)}"
    return name if settings.SWITCH_BACKEND == "simulated" else ""


def signed_path(campaign: Campaign) -> str:
    """Return the path of the message, which needs no log-in because it is signed."""
    return f"/sounds/{_signer.sign_object(campaign.drop_message.name)}.wav"


def file_of(token: str) -> str | None:
    """Return the stored file of a signed address, or None."""
    try:
        name = _signer.unsign_object(token)
    except signing.BadSignature:
        return None
    return str(name) if Campaign.objects.filter(drop_message=name).exists() else None


def _in_folder(name: str) -> str:
    """Copy the message into the shared folder, unless it is there. Return its name below Asterisk's sounds."""
    folder = Path(settings.SOUNDS_FOLDER)
    target = folder / Path(name).name
    if not target.exists():
        try:
            part = target.with_suffix(f".{os.getpid()}.part")
            with default_storage.open(name) as file:
                part.write_bytes(file.read())
            part.rename(target)
        except OSError as error:
            logger.warning("a message could not be copied into the folder of sounds", extra={"error": str(error)})
            return ""
    return f"{folder.name}/{target.stem}"
