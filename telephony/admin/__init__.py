"""The telephony part of the admin."""

from telephony.admin import agents, shortcuts, topics, transcriptions

__all__ = ["agents", "shortcuts", "topics", "transcriptions"]
