from telephony.models.agent import Agent, AgentGroup
from telephony.models.connection import CallCommand, Connection, Leg, Offer, Transfer
from telephony.models.ledger import AgentSession, AgentState
from telephony.models.pause import Pause
from telephony.models.queue import OpeningHours, Queue, QueueMember

__all__ = [
    "Agent",
    "AgentGroup",
    "AgentSession",
    "AgentState",
    "CallCommand",
    "Connection",
    "Leg",
    "Offer",
    "OpeningHours",
    "Pause",
    "Queue",
    "QueueMember",
    "Transfer",
]
