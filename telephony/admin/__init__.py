"""The telephony part of the admin."""

from telephony.admin import (
    agent_intervals,
    agents,
    callbacks,
    connections,
    menus,
    queues,
    shortcuts,
    supervision,
    topics,
    transcriptions,
)
