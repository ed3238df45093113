"""Sounds that the switch plays: a WAV of 8 kHz, mono, in our storage, and its name for the switch.

Asterisk finds a sound in a folder that it shares with this service (SOUNDS_FOLDER), or fetches it from a signed address
(SOUNDS_URL). Without both it cannot play it.
"""

import logging
import os
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from django.core import signing
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from callcentre.core.downloads import file_response

logger = logging.getLogger(__name__)

_signer = signing.Signer(salt="telephony.sound")


def store(file: FieldFile, sound: bytes) -> None:
    """Store the sound in a column, without saving the row.

    The name is of the content, because the switch keeps copies by name.
    """
    file.save(f"{sha256(sound).hexdigest()[:40]}.wav", ContentFile(sound), save=False)


def sound_of(name: str) -> str:
    """Return the name by which the switch plays a stored file; empty without a way to the switch."""
    if settings.SOUNDS_FOLDER:
        return _in_folder(name)
    if settings.SOUNDS_URL:
        return f"{settings.SOUNDS_URL.rstrip('/')}{signed_path(name)}"
    return name if settings.SWITCH_BACKEND == "simulated" else ""


def signed_path(name: str) -> str:
    """Return the path of a stored file, which needs no log-in because it is signed."""
    return f"/sounds/{_signer.sign_object(name)}.wav"


@require_safe
def show_sound(request: HttpRequest, token: str) -> HttpResponseBase:
    try:
        name = str(_signer.unsign_object(token))
    except signing.BadSignature as error:
        raise Http404 from error
    if not default_storage.exists(name):
        raise Http404
    response = file_response(lambda: default_storage.open(name), name, "audio/wav", is_shown=True)
    # A new sound has a new name, so that Asterisk may keep the file.
    response["Cache-Control"] = "private, max-age=86400"
    return response


def _in_folder(name: str) -> str:
    """Copy the file into the shared folder, unless it is there. Return its name below Asterisk's sounds."""
    folder = Path(settings.SOUNDS_FOLDER)
    target = folder / Path(name).name
    if not target.exists():
        try:
            part = target.with_suffix(f".{os.getpid()}.part")
            with default_storage.open(name) as file:
                part.write_bytes(file.read())
            part.rename(target)
        except OSError as error:
            logger.warning("a sound could not be copied into the folder of sounds", extra={"error": str(error)})
            return ""
    return f"{folder.name}/{target.stem}"
