"""The telephony part of the admin."""

from telephony.admin import agents

__all__ = ["agents"]
