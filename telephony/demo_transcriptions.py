"""The demonstration's transcriptions: one of each status, with recordings to play."""

import io
import math
import wave
from array import array
from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models import F

from callcentre.core.actor import SYSTEM
from telephony.models import (
    Connection,
    ConnectionTopic,
    EvaluationCriterion,
    Queue,
    Recording,
    Topic,
    TopicField,
    Transcription,
)
from telephony.talk_ratio import CUSTOMER, USER

RATE = 8000
# Begin, end (of SCRIPT_SECONDS), speaker, text.
SCRIPT = [
    (0.6, 4.1, USER, "Good morning, this is the hotline, my name is {agent}. How can I help you?"),
    (4.9, 9.8, CUSTOMER, "Good morning. I ordered a desk lamp ten days ago and it has not arrived yet."),
    (10.3, 13.2, USER, "I am sorry to hear that. Could you tell me the order number, please?"),
    (14.6, 17.4, CUSTOMER, "Yes, it is eight one five, two zero two six."),
    (18.0, 19.1, USER, "Thank you, one moment."),
    (
        24.5,
        31.2,
        USER,
        "I see it: the parcel left our warehouse yesterday. It was late because the lamp was out of stock.",
    ),
    (31.8, 35.0, CUSTOMER, "I see. Nobody told me about that. When will it be here?"),
    (35.4, 40.9, USER, "Tomorrow before noon. I will send you a message with the link to follow it within the hour."),
    (41.5, 43.6, CUSTOMER, "That is fine. Thank you for your help."),
    (44.0, 46.8, USER, "Thank you for calling, and have a nice day. Goodbye."),
    (47.0, 47.9, CUSTOMER, "Goodbye."),
]
SCRIPT_SECONDS = 50.0
# The lengths of calls to which the script is stretched.
SHORTEST, LONGEST = timedelta(seconds=40), timedelta(seconds=90)
SUMMARY = [
    {"content": "The customer asks for order 815/2026, which is ten days late.", "important": False},
    {"content": "The lamp was out of stock, and nobody had told the customer.", "important": True},
    {"content": "The parcel arrives tomorrow before noon; the agent sends a link to follow it.", "important": True},
]
SENTIMENT = {
    "sentiment": "POSITIVE",
    "justification": "Annoyed at first, the customer thanks the agent once there is a date.",
}
# For the criteria, in their order.
FULFILLED = (True, False, True)


def seed(queue: Queue) -> None:
    """Add transcriptions to the newest answered calls whose length fits the script, unless there are some already.

    One is finished and has a topic, one is in progress, one has failed, one is over the limit.
    """
    if Transcription.objects.exists():
        return
    fitting = queue.connections.filter(
        state=Connection.State.ENDED,
        direction=Connection.Direction.INBOUND,
        ended_at__gte=F("answered_at") + SHORTEST,
        ended_at__lte=F("answered_at") + LONGEST,
    ).exclude(agent=None)
    calls = list(fitting.select_related("agent").order_by("-created_at", "-id")[:4])
    for call, make in zip(calls, (_finished, _pending, _failed, _exceeded), strict=False):
        _record(call)
        make(call)


def _finished(call: Connection) -> None:
    factor = call.billsec / SCRIPT_SECONDS
    agent = call.agent.full_name if call.agent else ""
    _transcription(
        call,
        Transcription.Status.SUCCESS,
        attempt_count=1,
        parts=[
            {
                "begin": round(begin * factor, 2),
                "end": round(end * factor, 2),
                "speaker": speaker,
                "text": text.format(agent=agent),
            }
            for begin, end, speaker, text in SCRIPT
        ],
        summary=SUMMARY,
        sentiment=SENTIMENT,
        evaluated_criteria=[
            {"criteriaId": str(pk), "fulfilled": is_fulfilled}
            for pk, is_fulfilled in zip(
                EvaluationCriterion.objects.values_list("pk", flat=True), FULFILLED, strict=False
            )
        ],
    )
    topic = Topic.objects.active().filter(group__queue=call.queue_id, show_custom_fields=True).first()
    number = TopicField.objects.active().filter(queue=call.queue_id, is_required=True).first()
    if topic and number:
        ConnectionTopic.objects.create(
            connection=call,
            topic=topic,
            agent=call.agent,
            comment="Sends the link to follow the parcel.",
            fields=[{"field_id": number.pk, "value": "815/2026"}],
            set_by=SYSTEM.name,
        )


def _pending(call: Connection) -> None:
    # Due in a century, so that no sweep takes it and it stays in progress.
    _transcription(
        call, Transcription.Status.PENDING, finished_at=None, next_attempt_at=call.created_at + timedelta(days=36_500)
    )


def _failed(call: Connection) -> None:
    _transcription(call, Transcription.Status.ERROR, attempt_count=5, error="no answer: ConnectTimeout")


def _exceeded(call: Connection) -> None:
    _transcription(call, Transcription.Status.LIMIT_EXCEEDED, attempt_count=1)


def _transcription(call: Connection, status: str, **values: Any) -> None:
    times = {"created_at": call.ended_at, "finished_at": call.ended_at}
    Transcription.objects.create(
        connection=call, status=status, **{"seconds": call.billsec if values.get("parts") else 0, **times, **values}
    )


def _record(call: Connection) -> None:
    """Store a recording that hums instead of voices: the agent on the left, the customer on the right."""
    factor = call.billsec / SCRIPT_SECONDS
    spans = [(begin * factor, end * factor, speaker) for begin, end, speaker, _text in SCRIPT]
    content = _wav(call.billsec, spans)
    recording = Recording.objects.create(
        connection=call,
        name=call.uid,
        state=Recording.State.READY,
        size=len(content),
        seconds=call.billsec,
        started_at=call.answered_at or call.created_at,
        ready_at=call.ended_at,
        attempt_count=1,
        is_considered=True,
    )
    default_storage.delete(recording.path)
    recording.file.name = default_storage.save(recording.path, ContentFile(content))
    recording.save(update_fields=["file"])


def _wav(seconds: int, spans: Iterable[tuple[float, float, str]]) -> bytes:
    frames = array("h", bytes(4 * RATE * seconds))
    for begin, end, speaker in spans:
        first, count = round(begin * RATE), round((end - begin) * RATE)
        hum = (_second_of_hum(115 if speaker == USER else 205) * (count // RATE + 1))[:count]
        frames[2 * first + (speaker == CUSTOMER) : 2 * (first + count) : 2] = hum
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(2)
        sound.setsampwidth(2)
        sound.setframerate(RATE)
        sound.writeframes(frames.tobytes())
    return buffer.getvalue()


@lru_cache
def _second_of_hum(pitch: int) -> "array[int]":
    """Return a tone with overtones that swells four times, as syllables do."""
    samples = []
    for n in range(RATE):
        turn = 2 * math.pi * pitch * n / RATE
        tone = math.sin(turn) + 0.5 * math.sin(2 * turn) + 0.25 * math.sin(3 * turn)
        samples.append(int(4000 * tone * math.sin(math.pi * 4 * n / RATE) ** 2))
    return array("h", samples)
