"""Requests to the provider: speech to text, and a model that answers in JSON, over the OpenAI interface."""

import math
import re
import time
import wave
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import orjson
import requests
from django.conf import settings

from telephony.talk_ratio import CUSTOMER, USER
from telephony.wav import wav_of

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
                    wav = wav_of(track, track_channels, width, rate)
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


CONNECT_SECONDS = 10.0
MOST_ANSWERED_BYTES = 32 * 1024 * 1024
# After these and 5xx another attempt may succeed, after other answers it will not.
PASSING = (408, 409, 425, 429)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class ProviderError(Exception):
    """The provider gave no usable answer. `is_final`: another attempt will not help."""

    def __init__(self, message: str, *, is_final: bool = False, retry_after: float = 0) -> None:
        super().__init__(message)
        self.is_final = is_final
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Segment:
    """Words of a piece, with begin and end in seconds. `label` is the provider's name of the speaker."""

    begin: float
    end: float
    label: str
    text: str


def transcribe(piece: Piece) -> list[Segment]:
    fields = {
        "model": settings.TRANSCRIPTION_MODEL,
        "response_format": settings.TRANSCRIPTION_FORMAT,
        **({"language": settings.TRANSCRIPTION_LANGUAGE} if settings.TRANSCRIPTION_LANGUAGE else {}),
        **(
            {"chunking_strategy": "auto"}
            if settings.TRANSCRIPTION_FORMAT == "diarized_json"
            else {"timestamp_granularities[]": "segment"}
        ),
    }
    answer = _post(
        f"{settings.TRANSCRIPTION_URL}/audio/transcriptions",
        settings.TRANSCRIPTION_API_KEY,
        data=fields,
        files={"file": ("call.wav", piece.wav, "audio/wav")},
    )
    match answer:
        case {"segments": list(segments)}:
            read = [_segment(segment, piece.seconds) for segment in segments]
            return [segment for segment in read if segment.text]
    raise ProviderError("the answer has no segments")


def _segment(segment: Any, seconds: float) -> Segment:
    match segment:
        case {"start": int() | float() as start, "end": int() | float() as end, "text": str(text)}:
            label = segment.get("speaker")
            begin = min(max(float(start), 0.0), seconds)
            return Segment(
                begin=begin,
                end=max(min(float(end), seconds), begin),
                label=clean(label) if isinstance(label, str) else "",
                text=clean(text),
            )
    raise ProviderError("a segment has no start, end or text")


def answer_of_model(system: str, user: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of the analysing model, which may not follow the schema."""
    answer = _post(
        f"{settings.ANALYSIS_URL}/chat/completions",
        settings.ANALYSIS_API_KEY,
        json={
            "model": settings.ANALYSIS_MODEL,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "call", "strict": True, "schema": schema},
            },
        },
    )
    match answer:
        case {"choices": [{"message": {"content": str(content)}}, *_]}:
            # Models without support for schemas often wrap the JSON.
            content = content.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
            return _object(content.encode(errors="replace"), "the model's answer")
    raise ProviderError("the model's answer has no content")


def clean(text: str) -> str:
    """Replace the characters that PostgreSQL cannot store."""
    return _UNSTORABLE.sub("\ufffd", text).strip()


def _post(url: str, key: str, **body: Any) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    timeout = float(settings.TRANSCRIPTION_TIMEOUT_SECONDS)
    ends_at = time.monotonic() + timeout
    try:
        with requests.post(
            url, headers=headers, timeout=(CONNECT_SECONDS, timeout), stream=True, allow_redirects=False, **body
        ) as response:
            content = _content(response, ends_at)
            if not 200 <= response.status_code < 300:
                raise _refusal(response, content)
    # requests raises ValueError for a chunk of negative length.
    except (requests.RequestException, ValueError) as error:
        raise ProviderError(f"no answer: {type(error).__name__}") from error
    return _object(content, "the provider's answer")


def _content(response: requests.Response, ends_at: float) -> bytes:
    content = bytearray()
    for piece in response.iter_content(64 * 1024):
        content += piece
        if len(content) > MOST_ANSWERED_BYTES:
            raise ProviderError("the answer is too long", is_final=True)
        if time.monotonic() > ends_at:
            raise ProviderError("no answer: it takes too long")
    return bytes(content)


def _refusal(response: requests.Response, content: bytes) -> ProviderError:
    try:
        reason = str(orjson.loads(content)["error"]["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        reason = content[:200].decode(errors="replace")
    is_passing = response.status_code >= 500 or response.status_code in PASSING
    message = f"HTTP {response.status_code}: {clean(reason)[:200]}"
    return ProviderError(message, is_final=not is_passing, retry_after=_retry_after(response))


def _retry_after(response: requests.Response) -> float:
    try:
        seconds = float(response.headers.get("Retry-After", 0))
    except ValueError:  # a date: the usual delay applies
        return 0
    return max(seconds, 0) if math.isfinite(seconds) else 0


def _object(content: bytes, what: str) -> dict[str, Any]:
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise ProviderError(f"{what} is no JSON") from error
    if not isinstance(value, dict):
        raise ProviderError(f"{what} is no JSON object")
    return value
