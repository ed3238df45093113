from dataclasses import dataclass
from typing import Literal

ActorKind = Literal["api_user", "user", "agent", "import", "dialler", "system"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something: the first argument of every verb, and what a history entry says of him.

    `id` is the primary key of the API user, back-office user, agent or import; `name` is what people call it, kept
    so that the history still reads well after the row is gone.
    """

    kind: ActorKind
    id: int | None
    name: str


SYSTEM = Actor("system", None, "system")
