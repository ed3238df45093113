"""The kinds of entries. Each app registers its own, because campaigns are above tickets."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Model

from callcentre.core.scope import ALL, Scope

# In the order of the alphabet, in which entries of one instant are sorted.
KIND_NAMES = ("attempt", "call", "chat", "note", "rating", "ticket")


@dataclass(frozen=True, slots=True)
class Reader:
    """The kinds that the reader of a timeline may see, and whether recordings and summaries of calls too."""

    kinds: frozenset[str]
    sees_recordings: bool
    sees_summaries: bool
    scope: Scope = ALL


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry. `details` are the values of the API, `shown` are further values for the page of the admin."""

    at: datetime
    # The id of the row, as the API spells it.
    id: str
    agent_login: str
    details: dict[str, Any]
    shown: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of entries: the SELECT of its keys, and the function that reads their rows.

    `keys` selects the time and the key of each row, newest first, `%(rows)s` rows at most. It has the condition
    `{older}` in the place where its index applies, and the parameters `customers` (ids, first the customer, then those
    merged into it), `emails` and `kinds` (those that the reader may see).
    """

    name: str
    label: Any
    # In the plural, for the filter.
    plural: Any
    icon: str
    # The rows whose viewers see the entries in the admin, and the right of the API.
    app: str
    model: str
    api_right: str
    keys: str
    # Columns of `keys`, and the type of the second one.
    time_column: str
    key_column: str
    key_type: str = "bigint"
    # The model that decides whether an entry is inside a scope, and its alias in `keys`.
    narrowed_by: tuple[type[Model], str]
    read: Callable[[Sequence[str], Reader], Mapping[str, Entry]]
    template: str


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Register a kind, from AppConfig.ready() of its app."""
    _kinds[kind.name] = kind


def kinds(names: Collection[str] = KIND_NAMES) -> list[Kind]:
    """Return the registered kinds with these names, in the order of the names."""
    return [_kinds[name] for name in KIND_NAMES if name in names and name in _kinds]
