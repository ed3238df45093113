"""Recordings as of a switch: WAV files with sound or silence."""

import io
import wave
from array import array
from collections.abc import Iterator

from telephony.switch.base import SwitchError, SwitchUnreachable

RATE = 8000
# Frames of one wave.
PERIOD = 20


def wav(*channels: int, seconds: float = 1.0, rate: int = RATE, width: int = 2) -> bytes:
    """Return a WAV file with a channel for each loudness (0 is silence), all of one length."""
    frames = round(seconds * rate)
    period = array("h", [value for n in range(PERIOD) for value in (_wave(n, peak) for peak in channels)])
    samples = (period * (frames // PERIOD + 1))[: frames * len(channels)]
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(len(channels))
        sound.setsampwidth(width)
        sound.setframerate(rate)
        sound.writeframes(samples.tobytes())
    return buffer.getvalue()


def _wave(n: int, peak: int) -> int:
    return peak if n < PERIOD // 2 else -peak


class RecorderSwitch:
    """A switch that has recordings and nothing else."""

    recordings: dict[str, bytes] = {}
    removed: list[str] = []
    is_reachable = True

    def recording(self, name: str) -> Iterator[bytes]:
        if not type(self).is_reachable:
            raise SwitchUnreachable("connection refused")
        if name not in self.recordings:
            raise SwitchError("There is no such recording.")
        content = self.recordings[name]
        half = len(content) // 2
        yield content[:half]
        yield content[half:]

    def remove_recording(self, name: str) -> None:
        self.removed.append(name)
