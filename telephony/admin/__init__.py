"""The telephony part of the admin."""

from telephony.admin import (
    agent_intervals,
    agent_lines,
    agents,
    connections,
    offers,
    queues,
    shortcuts,
    topics,
    transcriptions,
)

__all__ = [
    "agent_intervals",
    "agent_lines",
    "agents",
    "connections",
    "offers",
    "queues",
    "shortcuts",
    "topics",
    "transcriptions",
]
