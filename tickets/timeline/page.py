"""The kinds of entries of a timeline, which each app registers, because campaigns are above tickets; and its pages.

One statement reads the keys of a page; then each kind on the page reads its rows.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Model

from callcentre.core.scope import ALL, Scope
from callcentre.core.statements import rows_of
from tickets.models import Customer

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


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PLACE = re.compile(r"([0-9]{1,17})\.([a-z]+)\.([0-9]{1,18}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
# Keys are text here, so numbers get leading zeros. The order of text "C" is then that of the index.
_UNION = """
SELECT story.kind, story.at, story.key FROM ({branches}) AS story
ORDER BY story.at DESC, story.kind, story.key COLLATE "C" DESC LIMIT %(rows)s
"""
_BRANCH = "SELECT '{name}' AS kind, found.at, {key} AS key FROM ({keys}) AS found(at, key)"
_KEYS = {"bigint": "lpad(found.key::text, 19, '0')", "uuid": "found.key::text"}


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an entry in the order: its time, its kind and its key."""

    at: datetime
    kind: str
    key: str

    def __str__(self) -> str:
        return f"{(self.at - _EPOCH) // _MICROSECOND}.{self.kind}.{_spelled(self.key)}"

    @classmethod
    def parse(cls, text: str) -> "Place | None":
        """Return the place that a text spells; None if it spells none."""
        found = _PLACE.fullmatch(text)
        if found is None or found[2] not in KIND_NAMES or ("-" in found[3]) != (found[2] == "chat"):
            return None
        return cls(_EPOCH + int(found[1]) * _MICROSECOND, found[2], found[3])


@dataclass(frozen=True, slots=True)
class Page:
    """Entries with their kinds, newest first, and the place of the last one if older entries follow."""

    entries: list[tuple[Kind, Entry]]
    next: Place | None


def read_page(
    customer: Customer, reader: Reader, *, only: Collection[str] = (), before: Place | None = None, limit: int
) -> Page:
    """Return the newest entries before a place, of the kinds that the reader may see. `only` names some of them."""
    wanted = kinds(reader.kinds & frozenset(only or KIND_NAMES))
    if not wanted:
        return Page([], None)
    places = _places(customer, reader, wanted, before, limit + 1)
    is_cut = len(places) > limit
    places = places[:limit]
    keys = defaultdict(list)
    for place in places:
        keys[place.kind].append(_spelled(place.key))
    found = {kind.name: kind.read(keys[kind.name], reader) for kind in wanted if kind.name in keys}
    by_name = {kind.name: kind for kind in wanted}
    entries = [
        (by_name[place.kind], entry)
        for place in places
        # A row may be deleted between the two statements.
        if (entry := found[place.kind].get(_spelled(place.key))) is not None
    ]
    return Page(entries, places[-1] if is_cut else None)


def _places(customer: Customer, reader: Reader, wanted: list[Kind], before: Place | None, rows: int) -> list[Place]:
    branches = " UNION ALL ".join(
        _BRANCH.format(
            name=kind.name,
            key=_KEYS[kind.key_type],
            keys=kind.keys.format(older=_older(kind, before) + reader.scope.sql(*kind.narrowed_by)),
        )
        for kind in wanted
    )
    values: dict[str, Any] = {**_identity(customer), "kinds": sorted(reader.kinds), "rows": rows}
    values |= reader.scope.by_column
    if before is not None:
        values |= {"before_at": before.at, "before_key": before.key}
    return [Place(at, kind, key) for kind, at, key in rows_of(_UNION.format(branches=branches), values)]


def _older(kind: Kind, before: Place | None) -> str:
    """Return the condition of the entries of a kind that come after a place. Its parts are compared in an index."""
    if before is None:
        return "true"
    if kind.name == before.kind:
        return f"({kind.time_column}, {kind.key_column}) < (%(before_at)s, %(before_key)s::{kind.key_type})"
    # Kinds later in the alphabet follow at the same instant.
    return f"{kind.time_column} {'<=' if kind.name > before.kind else '<'} %(before_at)s"


def _identity(customer: Customer) -> dict[str, Any]:
    """Return the ids and addresses of a customer, with those of the customers merged into it."""
    people = [customer, *sorted(customer.merged.all(), key=lambda other: other.pk)]
    emails = {one.email.lower(): one.email for one in people if one.email}
    return {"customers": [one.pk for one in people], "emails": [*emails.values()]}


def _spelled(key: str) -> str:
    """Return a key without the zeros that the order needs."""
    return key if "-" in key else key.lstrip("0")
