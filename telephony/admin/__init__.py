"""The telephony part of the admin."""

from telephony.admin import (
    agent_intervals,
    agents,
    callbacks,
    connections,
    menus,
    messages,
    offers,
    queues,
    shortcuts,
    skills,
    topics,
    transcriptions,
)

__all__ = [
    "agent_intervals",
    "agents",
    "callbacks",
    "connections",
    "menus",
    "messages",
    "offers",
    "queues",
    "shortcuts",
    "skills",
    "topics",
    "transcriptions",
]
