"""Pieces of a recording, short enough for a provider, with one speaker each if the channels separate them."""

import io
import wave
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from telephony.talk_ratio import CUSTOMER, USER

# A provider accepts 25 MB at most, and a request should not take too long.
PIECE_SECONDS = 600
PIECE_BYTES = 20 * 1024 * 1024
# Of 32,767. A quieter piece is silence, in which models invent words.
SILENCE_PEAK = 64
# In recordings with two channels the agent has the first one.
CHANNEL_SPEAKERS = (USER, CUSTOMER)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some minutes of a recording as a WAV file. `speaker` is "" if all speakers are in one channel."""

    begin: float
    seconds: float
    speaker: str
    wav: bytes
    is_whole: bool


def pieces(file: "IO[bytes]") -> Iterator[Piece]:
    """Return the pieces of a WAV file that are not silent."""
    with wave.open(file, "rb") as sound:
        channels, width, rate = sound.getnchannels(), sound.getsampwidth(), sound.getframerate()
        frames_each = min(PIECE_SECONDS * rate, PIECE_BYTES // (channels * width))
        is_whole = sound.getnframes() <= frames_each
        begin = 0.0
        while frames := sound.readframes(frames_each):
            seconds = len(frames) / (channels * width * rate)
            for speaker, track, track_channels in _tracks(frames, channels, width):
                if not _is_silent(track, width):
                    wav = _wav(track, track_channels, width, rate)
                    yield Piece(begin, seconds, speaker, wav, is_whole)
            begin += seconds


def _tracks(frames: bytes, channels: int, width: int) -> list[tuple[str, bytes, int]]:
    """Return (speaker, samples, channels) of each track. Two equal channels are one track without a speaker."""
    if (channels, width) != (2, 2):
        return [("", frames, channels)]
    samples = array("h", frames[: len(frames) // 4 * 4])
    left, right = samples[0::2].tobytes(), samples[1::2].tobytes()
    if left == right:
        return [("", left, 1)]
    return [(speaker, track, 1) for speaker, track in zip(CHANNEL_SPEAKERS, (left, right), strict=True)]


def _is_silent(track: bytes, width: int) -> bool:
    if width != 2:
        return False
    samples = array("h", track[: len(track) // 2 * 2])
    return not samples or (max(samples) < SILENCE_PEAK and min(samples) > -SILENCE_PEAK)


def _wav(samples: bytes, channels: int, width: int, rate: int) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(width)
        sound.setframerate(rate)
        sound.writeframes(samples)
    return buffer.getvalue()
