"""When the switch was heard: the last time, and before the silence whose losses are not all known yet."""

from datetime import datetime

from telephony import call_clock


class LastContact:
    """Remembers when the switch was heard, over silences.

    After a silence, calls may be found to be gone. Until a look at the switch has told which, a further silence
    changes nothing: they were gone after the first one began.
    """

    def __init__(self, heard_at: datetime | None = None) -> None:
        self._heard_at = heard_at
        self._is_settled = True
        # When the switch was heard last before the present stream of its events.
        self.silent_since: datetime | None = None

    def begin(self) -> None:
        """Note that a stream of events begins."""
        if self._is_settled:
            self.silent_since = self._heard_at
        self._is_settled = False

    def update(self, at: datetime) -> None:
        """Note that the switch was heard. An answer that is noted late moves nothing back."""
        if self._heard_at is None or not call_clock.is_before(at, self._heard_at):
            self._heard_at = at

    def settle(self) -> None:
        """Note that it is known which calls were lost in the silence."""
        self._is_settled = True

    @property
    def to_store(self) -> datetime | None:
        """The instant that another listener has to know; None while it had better know the one before the silence."""
        return self._heard_at if self._is_settled else None
