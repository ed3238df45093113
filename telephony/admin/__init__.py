"""The telephony part of the admin."""

from telephony.admin import (
    agent_intervals,
    agents,
    callbacks,
    connections,
    menus,
    messages,
    queues,
    shortcuts,
    topics,
    transcriptions,
)
