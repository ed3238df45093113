"""The hooks of calls that a dialler placed. The app of the campaigns registers them; telephony does not import it.

Each hook runs in the transaction of the call, whose connection is locked, after the agents' states have changed.
"""

from datetime import datetime
from typing import Protocol

from telephony.models import Connection


class CampaignHooks(Protocol):
    def customer_up(self, connection: Connection, at: datetime) -> None:
        """Note that the customer has picked up, and is joined with the connection's agent."""

    def ended(self, connection: Connection, at: datetime) -> None:
        """Settle the attempt: the call has ended, and its result is final."""


class _None:
    def customer_up(self, connection: Connection, at: datetime) -> None: ...

    def ended(self, connection: Connection, at: datetime) -> None: ...


_hooks: CampaignHooks = _None()


def register(hooks: CampaignHooks) -> None:
    global _hooks  # noqa: PLW0603  (set once, when the apps are ready)
    _hooks = hooks


def customer_up(connection: Connection, at: datetime) -> None:
    if connection.campaign_code:
        _hooks.customer_up(connection, at)


def ended(connection: Connection, at: datetime) -> None:
    if connection.campaign_code:
        _hooks.ended(connection, at)
