from telephony.models.agent import Agent, AgentGroup
from telephony.models.agent_intervals import AgentSession, AgentState, LedgerChange
from telephony.models.agent_line import AgentLine
from telephony.models.browser_phone import BrowserPhone
from telephony.models.call_parts import CallCommand, CallQuality, Offer, Talk, Transfer
from telephony.models.callback import CallBack, MissedCaller
from telephony.models.connection import Connection, Leg
from telephony.models.pause import Pause
from telephony.models.queue import OpeningHours, Queue, QueueMember
from telephony.models.recording import Recording
from telephony.models.shortcut import TransferShortcut
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
    "AgentState",
    "BrowserPhone",
    "CallBack",
    "CallCommand",
    "CallQuality",
    "Connection",
    "ConnectionTopic",
    "EvaluationCriterion",
    "LedgerChange",
    "Leg",
    "MissedCaller",
    "Offer",
    "OpeningHours",
    "Pause",
    "Queue",
    "QueueMember",
    "Recording",
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
