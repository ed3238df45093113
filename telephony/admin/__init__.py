"""The telephony part of the admin."""

from telephony.admin import agents, connections, ledger, offers, queues, shortcuts, topics, transcriptions

__all__ = ["agents", "connections", "ledger", "offers", "queues", "shortcuts", "topics", "transcriptions"]
