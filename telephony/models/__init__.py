from telephony.models.agent import Agent, AgentGroup

__all__ = ["Agent", "AgentGroup"]
