"""Agents and their groups as tests want them; a trait names a state."""

from datetime import time, timedelta
from typing import Any

import factory
from django.utils import timezone

from telephony import models
from telephony.numbers import comparable
from tests.model_factory import ModelFactory


class AgentGroupFactory(ModelFactory[models.AgentGroup]):
    name = factory.Sequence(lambda n: f"Group {n}")


class AgentFactory(ModelFactory[models.Agent]):
    login = factory.Sequence(lambda n: f"agent-{n}")
    name = "Anna"
    surname = "Nowak"

    class Params:
        grouped = factory.Trait(group=factory.SubFactory(AgentGroupFactory))
        with_phone = factory.Trait(number=factory.Sequence(lambda n: str(1000 + n)))
        left = factory.Trait(is_active=False)


class PauseFactory(ModelFactory[models.Pause]):
    name = factory.Sequence(lambda n: f"Pause {n}")


class AgentSessionFactory(ModelFactory[models.AgentSession]):
    """An open session. Tests of verbs let an agent log in instead."""

    agent = factory.SubFactory(AgentFactory)
    started_at = factory.LazyFunction(lambda: timezone.now().replace(microsecond=0))


class AgentStateFactory(ModelFactory[models.AgentState]):
    """Free, since now."""

    agent = factory.SubFactory(AgentFactory)
    kind = "free"
    started_at = factory.LazyFunction(lambda: timezone.now().replace(microsecond=0))


class QueueFactory(ModelFactory[models.Queue]):
    name = factory.Sequence(lambda n: f"Queue {n}")
    wrap_up_seconds = 0

    @factory.post_generation  # type: ignore[untyped-decorator]
    def members(self: Any, create: bool, agents: Any, **_: Any) -> None:
        for agent in agents or ():
            QueueMemberFactory(queue=self, agent=agent)


class QueueMemberFactory(ModelFactory[models.QueueMember]):
    queue = factory.SubFactory(QueueFactory)
    agent = factory.SubFactory(AgentFactory)


class SkillFactory(ModelFactory[models.Skill]):
    name = factory.Sequence(lambda n: f"Skill {n}")


class AgentSkillFactory(ModelFactory[models.AgentSkill]):
    agent = factory.SubFactory(AgentFactory)
    skill = factory.SubFactory(SkillFactory)
    level = 5


class RequiredSkillFactory(ModelFactory[models.RequiredSkill]):
    queue = factory.SubFactory(QueueFactory)
    skill = factory.SubFactory(SkillFactory)
    level = 5


class CallerPriorityFactory(ModelFactory[models.CallerPriority]):
    number = factory.Sequence(lambda n: f"+4860{n:07}")
    steps = 10


class OpeningHoursFactory(ModelFactory[models.OpeningHours]):
    queue = factory.SubFactory(QueueFactory)
    weekday = 1
    opens_at = time(8)
    closes_at = time(16)


class ConnectionFactory(ModelFactory[models.Connection]):
    """An outbound call that was answered and is over, unless a trait says otherwise."""

    direction = "OUTBOUND"
    state = "ended"
    src = "101"
    dst = factory.Sequence(lambda n: f"+48 22 555 {1000 + n % 9000}")
    src_number = factory.LazyAttribute(lambda call: comparable(call.src))
    dst_number = factory.LazyAttribute(lambda call: comparable(call.dst))
    created_at = factory.LazyFunction(lambda: timezone.now().replace(microsecond=0) - timedelta(minutes=5))
    answered_at = factory.LazyAttribute(lambda call: call.created_at + timedelta(seconds=10))
    ended_at = factory.LazyAttribute(lambda call: call.created_at + timedelta(seconds=70))
    disposition = "ANSWERED"

    class Params:
        inbound = factory.Trait(
            direction="INBOUND",
            queue=factory.SubFactory(QueueFactory),
            src=factory.Sequence(lambda n: f"+48 22 555 {1000 + n % 9000}"),
            dst="+48225550100",
        )
        unanswered = factory.Trait(answered_at=None, disposition="NO ANSWER")
        talking = factory.Trait(state="talking", ended_at=None, disposition="")
        waiting = factory.Trait(
            inbound=True,
            state="waiting",
            answered_at=None,
            ended_at=None,
            disposition="",
            waiting_since=factory.SelfAttribute("created_at"),
        )


class LegFactory(ModelFactory[models.Leg]):
    """The customer's side of a connection, up."""

    connection = factory.SubFactory(ConnectionFactory)
    role = "customer"
    number = "+48225550107"
    channel_id = factory.Sequence(lambda n: f"channel-{n}")
    state = "up"
    asked_at = factory.SelfAttribute("connection.created_at")
    up_at = factory.SelfAttribute("asked_at")


class OfferFactory(ModelFactory[models.Offer]):
    """An agent's phone rings."""

    connection = factory.SubFactory(ConnectionFactory, waiting=True)
    queue = factory.SelfAttribute("connection.queue")
    agent = factory.SubFactory(AgentFactory)
    offered_at = factory.SelfAttribute("connection.created_at")


class TalkFactory(ModelFactory[models.Talk]):
    """The whole talk of an outbound call, as its agent transfers it."""

    connection = factory.SubFactory(ConnectionFactory, has_talks=True)
    agent = factory.SubFactory(AgentFactory)
    counted_at = factory.SelfAttribute("connection.created_at")
    started_at = factory.SelfAttribute("connection.answered_at")
    ended_at = factory.SelfAttribute("connection.ended_at")


class TransferFactory(ModelFactory[models.Transfer]):
    connection = factory.SubFactory(ConnectionFactory)
    number = "+48225550199"
    action = "transfer"
    actor_kind = "system"
    actor_name = "system"


class ConsultationFactory(ModelFactory[models.Consultation]):
    """A consultation of the agent of the call: the other has picked up, and the customer hears music."""

    connection = factory.SubFactory(ConnectionFactory, talking=True, is_on_hold=True)
    from_agent = factory.SubFactory(AgentFactory)
    agent = factory.SubFactory(AgentFactory)
    number = factory.LazyAttribute(lambda row: row.agent.number if row.agent else "+48225550199")
    asked_at = factory.SelfAttribute("connection.created_at")
    up_at = factory.SelfAttribute("asked_at")


def with_phone(*, is_consulting: bool, **values: Any) -> models.Connection:
    """A call whose agent has a phone in it, and may have called a colleague."""
    agent = AgentFactory()
    call: models.Connection = ConnectionFactory(talking=True, agent=agent, is_on_hold=is_consulting, **values)
    LegFactory(connection=call, agent=agent, role="agent")
    if is_consulting:
        LegFactory(connection=call, agent=ConsultationFactory(connection=call).agent, role="consulted")
    return call


class CallCommandFactory(ModelFactory[models.CallCommand]):
    connection = factory.SubFactory(ConnectionFactory, talking=True)
    kind = "hang_up"
    actor_kind = "system"
    actor_name = "system"
    created_at = factory.LazyFunction(timezone.now)


class TopicGroupFactory(ModelFactory[models.TopicGroup]):
    queue = factory.SubFactory(QueueFactory)
    name = factory.Sequence(lambda n: f"Topics {n}")


class TopicFactory(ModelFactory[models.Topic]):
    group = factory.SubFactory(TopicGroupFactory)
    name = factory.Sequence(lambda n: f"Topic {n}")


class TopicFieldFactory(ModelFactory[models.TopicField]):
    queue = factory.SubFactory(QueueFactory)
    name = factory.Sequence(lambda n: f"Field {n}")


class ConnectionTopicFactory(ModelFactory[models.ConnectionTopic]):
    connection = factory.SubFactory(ConnectionFactory)
    topic = factory.SubFactory(TopicFactory)
    agent = factory.SelfAttribute("connection.agent")
    set_by = "tester"


class TransferShortcutFactory(ModelFactory[models.TransferShortcut]):
    name = factory.Sequence(lambda n: f"Shortcut {n}")
    number = "+48225550199"


class EvaluationCriterionFactory(ModelFactory[models.EvaluationCriterion]):
    name = factory.Sequence(lambda n: f"Criterion {n}")
    description = "The agent says his name."


class RecordingFactory(ModelFactory[models.Recording]):
    """A recording that was requested from the switch."""

    connection = factory.SubFactory(ConnectionFactory)
    name = factory.LazyAttribute(lambda recording: recording.connection.uid)
    started_at = factory.SelfAttribute("connection.created_at")

    class Params:
        fetching = factory.Trait(state="fetching", next_attempt_at=factory.SelfAttribute("started_at"))
        ready = factory.Trait(
            state="ready",
            seconds=60,
            ready_at=factory.SelfAttribute("started_at"),
            file=factory.LazyAttribute(lambda recording: f"recordings/{recording.name}.wav"),
        )


class TranscriptionFactory(ModelFactory[models.Transcription]):
    """One that is to be made now."""

    connection = factory.SubFactory(ConnectionFactory)
    created_at = factory.SelfAttribute("connection.created_at")
    next_attempt_at = factory.SelfAttribute("created_at")

    class Params:
        finished = factory.Trait(
            status="SUCCESS",
            finished_at=factory.SelfAttribute("created_at"),
            next_attempt_at=None,
            seconds=60,
            parts=[
                {"begin": 0, "end": 15, "speaker": "USER", "text": "Good morning."},
                {"begin": 15, "end": 45, "speaker": "CUSTOMER", "text": "I am calling about my invoice."},
            ],
            summary=[{"content": "A question about an invoice.", "important": True}],
            sentiment={"sentiment": "NEUTRAL", "justification": "A plain question."},
            evaluated_criteria=[{"criteriaId": "1", "fulfilled": True}],
        )


class TranscriptionUsageFactory(ModelFactory[models.TranscriptionUsage]):
    month = "2026-11"
    seconds = 60


class SwitchCommandFactory(ModelFactory[models.SwitchCommand]):
    name = "channels"


class SwitchContactFactory(ModelFactory[models.SwitchContact]):
    heard_at = factory.LazyFunction(timezone.now)


class LedgerChangeFactory(ModelFactory[models.LedgerChange]):
    agent = factory.SubFactory(AgentFactory)
    since = factory.LazyFunction(timezone.now)
    until = factory.LazyAttribute(lambda change: change.since)


class BrowserPhoneFactory(ModelFactory[models.BrowserPhone]):
    agent = factory.SubFactory(AgentFactory, with_phone=True, uses_browser_phone=True)
    password = "of-one-window"
    opened_at = factory.LazyFunction(timezone.now)
    seen_at = factory.LazyFunction(timezone.now)


class CallQualityFactory(ModelFactory[models.CallQuality]):
    connection = factory.SubFactory(ConnectionFactory)
    agent = factory.SubFactory(AgentFactory)
    reports = 30
    loss, loss_worst = 0.5, 3.0
    jitter, jitter_worst = 4.0, 21.0
    round_trip, round_trip_worst = 32.0, 80.0


class AgentLineFactory(ModelFactory[models.AgentLine]):
    agent = factory.SubFactory(AgentFactory, with_phone=True)
    channel_id = factory.Sequence(lambda n: f"line-{n}")
    asked_at = factory.LazyFunction(timezone.now)


class CallBackFactory(ModelFactory[models.CallBack]):
    """A call-back that waits."""

    queue = factory.SubFactory(QueueFactory)
    # No example of the documents.
    number = factory.Sequence(lambda n: f"+4822666{n % 10_000:04}")
    origin = "api"
    created_at = factory.LazyFunction(lambda: timezone.now().replace(microsecond=0))
    waiting_since = next_attempt_at = factory.SelfAttribute("created_at")


class MissedCallerFactory(ModelFactory[models.MissedCaller]):
    """A caller who gave up."""

    connection = factory.SubFactory(ConnectionFactory, inbound=True, unanswered=True)
    queue = factory.SelfAttribute("connection.queue")
    reason = "gave_up"
    missed_at = factory.SelfAttribute("connection.ended_at")


class SupervisionFactory(ModelFactory[models.Supervision]):
    """A supervisor who listens to a call."""

    connection = factory.SubFactory(ConnectionFactory, talking=True, is_supervised=True)
    agent = factory.SubFactory(AgentFactory, with_phone=True)
    channel_id = factory.LazyAttributeSequence(lambda row, n: f"callcentre-monitor-{row.connection.pk}-{n}")
    mode = "listen"
    modes = factory.LazyAttribute(lambda row: [[row.mode, row.asked_at.isoformat()]])
    actor_kind = "user"
    actor_name = "boss"
    asked_at = factory.LazyFunction(timezone.now)
    up_at = factory.SelfAttribute("asked_at")


class AgentMessageFactory(ModelFactory[models.AgentMessage]):
    agent = factory.SubFactory(AgentFactory)
    text = "Please come to the desk."
    actor_kind = "user"
    actor_name = "boss"
    sent_at = factory.LazyFunction(timezone.now)


class MenuFactory(ModelFactory[models.Menu]):
    name = factory.Sequence(lambda n: f"Menu {n}")


class MenuEntryFactory(ModelFactory[models.MenuEntry]):
    menu = factory.SubFactory(MenuFactory)
    key = "1"
    number = "+48225550999"


class PromptFactory(ModelFactory[models.Prompt]):
    queue = None
    kind = "greeting"
    language = "pl"
    file = "prompts/hello.wav"
    seconds = 2.0


class ScreenPopFactory(ModelFactory[models.ScreenPop]):
    name = factory.Sequence(lambda n: f"CRM {n}")
    queue = factory.SubFactory(QueueFactory)
    url = "https://crm.example/find?number={number}"


class CallerStepFactory(ModelFactory[models.CallerStep]):
    connection = factory.SubFactory(ConnectionFactory)
    kind = "queue"


class CallerMessageFactory(ModelFactory[models.CallerMessage]):
    recording = factory.SubFactory(RecordingFactory)
