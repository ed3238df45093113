"""The results of an attempt to send a message."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Answer:
    """The server's answer about a refused recipient. `is_final`: a later attempt would get the same answer."""

    reason: str
    is_final: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """The server took the message for all recipients without an answer here. `state` becomes the dispatch's state."""

    state: str
    answers: Mapping[str, Answer] = field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        return all(answer.is_final for answer in self.answers.values())


class Refused(Exception):
    """No recipient has the message, for this reason. `is_final`: a later attempt would fail too."""

    def __init__(
        self, reason: str, *, is_final: bool, retry_after: float = 0.0, answers: Mapping[str, Answer] | None = None
    ) -> None:
        super().__init__(reason)
        self.is_final = is_final
        # Seconds that the receiver asks us to wait.
        self.retry_after = retry_after
        # The answers about single recipients.
        self.answers = answers or {}


class Lost(Exception):
    """The connection broke while the server received the message: the outcome is unknown."""
