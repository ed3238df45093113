from telephony.models.agent import Agent, AgentGroup
from telephony.models.agent_intervals import AgentSession, AgentState, LedgerChange
from telephony.models.agent_line import AgentLine
from telephony.models.browser_phone import BrowserPhone
from telephony.models.call_parts import CallCommand, CallQuality, Consultation, Offer, Talk, Transfer
from telephony.models.callback import CallBack, MissedCaller
from telephony.models.connection import Connection, Leg
from telephony.models.menu import Menu, MenuEntry
from telephony.models.pause import Pause
from telephony.models.prompt import CallerStep, Prompt
from telephony.models.queue import OpeningHours, Queue, QueueMember
from telephony.models.recording import CallerMessage, Recording
from telephony.models.screen_pop import ScreenPop
from telephony.models.shortcut import TransferShortcut
from telephony.models.skill import AgentSkill, CallerPriority, RequiredSkill, Skill
from telephony.models.supervision import AgentMessage, Supervision
from telephony.models.switch import SwitchCommand, SwitchContact
from telephony.models.topic import ConnectionTopic, Topic, TopicField, TopicGroup
from telephony.models.transcription import EvaluationCriterion, Transcription, TranscriptionUsage

__all__ = [
    "Agent",
    "AgentGroup",
    "AgentLine",
    "AgentMessage",
    "AgentSession",
    "AgentSkill",
    "AgentState",
    "BrowserPhone",
    "CallBack",
    "CallCommand",
    "CallQuality",
    "CallerMessage",
    "CallerPriority",
    "CallerStep",
    "Connection",
    "ConnectionTopic",
    "Consultation",
    "EvaluationCriterion",
    "LedgerChange",
    "Leg",
    "Menu",
    "MenuEntry",
    "MissedCaller",
    "Offer",
    "OpeningHours",
    "Pause",
    "Prompt",
    "Queue",
    "QueueMember",
    "Recording",
    "RequiredSkill",
    "ScreenPop",
    "Skill",
    "Supervision",
    "SwitchCommand",
    "SwitchContact",
    "Talk",
    "Topic",
    "TopicField",
    "TopicGroup",
    "Transcription",
    "TranscriptionUsage",
    "Transfer",
    "TransferShortcut",
]
