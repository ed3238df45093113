from telephony.models.agent import Agent, AgentGroup
from telephony.models.agent_intervals import AgentSession, AgentState
from telephony.models.agent_line import AgentLine
from telephony.models.browser_phone import BrowserPhone
from telephony.models.call_command import CallCommand, Transfer
from telephony.models.connection import Connection, Leg
from telephony.models.ledger_change import LedgerChange
from telephony.models.offer import Offer
from telephony.models.pause import Pause
from telephony.models.queue import OpeningHours, Queue, QueueMember
from telephony.models.recording import Recording
from telephony.models.shortcut import TransferShortcut
from telephony.models.switch_command import SwitchCommand
from telephony.models.switch_contact import SwitchContact
from telephony.models.talk import Talk
from telephony.models.topic import ConnectionTopic, Topic, TopicField, TopicGroup
from telephony.models.transcription import EvaluationCriterion, Transcription, TranscriptionUsage

__all__ = [
    "Agent",
    "AgentGroup",
    "AgentLine",
    "AgentSession",
    "AgentState",
    "BrowserPhone",
    "CallCommand",
    "Connection",
    "ConnectionTopic",
    "EvaluationCriterion",
    "LedgerChange",
    "Leg",
    "Offer",
    "OpeningHours",
    "Pause",
    "Queue",
    "QueueMember",
    "Recording",
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
