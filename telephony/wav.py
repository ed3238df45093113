"""WAV files as switches write them, often with a header from before the recording, and as they play them."""

import io
import struct
import sys
import wave
from array import array
from collections.abc import Callable, Sequence
from typing import IO

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _


def mend(file: "IO[bytes]", size: int) -> float:
    """Correct the lengths in the header, which players need. Return the length in seconds.

    Raises wave.Error or EOFError if the file is no WAV of plain samples.
    """
    file.seek(12)
    begin = 20
    while len(header := file.read(8)) == 8:
        name, length = struct.unpack("<4sI", header)
        if name == b"data":
            _set_lengths(file, begin, length, size)
            break
        begin += 8 + length + length % 2
        file.seek(begin - 8)
    file.seek(0)
    with wave.open(file, "rb") as sound:
        return round(sound.getnframes() / sound.getframerate(), 2)


def _set_lengths(file: "IO[bytes]", begin: int, length: int, size: int) -> None:
    """Write the real length of the samples, which begin at `begin`, unless the header's length is possible."""
    if 0 < length <= size - begin:
        return
    file.seek(begin - 4)
    file.write(struct.pack("<I", size - begin))
    file.seek(4)
    file.write(struct.pack("<I", size - 8))


# A message for the telephone: 8 kHz, 16 bits, one channel.
RATE, BYTES = 8000, 2
LONGEST_SECONDS = 60


def to_telephone(file: "IO[bytes]") -> bytes:
    """Return the WAV in the form that switches play. Raises ValidationError for anything else than plain samples."""
    try:
        with wave.open(file, "rb") as sound:
            if sound.getnframes() > LONGEST_SECONDS * sound.getframerate():
                limit = {"seconds": LONGEST_SECONDS}
                raise ValidationError(_("The sound is longer than %(seconds)s seconds."), params=limit)
            samples = _converted(sound)
    except (wave.Error, EOFError, ZeroDivisionError, struct.error) as error:
        raise ValidationError(_("This is no WAV file of plain samples (PCM).")) from error
    if not samples:
        raise ValidationError(_("The sound is empty."))
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as result:
        result.setparams((1, BYTES, RATE, 0, "NONE", ""))
        result.writeframes(samples)
    return buffer.getvalue()


def _converted(sound: wave.Wave_read) -> bytes:
    """Return the samples with one channel, 16 bits and 8 kHz."""
    width, channels = sound.getsampwidth(), sound.getnchannels()
    if channels not in (1, 2) or width not in _READERS:
        raise wave.Error("other samples than those of a plain WAV")
    content = sound.readframes(sound.getnframes())
    samples: Sequence[int] = _READERS[width](content[: len(content) // (width * channels) * width * channels])
    if channels == 2:
        samples = [(left + right) // 2 for left, right in zip(samples[::2], samples[1::2], strict=True)]
    result = array("h", _at_rate(samples, sound.getframerate()))
    if sys.byteorder == "big":
        result.byteswap()
    return result.tobytes()


def _at_rate(samples: Sequence[int], rate: int) -> list[int]:
    """Return the samples at 8 kHz: each is the mean of those that it stands for."""
    found = []
    for position in range(len(samples) * RATE // rate):
        begin = position * rate // RATE
        part = samples[begin : max(begin + 1, (position + 1) * rate // RATE)]
        found.append(sum(part) // len(part))
    return found


# By bytes of a sample. Those of one byte have no sign.
_READERS: dict[int, Callable[[bytes], Sequence[int]]] = {
    1: lambda content: [(value - 128) << 8 for value in content],
    2: lambda content: struct.unpack(f"<{len(content) // 2}h", content),
    3: lambda content: [
        int.from_bytes(content[place + 1 : place + 3], "little", signed=True) for place in range(0, len(content), 3)
    ],
    4: lambda content: [value >> 16 for value in struct.unpack(f"<{len(content) // 4}i", content)],
}
