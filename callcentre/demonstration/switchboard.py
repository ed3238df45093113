"""The switchboard of the demonstration: agents, the queue Hotline and its topics, a month of calls, transcriptions."""

from datetime import timedelta
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models import F

from callcentre.core.actor import SYSTEM
from callcentre.demonstration import DATA, add, calls, data
from telephony.models import (
    Agent,
    AgentGroup,
    Connection,
    ConnectionTopic,
    EvaluationCriterion,
    Pause,
    Queue,
    QueueMember,
    Recording,
    Topic,
    TopicField,
    TopicGroup,
    Transcription,
    TransferShortcut,
)
from telephony.switch.simulated import tones

SCRIPT_SECONDS = 50.0
# The lengths of calls to which the script is stretched.
SHORTEST, LONGEST = timedelta(seconds=40), timedelta(seconds=90)


def _seed_transcriptions(queue: Queue) -> None:
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
    given, status = data("transcription"), Transcription.Status
    for place, call in enumerate(fitting.select_related("agent").order_by("-created_at", "-id")[:4]):
        parts = _parts(given["script"], call)
        _record(call)
        if place == 0:
            criteria = zip(EvaluationCriterion.objects.values_list("pk", flat=True), given["fulfilled"], strict=False)
            evaluated = [{"criteriaId": str(pk), "fulfilled": is_fulfilled} for pk, is_fulfilled in criteria]
            texts = {"parts": parts, "summary": given["summary"], "sentiment": given["sentiment"]}
            _add(call, status.SUCCESS, attempt_count=1, seconds=call.billsec, evaluated_criteria=evaluated, **texts)
            _set_topic(call)
        elif place == 1:
            # Due in a century, so that no sweep takes it and it stays in progress.
            due_at = call.created_at + timedelta(days=36_500)
            _add(call, status.PENDING, finished_at=None, next_attempt_at=due_at)
        elif place == 2:
            _add(call, status.ERROR, attempt_count=5, error="no answer: ConnectTimeout")
        else:
            _add(call, status.LIMIT_EXCEEDED, attempt_count=1)


def _add(call: Connection, status: str, **values: Any) -> None:
    times = {"created_at": call.ended_at, "finished_at": call.ended_at}
    Transcription.objects.create(**{"connection": call, "status": status, "seconds": 0, **times, **values})


def _parts(script: list[tuple[float, float, str, str]], call: Connection) -> list[dict[str, Any]]:
    """Return the script, stretched to the length of the call."""
    factor, agent = call.billsec / SCRIPT_SECONDS, call.agent.full_name if call.agent else ""
    return [
        {
            "begin": round(begin * factor, 2),
            "end": round(end * factor, 2),
            "speaker": speaker,
            "text": text.format(agent=agent),
        }
        for begin, end, speaker, text in script
    ]


def _set_topic(call: Connection) -> None:
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


def _record(call: Connection) -> None:
    """Store a recording as the simulated switch makes it, with tones instead of voices."""
    content = b"".join(tones(call.billsec))
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


def seed() -> None:
    """Add the rows that are missing, and a month of work to a database without calls."""
    given = data("switchboard")
    agents = []
    for row in given["agents"]:
        (group,) = add(AgentGroup, [{"name": row["group"]}])
        values = {"email": f"{row['login']}@callcentre.example", "outbound_mode": group.name == "Sales", "group": group}
        agents += add(Agent, [{**row, **values}], "login")
    pauses = add(Pause, given["pauses"])
    queue = Queue.objects.filter(name="Hotline").first()
    if queue is None:
        queue = Queue.objects.create(name="Hotline", number="+48225550100")
        QueueMember.objects.bulk_create(QueueMember(queue=queue, agent=agent) for agent in agents)
    calls.seed(queue, agents, pauses, given["shifts"])
    for row in given["topic_groups"]:
        topics = row.pop("topics")
        add(Topic, topics, group=add(TopicGroup, [row], queue=queue)[0])
    add(TopicField, given["topic_fields"], queue=queue)
    add(EvaluationCriterion, given["criteria"])
    for row in given["shortcuts"]:
        values = {"icon": (DATA / row["icon"]).read_bytes(), "queue": None if row.get("number") else queue}
        add(TransferShortcut, [row | values])
    _seed_transcriptions(queue)
