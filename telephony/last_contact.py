"""The last contact with the switch, and the last one before an interruption."""

from datetime import datetime

from telephony import call_clock


class LastContact:
    """The last contact with the switch, over interruptions.

    After an interruption, a comparison with the switch finds the calls that have ended. Until then a further
    interruption changes nothing: the calls may have ended since the first one began.
    """

    def __init__(self, heard_at: datetime | None = None) -> None:
        self._heard_at = heard_at
        self.is_settled = True
        # The last contact before the present stream of events.
        self.silent_since: datetime | None = None

    def begin_stream(self) -> None:
        """Begin a stream of events."""
        if self.is_settled:
            self.silent_since = self._heard_at
        self.is_settled = False

    def update(self, at: datetime) -> None:
        """Store a contact. An earlier instant than the stored one changes nothing."""
        if self._heard_at is None or not call_clock.is_before(at, self._heard_at):
            self._heard_at = at

    def settle(self) -> None:
        """Store that a comparison has found the calls that ended during the interruption."""
        self.is_settled = True

    @property
    def to_store(self) -> datetime | None:
        """The instant to store for the next listener; None while the stored one, before the interruption, must stay."""
        return self._heard_at if self.is_settled else None
