"""The tables of personal data: what each model has of a person outside the company, and what an erasure does with it.

Each app has a table, `personal_data.py`, with an entry for each of its models; `callcentre/personal_data.py` has all of
them. The preview, the export, and the search for a person in texts of other rows follow from them.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
_IN_ADDRESS = r"[\w.+!#$%&'*/=?^{|}~`-]"
# The code of another country before a number.
_ABROAD = re.compile(rf"\+\d{{1,3}}{_GAP}$")


@dataclass(frozen=True, slots=True)
class Person:
    """A person: customers with their merged ones, phone numbers in their normal form, addresses in lower case.

    What legal holds keep is a person too, with `tickets`: tickets of any customer.
    """

    customers: tuple[int, ...] = ()
    numbers: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    tickets: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: str) -> "Person":
        return cls(**{name: tuple(values) for name, values in json.loads(text).items()})

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    @property
    def pattern(self) -> str:
        """The pattern of their addresses, and of their numbers in any spelling; "" if there is none."""
        emails = (rf"(?<!{_IN_ADDRESS}){re.escape(email)}(?![\w-]|\.\w)" for email in self.emails)
        return "|".join([*emails, *filter(None, map(_spellings, self.numbers))])

    @property
    def hint(self) -> str:
        """A wider pattern, by which PostgreSQL finds the texts in which the pattern may match, also in JSON."""
        numbers = (_GAP.join(_told(number)) for number in self.numbers if _spellings(number))
        return "|".join([*map(re.escape, self.emails), *numbers])


def _told(number: str) -> str:
    """Return the digits by which a number is told from others: without the code of its country if enough are left."""
    code, digits = calling_code(number), number.lstrip("+")
    return digits[len(code) :] if len(digits) - len(code) >= _LEAST_DIGITS else digits


def _spellings(number: str) -> str:
    """Return the pattern of a number with gaps between digits, and also without the code of its country if enough
    digits are left.
    """
    code, digits, told = calling_code(number), number.lstrip("+"), _told(number)
    if len(told) < _LEAST_DIGITS or not digits.isdecimal():
        return ""
    abroad = rf"(?:\+|00)?{_GAP.join(code)}{_GAP}" if code else r"\+"
    is_needed = bool(code) and told == digits
    return rf"(?<!\d)(?:{abroad}){'' if is_needed else '?'}0?\(?{_GAP.join(digits[len(code) :])}(?!\d)"


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

    def of(self, module: Any, names: str) -> "dict[type[models.Model], Nothing]":
        """Return the entries of models of a module. `names` are separated by blanks."""
        return {getattr(module, name): self for name in names.split()}


SETTINGS = Nothing("settings of the company")
STAFF = Nothing("people who work here, and programs")
WORK = Nothing("times and numbers of the work")


TABLE: dict[type[models.Model], Data | Nothing] = {}
# Return what legal holds keep, None without a hold.
_on_hold: list[Callable[[], Person | None]] = []


def register(table: Mapping[type[models.Model], Data | Nothing]) -> None:
    """Add the table of an app; called by AppConfig.ready()."""
    TABLE.update(table)


def register_holds(on_hold: Callable[[], Person | None]) -> None:
    _on_hold[:] = [on_hold]


def _held_rows(model: type[models.Model]) -> "models.QuerySet[Any] | None":
    """Return the rows of a model that legal holds keep, None if there are none."""
    data = TABLE.get(model)
    if isinstance(data, Data) and data.rows and (person := _on_hold[0]()):
        return data.rows(person).order_by()
    return None


def without_held(rows: "models.QuerySet[Any]") -> "models.QuerySet[Any]":
    """Leave out the rows that legal holds keep."""
    held = _held_rows(rows.model)
    return rows if held is None else rows.exclude(pk__in=held.values("pk"))


def is_held(model: type[models.Model], pk: Any) -> bool:
    """Return whether a legal hold keeps the row."""
    held = _held_rows(model)
    return held is not None and held.filter(pk=pk).exists()


def has_held(person: Person) -> bool:
    """Return whether a legal hold keeps a row of the person that an erasure would remove."""
    kept = _on_hold[0]()
    return kept is not None and any(
        data.rows(person).filter(pk__in=data.rows(kept).order_by().values("pk")).exists()
        for _model, data in entries()
        if data.rows and data.fate != Fate.KEPT
    )


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


def mentions(
    model: type[models.Model], data: Data, person: Person, after: Any = None
) -> tuple[list[models.Model], Any]:
    """Return the rows of the next portion that mention the person in a personal column, and the key to go on after;
    None at the end.
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
        matches |= Q(**{f"{alias}__iregex": person.hint})
    portion = rows.filter(pk__lte=last) if last is not None else rows
    found = portion.alias(**texts).filter(matches)
    compiled = re.compile(person.pattern, re.IGNORECASE)
    return [row for row in found if cleaned(row, data, compiled)], last


def cleaned(row: models.Model, data: Data, pattern: "re.Pattern[str]") -> dict[str, Any]:
    """Return the personal columns that mention the person, without it."""
    values = {name: getattr(row, name) for name in data.names}
    return {name: clean for name, value in values.items() if (clean := without(value, pattern)) != value}


def without(value: Any, pattern: "re.Pattern[str]") -> Any:
    """Return a text, list or object of JSON without what matches."""
    match value:
        case str():
            return pattern.sub(_gone, value)
        case list() | tuple():
            return [without(each, pattern) for each in value]
        case dict():
            return {without(name, pattern): without(each, pattern) for name, each in value.items()}
    return value


def _gone(match: "re.Match[str]") -> str:
    """Return what is left of a match: nothing, or all if it is the end of a number of another country."""
    is_other = "@" not in match[0] and _ABROAD.search(match.string, 0, match.start())
    return match[0] if is_other else ""


def redact(model: type[models.Model], found: Sequence[models.Model], data: Data, person: Person) -> tuple[int, int]:
    """Remove the person from the personal columns of these rows, as they are now, but not from rows on a legal hold.
    Return the numbers of both.
    """
    compiled, keys = re.compile(person.pattern, re.IGNORECASE), []
    rows = model._base_manager.filter(pk__in=[row.pk for row in found])
    free = list(without_held(rows).values_list("pk", flat=True))
    for pk in free:
        same = model._base_manager.filter(pk=pk)
        row = same.select_for_update(no_key=True, of=("self",)).first()
        if row is None or not (values := cleaned(row, data, compiled)):
            continue
        if data.deletes_mentions:
            same.delete()
        else:
            same.update(**values)
        keys.append(row.pk)
    if keys and data.redacted:
        data.redacted(keys)
    return len(keys), len(found) - len(free)


def rows_for_export(person: Person) -> Iterator[tuple[type[models.Model], Data, Iterator[models.Model]]]:
    """Yield each model with the rows that an export has: the person's own, or those that mention the person."""
    for model, data in entries():
        if data.rows:
            yield model, data, data.rows(person).order_by("pk").iterator(chunk_size=500)
        elif person.pattern:
            yield model, data, _all_mentions(model, data, person)


def _all_mentions(model: type[models.Model], data: Data, person: Person) -> Iterator[models.Model]:
    rows, after = mentions(model, data, person)
    yield from rows
    while after is not None:
        rows, after = mentions(model, data, person, after)
        yield from rows
