"""The tables of personal data: what each model has of a person outside the company, and what an erasure does with it.

Each app has a table, `personal_data.py`, with an entry for each of its models; `callcentre/personal_data.py` has all of
them. The preview, the export, and the search for a person in texts of other rows follow from them.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import Q, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext_lazy as _

from callcentre.core.phone import calling_code

# Rows of a table that are searched together.
PORTION = 10_000
# Shorter numbers are extensions, and stand in too many texts.
_LEAST_DIGITS = 7
_GAP = r"[ ()./\-]{0,3}"


@dataclass(frozen=True, slots=True)
class Person:
    """A person: customers with their merged ones, phone numbers in their normal form, addresses in lower case."""

    customers: tuple[int, ...] = ()
    numbers: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> "Person":
        return cls(**{name: tuple(values) for name, values in json.loads(text).items()})

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    @property
    def pattern(self) -> str:
        """The pattern of their addresses, and of their numbers in any spelling, for Python and PostgreSQL; "" if there
        is none.
        """
        emails = (rf"(?<![\w.+-]){re.escape(email)}(?![\w-])" for email in self.emails)
        return "|".join([*emails, *filter(None, map(_spellings, self.numbers))])


def _spellings(number: str) -> str:
    """Return the pattern of a number with and without its country code, and with gaps between digits."""
    code, digits = calling_code(number), number.lstrip("+")
    if len(digits) < _LEAST_DIGITS or not digits.isdecimal():
        return ""
    national = rf"\(?{_GAP.join(digits[len(code) :])}(?!\d)"
    abroad = rf"(?:(?:\+|00)?{_GAP.join(code)}{_GAP})?0?" if code else r"\+?"
    return rf"(?<!\d){abroad}{national}"


class Fate(models.TextChoices):
    """The fate of the rows of a person in an erasure."""

    DELETED = "deleted", _("deleted")
    EMPTIED = "emptied", _("kept without the person")
    KEPT = "kept", _("kept")


@dataclass(frozen=True, slots=True)
class Data:
    """The personal data of a model.

    `columns`: names of personal columns, separated by blanks. An erasure also removes the person's numbers and
    addresses from these columns of rows that are not the person's. `rows`: the person's own rows; None if the model
    only mentions people. `why`: the reason why rows are kept. `file`: the column with the path of a file.
    `redacted`: called with the keys of rows from which a number or an address was removed. `deletes_mentions`: rows
    that mention the person are deleted, because without the mention they would be equal to others.
    """

    columns: str
    rows: Callable[[Person], "models.QuerySet[Any]"] | None = None
    fate: Fate = Fate.DELETED
    why: Any = ""
    file: str = ""
    redacted: Callable[[Sequence[Any]], None] | None = None
    deletes_mentions: bool = False

    @property
    def names(self) -> list[str]:
        return self.columns.split()


@dataclass(frozen=True, slots=True)
class Nothing:
    """The statement that a model has nothing of a person outside the company, with the reason."""

    reason: str


SETTINGS = Nothing("settings of the company")
STAFF = Nothing("people who work here, and programs")
WORK = Nothing("times and numbers of the work")
TABLE: dict[type[models.Model], Data | Nothing] = {}


def register(table: Mapping[type[models.Model], Data | Nothing]) -> None:
    """Add the table of an app; called by AppConfig.ready()."""
    TABLE.update(table)


def entries() -> list[tuple[type[models.Model], Data]]:
    """Return the models with personal data, in a fixed order."""
    found = [(model, data) for model, data in TABLE.items() if isinstance(data, Data)]
    return sorted(found, key=lambda entry: entry[0]._meta.label)


@dataclass(slots=True)
class Found:
    """The number of rows of a model that a person has, and what an erasure does with them."""

    model: str
    count: int
    fate: Fate
    why: Any = ""

    @property
    def name(self) -> str:
        return str(apps.get_model(self.model)._meta.verbose_name_plural)


def found_of(person: Person) -> list[Found]:
    """Count the person's own rows, without models that have none."""
    counted = (
        Found(model._meta.label_lower, data.rows(person).count(), data.fate, data.why)
        for model, data in entries()
        if data.rows
    )
    return [found for found in counted if found.count]


def mentions(model: type[models.Model], data: Data, pattern: str, after: Any = None) -> tuple[list[models.Model], Any]:
    """Return the rows of the next portion in which a personal column matches, and the key to go on after; None at the
    end.
    """
    if not data.names:
        return [], None
    rows = model._base_manager.order_by("pk")
    if after is not None:
        rows = rows.filter(pk__gt=after)
    last = rows.values_list("pk", flat=True)[PORTION - 1 : PORTION].first()
    texts = {f"text_{name}": Cast(name, TextField()) for name in data.names}
    matches = Q()
    for alias in texts:
        matches |= Q(**{f"{alias}__iregex": pattern})
    portion = rows.filter(pk__lte=last) if last is not None else rows
    return list(portion.alias(**texts).filter(matches)), last


def without(value: Any, pattern: "re.Pattern[str]") -> Any:
    """Return a text, list or object of JSON without what matches."""
    match value:
        case str():
            return pattern.sub("", value)
        case list() | tuple():
            return [without(each, pattern) for each in value]
        case dict():
            return {without(name, pattern): without(each, pattern) for name, each in value.items()}
    return value


def redact(rows: Iterable[models.Model], data: Data, pattern: str) -> int:
    """Remove what matches from the personal columns of these rows. Return their number."""
    compiled, keys = re.compile(pattern, re.IGNORECASE), []
    for row in rows:
        same = type(row)._base_manager.filter(pk=row.pk)
        if data.deletes_mentions:
            same.delete()
        else:
            same.update(**{name: without(getattr(row, name), compiled) for name in data.names})
        keys.append(row.pk)
    if keys and data.redacted:
        data.redacted(keys)
    return len(keys)


def rows_for_export(person: Person) -> Iterator[tuple[type[models.Model], Data, Iterator[models.Model]]]:
    """Yield each model with the rows that an export has: the person's own, or those that mention the person."""
    for model, data in entries():
        if data.rows:
            yield model, data, data.rows(person).order_by("pk").iterator(chunk_size=500)
        elif pattern := person.pattern:
            yield model, data, _all_mentions(model, data, pattern)


def _all_mentions(model: type[models.Model], data: Data, pattern: str) -> Iterator[models.Model]:
    rows, after = mentions(model, data, pattern)
    yield from rows
    while after is not None:
        rows, after = mentions(model, data, pattern, after)
        yield from rows
