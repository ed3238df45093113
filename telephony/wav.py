"""WAV files as switches write them: often with a header from before the recording."""

import struct
import wave
from typing import IO


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
