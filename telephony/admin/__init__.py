"""The telephony part of the admin."""

from telephony.admin import agents, connections, ledger, queues, shortcuts, topics, transcriptions

__all__ = ["agents", "connections", "ledger", "queues", "shortcuts", "topics", "transcriptions"]
