from telephony.models.agent import Agent, AgentGroup
from telephony.models.agent_intervals import AgentSession, AgentState, LedgerChange, Pause
from telephony.models.browser_phone import AgentLine, BrowserPhone, SwitchCommand, SwitchContact
from telephony.models.call_parts import (
    AgentMessage,
    CallCommand,
    CallQuality,
    Consultation,
    Offer,
    Supervision,
    Talk,
    Transfer,
)
from telephony.models.callback import CallBack, MissedCaller
from telephony.models.connection import Connection, Leg
from telephony.models.prompt import CallerStep, Menu, MenuEntry, Prompt
from telephony.models.queue import OpeningHours, Queue, QueueMember
from telephony.models.recording import CallerMessage, Recording
from telephony.models.screen_pop import ScreenPop, TransferShortcut
from telephony.models.skill import AgentSkill, CallerPriority, RequiredSkill, Skill
from telephony.models.topic import ConnectionTopic, Topic, TopicField, TopicGroup
from telephony.models.transcription import EvaluationCriterion, Transcription, TranscriptionUsage
