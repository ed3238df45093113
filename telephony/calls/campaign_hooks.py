"""The hooks of calls that a dialler placed. The app of the campaigns registers them; telephony does not import it.

Each hook but `waiting` and `is_wanted` runs in the transaction of the call, whose connection is locked, after the
agents' states have changed. Instants have milliseconds.
"""

from collections.abc import Sequence
from datetime import datetime

from telephony.models import Connection


class CampaignHooks:
    """The hooks for calls that no dialler placed: they do nothing."""

    def answered(self, connection: Connection, at: datetime) -> bool:
        """Note that the customer has picked up. Return whether to detect answering machines."""
        return False

    def answered_late(self, connection: Connection, at: datetime) -> None:
        """Note that the customer has picked up after the call had ended, and hears no agent."""

    def detected(self, connection: Connection, at: datetime, who: str) -> None:
        """Note who has picked up: a human, a machine, or unsure."""

    def next_agent(self, connection: Connection, passed: Sequence[int]) -> int | None:
        """Return the agent to take the answered call by a line, who is locked; None if none is free."""
        return None

    def is_wanted(self, agent_id: int) -> bool:
        return False

    def joined(self, connection: Connection) -> None:
        """Note that the customer is joined with the connection's agent."""

    def unjoin(self, connection: Connection, since: datetime) -> bool:
        """Take back that the call was joined, if it was answered after `since`. Return whether it is taken back."""
        return False

    def is_unheard(self, connection: Connection, since: datetime) -> bool:
        """Return whether the customer was joined with the agent after `since`."""
        return False

    def waiting(self) -> list[tuple[int, datetime]]:
        return []

    def dropped(self, connection: Connection, at: datetime) -> str:
        """Note that no agent was free in time. Return the name of the message for the switch, or none."""
        return ""

    def transfer_failed(self, connection: Connection) -> None:
        """Note that the call ends because its transfer has failed."""

    def ended(self, connection: Connection, at: datetime) -> None:
        """Settle the attempt: the call has ended, and its result is final."""


_NONE = _hooks = CampaignHooks()


def register(hooks: CampaignHooks) -> None:
    global _hooks  # noqa: PLW0603  (set once, when the apps are ready)
    _hooks = hooks


def of(connection: Connection) -> CampaignHooks:
    """Return the hooks for this call: those that do nothing, if no dialler placed it."""
    return _hooks if connection.campaign_code else _NONE


def waiting() -> list[tuple[int, datetime]]:
    return _hooks.waiting()


def is_wanted(agent_id: int) -> bool:
    return _hooks.is_wanted(agent_id)
