"""What can come of an attempt to send."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said of a recipient whom it refused. `is_final`: it will say so again."""

    reason: str
    is_final: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """The message was taken, for all but those who have an answer here. `state` is that of the dispatch then."""

    state: str
    answers: Mapping[str, Answer] = field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        return all(answer.is_final for answer in self.answers.values())


class Refused(Exception):
    """Nobody has the message, and why. `is_final`: nor will anybody take it later."""

    def __init__(
        self, reason: str, *, is_final: bool, retry_after: float = 0.0, answers: Mapping[str, Answer] | None = None
    ) -> None:
        super().__init__(reason)
        self.is_final = is_final
        # Seconds for which the receiver asks to be left alone.
        self.retry_after = retry_after
        # Of single recipients.
        self.answers = answers or {}


class Lost(Exception):
    """The connection broke while the message was being received: nobody knows whether it was."""


class Taken(Exception):
    """Another worker, or a person, has taken this one over: it is theirs to send."""
