"""What can come of an attempt to send, beside that the message was taken."""


class Refused(Exception):
    """Nobody has the message, and why. `is_final`: nor will anybody take it later."""

    def __init__(self, reason: str, *, is_final: bool, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.is_final = is_final
        # Seconds for which the receiver asks to be left alone.
        self.retry_after = retry_after


class Lost(Exception):
    """The connection broke while the message was being received: nobody knows whether it was."""


class Taken(Exception):
    """Another worker, or a person, has taken this one over: it is theirs to send."""
