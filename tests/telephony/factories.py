"""Agents and their groups as tests want them; a trait names a state."""

from datetime import time, timedelta
from typing import Any

import factory
from django.utils import timezone

from telephony.models import (
    Agent,
    AgentGroup,
    AgentLine,
    AgentMessage,
    AgentSession,
    AgentSkill,
    AgentState,
    BrowserPhone,
    CallBack,
    CallCommand,
    CallerMessage,
    CallerPriority,
    CallerStep,
    CallQuality,
    Connection,
    ConnectionTopic,
    Consultation,
    EvaluationCriterion,
    LedgerChange,
    Leg,
    Menu,
    MenuEntry,
    MissedCaller,
    Offer,
    OpeningHours,
    Pause,
    Prompt,
    Queue,
    QueueMember,
    Recording,
    RequiredSkill,
    ScreenPop,
    Skill,
    Supervision,
    SwitchCommand,
    SwitchContact,
    Talk,
    Topic,
    TopicField,
    TopicGroup,
    Transcription,
    TranscriptionUsage,
    Transfer,
    TransferShortcut,
)
from telephony.numbers import comparable
from tests.model_factory import ModelFactory


class AgentGroupFactory(factory.django.DjangoModelFactory[AgentGroup]):
    class Meta:
        model = AgentGroup

    name = factory.Sequence(lambda n: f"Group {n}")


class AgentFactory(factory.django.DjangoModelFactory[Agent]):
    class Meta:
        model = Agent

    login = factory.Sequence(lambda n: f"agent-{n}")
    name = "Anna"
    surname = "Nowak"

    class Params:
        grouped = factory.Trait(group=factory.SubFactory(AgentGroupFactory))
        with_phone = factory.Trait(number=factory.Sequence(lambda n: str(1000 + n)))
        left = factory.Trait(is_active=False)


class PauseFactory(factory.django.DjangoModelFactory[Pause]):
    class Meta:
        model = Pause

    name = factory.Sequence(lambda n: f"Pause {n}")


class AgentSessionFactory(factory.django.DjangoModelFactory[AgentSession]):
    """An open session. Tests of verbs let an agent log in instead."""

    class Meta:
        model = AgentSession

    agent = factory.SubFactory(AgentFactory)
    started_at = factory.LazyFunction(lambda: timezone.now().replace(microsecond=0))


class AgentStateFactory(factory.django.DjangoModelFactory[AgentState]):
    """Free, since now."""

    class Meta:
        model = AgentState

    agent = factory.SubFactory(AgentFactory)
    kind = "free"
    started_at = factory.LazyFunction(lambda: timezone.now().replace(microsecond=0))


class QueueFactory(factory.django.DjangoModelFactory[Queue]):
    class Meta:
        model = Queue
        skip_postgeneration_save = True

    name = factory.Sequence(lambda n: f"Queue {n}")
    wrap_up_seconds = 0

    @factory.post_generation  # type: ignore[untyped-decorator]
    def members(self: Any, create: bool, agents: Any, **_: Any) -> None:
        for agent in agents or ():
            QueueMemberFactory(queue=self, agent=agent)


class QueueMemberFactory(factory.django.DjangoModelFactory[QueueMember]):
    class Meta:
        model = QueueMember

    queue = factory.SubFactory(QueueFactory)
    agent = factory.SubFactory(AgentFactory)


class SkillFactory(factory.django.DjangoModelFactory[Skill]):
    class Meta:
        model = Skill

    name = factory.Sequence(lambda n: f"Skill {n}")


class AgentSkillFactory(factory.django.DjangoModelFactory[AgentSkill]):
    class Meta:
        model = AgentSkill

    agent = factory.SubFactory(AgentFactory)
    skill = factory.SubFactory(SkillFactory)
    level = 5


class RequiredSkillFactory(factory.django.DjangoModelFactory[RequiredSkill]):
    class Meta:
        model = RequiredSkill

    queue = factory.SubFactory(QueueFactory)
    skill = factory.SubFactory(SkillFactory)
    level = 5


class CallerPriorityFactory(factory.django.DjangoModelFactory[CallerPriority]):
    class Meta:
        model = CallerPriority

    number = factory.Sequence(lambda n: f"+4860{n:07}")
    steps = 10


class OpeningHoursFactory(factory.django.DjangoModelFactory[OpeningHours]):
    class Meta:
        model = OpeningHours

    queue = factory.SubFactory(QueueFactory)
    weekday = 1
    opens_at = time(8)
    closes_at = time(16)


class ConnectionFactory(factory.django.DjangoModelFactory[Connection]):
    """An outbound call that was answered and is over, unless a trait says otherwise."""

    class Meta:
        model = Connection

    direction = "OUTBOUND"
    state = "ended"
    src = "101"
    dst = factory.Sequence(lambda n: f"+48 22 555 {n % 10_000:04}")
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
            src=factory.Sequence(lambda n: f"+48 22 555 {n % 10_000:04}"),
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


class LegFactory(factory.django.DjangoModelFactory[Leg]):
    """The customer's side of a connection, up."""

    class Meta:
        model = Leg

    connection = factory.SubFactory(ConnectionFactory)
    role = "customer"
    number = "+48225550107"
    channel_id = factory.Sequence(lambda n: f"channel-{n}")
    state = "up"
    asked_at = factory.SelfAttribute("connection.created_at")
    up_at = factory.SelfAttribute("asked_at")


class OfferFactory(factory.django.DjangoModelFactory[Offer]):
    """An agent's phone rings."""

    class Meta:
        model = Offer

    connection = factory.SubFactory(ConnectionFactory, waiting=True)
    queue = factory.SelfAttribute("connection.queue")
    agent = factory.SubFactory(AgentFactory)
    offered_at = factory.SelfAttribute("connection.created_at")


class TalkFactory(factory.django.DjangoModelFactory[Talk]):
    """The whole talk of an outbound call, as its agent transfers it."""

    class Meta:
        model = Talk

    connection = factory.SubFactory(ConnectionFactory, has_talks=True)
    agent = factory.SubFactory(AgentFactory)
    counted_at = factory.SelfAttribute("connection.created_at")
    started_at = factory.SelfAttribute("connection.answered_at")
    ended_at = factory.SelfAttribute("connection.ended_at")


class TransferFactory(factory.django.DjangoModelFactory[Transfer]):
    class Meta:
        model = Transfer

    connection = factory.SubFactory(ConnectionFactory)
    number = "+48225550199"
    action = "transfer"
    actor_kind = "system"
    actor_name = "system"


class ConsultationFactory(ModelFactory[Consultation]):
    """A consultation of the agent of the call: the other has picked up, and the customer hears music."""

    connection = factory.SubFactory(ConnectionFactory, talking=True, is_on_hold=True)
    from_agent = factory.SubFactory(AgentFactory)
    agent = factory.SubFactory(AgentFactory)
    number = factory.LazyAttribute(lambda row: row.agent.number if row.agent else "+48225550199")
    asked_at = factory.SelfAttribute("connection.created_at")
    up_at = factory.SelfAttribute("asked_at")


def with_phone(*, is_consulting: bool, **values: Any) -> Connection:
    """A call whose agent has a phone in it, and may have called a colleague."""
    agent = AgentFactory()
    call: Connection = ConnectionFactory(talking=True, agent=agent, is_on_hold=is_consulting, **values)
    LegFactory(connection=call, agent=agent, role="agent")
    if is_consulting:
        LegFactory(connection=call, agent=ConsultationFactory(connection=call).agent, role="consulted")
    return call


class CallCommandFactory(factory.django.DjangoModelFactory[CallCommand]):
    class Meta:
        model = CallCommand

    connection = factory.SubFactory(ConnectionFactory, talking=True)
    kind = "hang_up"
    actor_kind = "system"
    actor_name = "system"
    created_at = factory.LazyFunction(timezone.now)


class TopicGroupFactory(factory.django.DjangoModelFactory[TopicGroup]):
    class Meta:
        model = TopicGroup

    queue = factory.SubFactory(QueueFactory)
    name = factory.Sequence(lambda n: f"Topics {n}")


class TopicFactory(factory.django.DjangoModelFactory[Topic]):
    class Meta:
        model = Topic

    group = factory.SubFactory(TopicGroupFactory)
    name = factory.Sequence(lambda n: f"Topic {n}")


class TopicFieldFactory(factory.django.DjangoModelFactory[TopicField]):
    class Meta:
        model = TopicField

    queue = factory.SubFactory(QueueFactory)
    name = factory.Sequence(lambda n: f"Field {n}")


class ConnectionTopicFactory(factory.django.DjangoModelFactory[ConnectionTopic]):
    class Meta:
        model = ConnectionTopic

    connection = factory.SubFactory(ConnectionFactory)
    topic = factory.SubFactory(TopicFactory)
    agent = factory.SelfAttribute("connection.agent")
    set_by = "tester"


class TransferShortcutFactory(factory.django.DjangoModelFactory[TransferShortcut]):
    class Meta:
        model = TransferShortcut

    name = factory.Sequence(lambda n: f"Shortcut {n}")
    number = "+48225550199"


class EvaluationCriterionFactory(factory.django.DjangoModelFactory[EvaluationCriterion]):
    class Meta:
        model = EvaluationCriterion

    name = factory.Sequence(lambda n: f"Criterion {n}")
    description = "The agent says his name."


class RecordingFactory(factory.django.DjangoModelFactory[Recording]):
    """A recording that was requested from the switch."""

    class Meta:
        model = Recording

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


class TranscriptionFactory(factory.django.DjangoModelFactory[Transcription]):
    """One that is to be made now."""

    class Meta:
        model = Transcription

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


class TranscriptionUsageFactory(factory.django.DjangoModelFactory[TranscriptionUsage]):
    class Meta:
        model = TranscriptionUsage

    month = "2026-11"
    seconds = 60


class SwitchCommandFactory(factory.django.DjangoModelFactory[SwitchCommand]):
    class Meta:
        model = SwitchCommand

    name = "channels"


class SwitchContactFactory(factory.django.DjangoModelFactory[SwitchContact]):
    class Meta:
        model = SwitchContact

    heard_at = factory.LazyFunction(timezone.now)


class LedgerChangeFactory(factory.django.DjangoModelFactory[LedgerChange]):
    class Meta:
        model = LedgerChange

    agent = factory.SubFactory(AgentFactory)
    since = factory.LazyFunction(timezone.now)
    until = factory.LazyAttribute(lambda change: change.since)


class BrowserPhoneFactory(factory.django.DjangoModelFactory[BrowserPhone]):
    class Meta:
        model = BrowserPhone

    agent = factory.SubFactory(AgentFactory, with_phone=True, uses_browser_phone=True)
    password = "of-one-window"
    opened_at = factory.LazyFunction(timezone.now)
    seen_at = factory.LazyFunction(timezone.now)


class CallQualityFactory(factory.django.DjangoModelFactory[CallQuality]):
    class Meta:
        model = CallQuality

    connection = factory.SubFactory(ConnectionFactory)
    agent = factory.SubFactory(AgentFactory)
    reports = 30
    loss, loss_worst = 0.5, 3.0
    jitter, jitter_worst = 4.0, 21.0
    round_trip, round_trip_worst = 32.0, 80.0


class AgentLineFactory(factory.django.DjangoModelFactory[AgentLine]):
    class Meta:
        model = AgentLine

    agent = factory.SubFactory(AgentFactory, with_phone=True)
    channel_id = factory.Sequence(lambda n: f"line-{n}")
    asked_at = factory.LazyFunction(timezone.now)


class CallBackFactory(factory.django.DjangoModelFactory[CallBack]):
    """A call-back that waits."""

    class Meta:
        model = CallBack

    queue = factory.SubFactory(QueueFactory)
    # No example of the documents.
    number = factory.Sequence(lambda n: f"+4822666{n % 10_000:04}")
    origin = "api"
    created_at = factory.LazyFunction(lambda: timezone.now().replace(microsecond=0))
    waiting_since = next_attempt_at = factory.SelfAttribute("created_at")


class MissedCallerFactory(factory.django.DjangoModelFactory[MissedCaller]):
    """A caller who gave up."""

    class Meta:
        model = MissedCaller

    connection = factory.SubFactory(ConnectionFactory, inbound=True, unanswered=True)
    queue = factory.SelfAttribute("connection.queue")
    reason = "gave_up"
    missed_at = factory.SelfAttribute("connection.ended_at")


class SupervisionFactory(factory.django.DjangoModelFactory[Supervision]):
    """A supervisor who listens to a call."""

    class Meta:
        model = Supervision

    connection = factory.SubFactory(ConnectionFactory, talking=True, is_supervised=True)
    agent = factory.SubFactory(AgentFactory, with_phone=True)
    channel_id = factory.LazyAttributeSequence(lambda row, n: f"callcentre-monitor-{row.connection.pk}-{n}")
    mode = "listen"
    modes = factory.LazyAttribute(lambda row: [[row.mode, row.asked_at.isoformat()]])
    actor_kind = "user"
    actor_name = "boss"
    asked_at = factory.LazyFunction(timezone.now)
    up_at = factory.SelfAttribute("asked_at")


class AgentMessageFactory(factory.django.DjangoModelFactory[AgentMessage]):
    class Meta:
        model = AgentMessage

    agent = factory.SubFactory(AgentFactory)
    text = "Please come to the desk."
    actor_kind = "user"
    actor_name = "boss"
    sent_at = factory.LazyFunction(timezone.now)


class MenuFactory(factory.django.DjangoModelFactory[Menu]):
    class Meta:
        model = Menu

    name = factory.Sequence(lambda n: f"Menu {n}")


class MenuEntryFactory(factory.django.DjangoModelFactory[MenuEntry]):
    class Meta:
        model = MenuEntry

    menu = factory.SubFactory(MenuFactory)
    key = "1"
    number = "+48225550999"


class PromptFactory(factory.django.DjangoModelFactory[Prompt]):
    class Meta:
        model = Prompt

    queue = None
    kind = "greeting"
    language = "pl"
    file = "prompts/hello.wav"
    seconds = 2.0


class ScreenPopFactory(factory.django.DjangoModelFactory[ScreenPop]):
    class Meta:
        model = ScreenPop

    name = factory.Sequence(lambda n: f"CRM {n}")
    queue = factory.SubFactory(QueueFactory)
    url = "https://crm.example/find?number={number}"


class CallerStepFactory(factory.django.DjangoModelFactory[CallerStep]):
    class Meta:
        model = CallerStep

    connection = factory.SubFactory(ConnectionFactory)
    kind = "queue"


class CallerMessageFactory(factory.django.DjangoModelFactory[CallerMessage]):
    class Meta:
        model = CallerMessage

    recording = factory.SubFactory(RecordingFactory)
