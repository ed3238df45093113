from dataclasses import dataclass
from typing import Literal

ActorKind = Literal["api_user", "user", "agent", "import", "dialler", "system"]


@dataclass(frozen=True, slots=True)
class Actor:
    """The person or program behind a change: an argument of every verb, and the name in a history entry.

    `id` is the primary key of the API user, back-office user, agent or import. `name` is stored with the entry, so that
    the history stays readable after that row is gone.
    """

    kind: ActorKind
    id: int | None
    name: str


SYSTEM = Actor("system", None, "system")
