"""The rows of a file, read as drafts of records: types, numbers, and the rules that need no other record."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from callcentre.core.errors import ErrorCode, Fault, besides
from callcentre.core.field_tables import Kind
from callcentre.core.parsing import INT32, Reject, parse_instant, parse_integer
from callcentre.core.phone import PhoneError, is_valid, normalise
from callcentre.core.spreadsheets import as_entered
from campaigns.importing.columns import REPEATABLE, label_of
from campaigns.importing.formats import ENCODINGS
from campaigns.importing.rows import Rows, Torn
from campaigns.models import DictionaryStatus
from campaigns.models.record_fields import IMPORTED, RecordField
from campaigns.models.rules import CampaignFacts, Draft, StatusFact, check
from campaigns.verbs.new_records import read_additional
from telephony.models import Agent

MAX_ADDITIONAL = IMPORTED[REPEATABLE].max_items or 0
# A semicolon before these words belongs to the number: tel:+48…;ext=12.
_BETWEEN_NUMBERS = re.compile(r"[,|\r\n]|;(?!\s*(?:ext|isub|phone-context)=)", re.IGNORECASE)
# Data tools write a column of numbers with empty cells like this.
_FLOAT = re.compile(r"\A\s*\+?\d{6,}\.0\s*\Z", re.ASCII)
_HALF_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class ImportedRow:
    """A row of the file as a draft of a record. `number` is "" if the phone number is invalid."""

    phone_number: str = ""
    number: str = ""
    draft: Draft = field(default_factory=Draft)
    additional: list[tuple[str, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @property
    def has_invalid_number(self) -> bool:
        """Whether a number is as long as one of its country, and is none."""
        numbers = [self.number, *(number for _raw, number in self.additional)]
        return any(number and not is_valid(number) for number in numbers)


class RowReader:
    """Reader of rows for one campaign and one choice of columns."""

    def __init__(
        self,
        campaign: CampaignFacts,
        columns: Mapping[int, str],
        rows: Rows,
        region: str,
        *,
        refuses_invalid: bool = False,
    ) -> None:
        self._campaign = campaign
        self._refuses_invalid = refuses_invalid
        self._region = region
        self._encoding = ENCODINGS[rows.form.encoding]
        self._width = rows.width
        self._is_plain = False
        header = rows.header
        self._agents: Mapping[str, int] = dict(Agent.objects.order_by().values_list("login", "pk"))
        self._dictionary = {name.casefold(): pk for pk, name in DictionaryStatus.objects.values_list("pk", "name")}
        self._start = Draft(status=campaign.first_status)
        self._find_status = lru_cache(10_000)(self._status_named)
        names = {key: name for name, key in campaign.fields.items()}
        # The name of a column in faults: its header, or our name of its target.
        self._labels: dict[str, str] = {}
        self._fields: list[tuple[int, str, str]] = []
        self._columns: list[tuple[int, str, str, Callable[[str], Any]]] = []
        self._phone: tuple[int, str] = (0, "phone_number")
        self._additional: list[tuple[int, str]] = []
        for position, target in columns.items():
            label = (header[position].strip() if position < len(header) else "") or label_of(target, campaign)
            if target.startswith("field:"):
                name = names[target.removeprefix("field:")]
                self._fields.append((position, name, label))
                self._labels[f"fields.{name}"] = label
            elif target == "phone_number":
                self._phone = position, label
            elif target == REPEATABLE:
                self._additional.append((position, label))
            else:
                entry = IMPORTED[target]
                name, read = ("status_id", self._read_status) if target == "status" else (entry.name, _reader(entry))
                self._columns.append((position, label, name, read))
                self._labels[name] = label

    def read(self, cells: list[str] | Torn) -> ImportedRow:
        row = ImportedRow()
        faults = row.faults
        if isinstance(cells, Torn):
            faults.append(Fault(ErrorCode.QUOTE_OPEN))
            return row
        count = len(cells)
        if count > self._width and any(cells[self._width :]):
            # A cell contains a delimiter without quotation marks, so that later cells are in wrong columns.
            faults.append(Fault(ErrorCode.TOO_MANY_CELLS, "", {"count": count, "limit": self._width}))
        values: dict[str, Any] = {}
        # Check the whole row at once: most rows need no check of each cell.
        text = "".join(cells)
        self._is_plain = text.isprintable() and "'" not in text
        self._read_phone(cells, count, row)
        for position, label, name, read in self._columns:
            if position < count:
                with _at(label, faults):
                    values[name] = read(self._text(cells[position]).strip())
        if self._fields:
            fields = values["fields"] = {}
            for position, name, label in self._fields:
                if position < count and (cell := cells[position]):
                    with _at(label, faults):
                        fields[name] = _at_most(self._text(cell), 10_000)
        if self._additional:
            self._read_additional(cells, count, row)
        if self._refuses_invalid and row.has_invalid_number:
            faults.append(Fault(ErrorCode.PHONE_NOT_VALID, self._phone[1]))
        row.draft, broken = check(values, self._campaign, self._agents, self._start, row.number)
        faults += besides(
            faults, (Fault(fault.code, self._labels.get(fault.field, fault.field), fault.params) for fault in broken)
        )
        return row

    def _read_phone(self, cells: Sequence[str], count: int, row: ImportedRow) -> None:
        position, label = self._phone
        with _at(label, row.faults):
            raw = self._text(cells[position]).strip() if position < count else ""
            if not raw:
                raise Reject(ErrorCode.EMPTY)
            _at_most(raw, 100)
            if raw[-2:] == ".0" and _FLOAT.match(raw):
                raw = raw[:-2]
            row.phone_number = raw
            row.number = normalise(raw, self._region)

    def _read_additional(self, cells: Sequence[str], count: int, row: ImportedRow) -> None:
        raws: list[str] = []
        for position, label in self._additional:
            if position < count and cells[position]:
                with _at(label, row.faults):
                    given = [raw.strip() for raw in _BETWEEN_NUMBERS.split(self._text(cells[position]))]
                    raws += filter(None, given)
        label = self._additional[0][1]
        if len(raws) > MAX_ADDITIONAL:
            row.faults.append(Fault(ErrorCode.TOO_MANY, label, {"limit": MAX_ADDITIONAL}))
        elif raws:
            faults: list[Fault] = []
            row.additional = read_additional({REPEATABLE: raws}, row.number, faults, self._region)
            row.faults += [Fault(fault.code, label, fault.params) for fault in faults]

    def _text(self, cell: str) -> str:
        """Return the cell. Raises Reject if a column of the database cannot hold it."""
        if self._is_plain:
            return cell
        if "\0" in cell:
            raise Reject(ErrorCode.NUL)
        if _HALF_SURROGATES.search(cell):
            raise Reject(ErrorCode.BYTES_UNREADABLE, encoding=self._encoding)
        return as_entered(cell)

    def _read_status(self, text: str) -> int | None:
        if not text:
            return None
        status = self._find_status(text)
        if status is None:
            raise Reject(ErrorCode.STATUS_NOT_FOUND)
        return status.id

    def _status_named(self, text: str) -> StatusFact | None:
        """Find a status by its name in the campaign, name in the dictionary, system status or id, in this order."""
        statuses = self._campaign.statuses
        folded = text.casefold()
        by_name = (fact for fact in statuses.values() if fact.name.casefold() == folded)
        by_system = (fact for fact in statuses.values() if fact.system_status == text)
        dictionary_id = self._dictionary.get(folded)
        by_dictionary = self._campaign.by_dictionary(dictionary_id) if dictionary_id is not None else None
        by_id = statuses.get(int(text)) if re.fullmatch("[0-9]{1,18}", text) else None
        return next(by_name, None) or by_dictionary or next(by_system, None) or by_id


@contextmanager
def _at(label: str, faults: list[Fault]) -> Iterator[None]:
    """Add the fault of a cell that cannot be read, under the name of its column."""
    try:
        yield
    except PhoneError as error:
        faults.append(error.fault(label))
    except Reject as reject:
        faults.append(Fault(reject.fault.code, label, reject.fault.params))


def _reader(field: RecordField) -> Callable[[str], Any]:
    """Return the function that reads a trimmed cell of a column."""
    if field.kind is Kind.TEXT:
        return lambda text: _at_most(text, field.max_length)
    read: Mapping[Kind, Callable[[str], Any]] = {
        Kind.INTEGER: lambda text: parse_integer(text, -INT32 - 1, INT32),
        Kind.ID: parse_integer,
        Kind.MINUTE: _instant,
    }
    return lambda text: read[field.kind](text) if text else None


def _at_most(text: str, limit: int | None) -> str:
    if limit is not None and len(text) > limit:
        raise Reject(ErrorCode.TOO_LONG, limit=limit)
    return text


@lru_cache(maxsize=4096)
def _instant(text: str) -> datetime:
    return parse_instant(text, code=ErrorCode.NOT_MINUTE)
