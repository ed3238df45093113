"""WAV files as switches write them, often with a header from before the recording, and as they play them."""

import io
import struct
import wave
from typing import IO

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from callcentre.core.limited_process import BeyondLimits, run_limited
from telephony.samples import BYTES, RATE, resample

# The most parts of a file before its samples. Recorders write a handful.
MOST_PARTS = 100


def _find_samples(file: "IO[bytes]") -> tuple[int, int]:
    """Return the position and the length of the samples, as the header has it.

    Raises wave.Error if no samples follow the first parts: a file may have millions of empty ones.
    """
    begin = 20
    for _part in range(MOST_PARTS):
        file.seek(begin - 8)
        header = file.read(8)
        if len(header) < 8:
            break
        name, length = struct.unpack("<4sI", header)
        if name == b"data":
            return begin, length
        begin += 8 + length + length % 2
    raise wave.Error("no samples")


def mend(file: "IO[bytes]", size: int) -> float:
    """Correct the lengths in the header, which players need. Return the length in seconds.

    Raises wave.Error or EOFError if the file is no WAV of plain samples.
    """
    begin, length = _find_samples(file)
    _set_lengths(file, begin, length, size)
    file.seek(0)
    with wave.open(file, "rb") as sound:
        if not sound.getframerate():
            raise wave.Error("no samples a second")
        return round(sound.getnframes() / sound.getframerate(), 2)


def _set_lengths(file: "IO[bytes]", begin: int, length: int, size: int) -> None:
    """Write the real length of the samples, which begin at `begin`, unless the header's length is possible."""
    if 0 < length <= size - begin:
        return
    file.seek(begin - 4)
    file.write(struct.pack("<I", size - begin))
    file.seek(4)
    file.write(struct.pack("<I", size - 8))


LONGEST_SECONDS = 60
# Samples a second of a message. The file says how many, and so how many it becomes.
RATES = range(6_000, 48_001)


def to_telephone(file: "IO[bytes]") -> bytes:
    """Return the WAV in the form that switches play. Raises ValidationError for anything else than plain samples."""
    try:
        _find_samples(file)
        file.seek(0)
        with wave.open(file, "rb") as sound:
            rate, channels, width = sound.getframerate(), sound.getnchannels(), sound.getsampwidth()
            if rate not in RATES or channels not in (1, 2) or width not in (1, 2, 3, 4):
                raise wave.Error("other samples than those of a plain WAV")
            if sound.getnframes() > LONGEST_SECONDS * rate:
                limit = {"seconds": LONGEST_SECONDS}
                raise ValidationError(_("The sound is longer than %(seconds)s seconds."), params=limit)
            content = sound.readframes(sound.getnframes())
        samples = run_limited(resample, struct.pack("<3I", rate, channels, width) + content)
    except (wave.Error, EOFError, struct.error, BeyondLimits) as error:
        limits = {"least": RATES[0] // 1000, "most": RATES[-1] // 1000}
        sentence = _("This is no WAV file of plain samples (PCM) with %(least)s to %(most)s kHz.")
        raise ValidationError(sentence, params=limits) from error
    if not samples:
        raise ValidationError(_("The sound is empty."))
    return wav_of(samples)


def wav_of(samples: bytes, channels: int = 1, width: int = BYTES, rate: int = RATE) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setparams((channels, width, rate, 0, "NONE", ""))
        sound.writeframes(samples)
    return buffer.getvalue()
