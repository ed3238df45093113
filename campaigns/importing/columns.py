"""What the columns of a file are, and what a row says by them: values for the rules of records."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

import phonenumbers

from callcentre.core.errors import ErrorCode, Fault, Invalid, besides
from callcentre.core.field_tables import Kind
from callcentre.core.normal_forms import normalised
from callcentre.core.parsing import INT32, Reject, parse_instant, parse_integer
from callcentre.core.phone import PhoneError, is_region, normalise
from callcentre.core.spreadsheets import as_entered
from campaigns.importing.formats import ENCODINGS
from campaigns.importing.reading import Rows, Torn
from campaigns.models import DictionaryStatus
from campaigns.models.adding import read_additional
from campaigns.models.record_fields import IMPORTED, RecordField
from campaigns.models.rules import CampaignFacts, Draft, StatusFact, check
from telephony.models import Agent

# What a column can be, besides a field of the campaign ("field:<primary key>"), and what people are shown.
TARGETS: Mapping[str, Any] = {name: field.import_label for name, field in IMPORTED.items()}
# Several columns may hold further numbers; everything else is in one.
_REPEATABLE = "additional_numbers"
_STATUSES = ("status", "status_id", "dictionary_status_id")
_SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "phone", "number", "telephone", "telephone_number", "tel", "mobile", "mobile_phone", "mobile_number",
            "msisdn", "telefon", "numer", "nr", "numer_telefonu", "nr_telefonu", "nr_tel", "tel_kom",
            "telefon_komorkowy", "komorka",
        ),
        "phone_number",
    ),
    **dict.fromkeys(("external_id", "identyfikator", "id_zewnetrzne", "id_klienta"), "identifier"),
    **dict.fromkeys(("status_name", "nazwa_statusu"), "status"),
    **dict.fromkeys(("id_statusu",), "status_id"),
    **dict.fromkeys(("dictionary_status", "status_slownikowy"), "dictionary_status_id"),
    **dict.fromkeys(("agent", "login", "user_login", "login_agenta", "konsultant"), "agent_login"),
    **dict.fromkeys(("next_call", "next_call_at", "nastepny_kontakt", "data_nastepnego_kontaktu"), "next_call_date"),
    **dict.fromkeys(("kolejnosc",), "order"),
    **dict.fromkeys(
        (
            "additional_number", "additional_phone", "other_numbers", "other_phone", "phone2", "phone_2", "phone3",
            "phone_3", "dodatkowe_numery", "dodatkowy_numer", "drugi_numer", "drugi_telefon", "telefon2", "telefon_2",
            "telefon3", "telefon_3",
        ),
        "additional_numbers",
    ),
}  # fmt: skip
MAX_ADDITIONAL = IMPORTED[_REPEATABLE].max_items or 0
# A semicolon before these belongs to the number: tel:+48…;ext=12.
_BETWEEN_NUMBERS = re.compile(r"[,|\r\n]|;(?!\s*(?:ext|isub|phone-context)=)", re.IGNORECASE)
# What data tools make of a column of numbers with a gap in it.
_FLOAT = re.compile(r"\A\s*\+?\d{6,}\.0\s*\Z", re.ASCII)
_HALF_SURROGATES = re.compile("[\ud800-\udfff]")


def guess_columns(header: Sequence[str], campaign: CampaignFacts) -> dict[int, str]:
    """Position -> target, by the names in the header: our own names, then the campaign's fields, then synonyms."""
    names = [simple_name(name) for name in header]
    fields = {} if campaign.is_crm else {simple_name(name): f"field:{key}" for name, key in campaign.fields.items()}
    explicit = {f"field:{name}": target for name, target in fields.items()}
    guessed: dict[int, str] = {}
    taken: set[str] = set()
    for known in (explicit, {target: target for target in TARGETS}, fields, _SYNONYMS):
        for position, name in enumerate(names):
            target = known.get(name)
            if target is None or position in guessed or (target in taken and target != _REPEATABLE):
                continue
            if target in _STATUSES and not taken.isdisjoint(_STATUSES):
                continue
            guessed[position] = target
            taken.add(target)
    return dict(sorted(guessed.items()))


def columns_named(spec: str, header: Sequence[str], campaign: CampaignFacts) -> dict[int, str]:
    """Position -> target, from `phone_number,,city` (by position) or `Telefon=phone_number,Miasto=city`.

    Raises Invalid.
    """
    by_name = {simple_name(name): position for position, name in reversed([*enumerate(header)])}
    columns: dict[int, str] = {}
    faults: list[Fault] = []
    for position, item in enumerate(spec.split(",")):
        name, is_mapping, target = item.rpartition("=")
        if is_mapping:
            found = by_name.get(simple_name(name))
            if found is None:
                faults.append(Fault(ErrorCode.COLUMN_UNKNOWN, "columns", {"name": name.strip()}))
                continue
            position = found
        if target.strip() in ("", "-"):
            continue
        try:
            columns[position] = _target_named(target.strip(), campaign)
        except Reject as reject:
            faults.append(Fault(reject.fault.code, "columns", reject.fault.params))
    if faults:
        raise Invalid(faults)
    return columns


def check_choices(columns: Mapping[int, str], region: str, campaign: CampaignFacts) -> list[Fault]:
    """What is wrong with how a file is to be read, before any row of it is."""
    targets = list(columns.values())
    faults = []
    if "phone_number" not in targets:
        faults.append(Fault(ErrorCode.PHONE_COLUMN_MISSING, "columns"))
    faults += [
        Fault(ErrorCode.COLUMN_TWICE, "columns", {"target": _label(target, campaign)})
        for target in dict.fromkeys(targets)
        if targets.count(target) > 1 and target != _REPEATABLE
    ]
    if "status" in targets and "status_id" in targets:
        faults.append(Fault(ErrorCode.COLUMN_TWICE, "columns", {"target": "status"}))
    keys = set(campaign.fields.values())
    for target in targets:
        kind, _colon, key = target.partition(":")
        if kind == "field" and campaign.is_crm:
            faults.append(Fault(ErrorCode.FIELDS_IN_CRM, "columns"))
            break
        if (kind == "field" and key not in keys) or (kind != "field" and target not in TARGETS):
            faults.append(Fault(ErrorCode.TARGET_UNKNOWN, "columns", {"name": target}))
    if not is_region(region):
        faults.append(Fault(ErrorCode.REGION_UNKNOWN, "region", {"region": region}))
    return faults


def regions() -> list[tuple[str, str]]:
    """Every region with what people are shown: its code, and the calling code that they know it by."""
    return [
        (region, f"{region} (+{phonenumbers.country_code_for_region(region)})")
        for region in sorted(phonenumbers.SUPPORTED_REGIONS)
    ]


@dataclass(slots=True)
class Reading:
    """A row as the rules of records see it. `number` is "" where the phone number is none."""

    phone_number: str = ""
    number: str = ""
    draft: Draft = field(default_factory=Draft)
    additional: list[tuple[str, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


class RowReader:
    """Reads cells as a record of the campaign: types, numbers, and the rules that need no other record."""

    def __init__(self, campaign: CampaignFacts, columns: Mapping[int, str], rows: Rows, region: str) -> None:
        self._campaign = campaign
        self._region = region
        self._encoding = ENCODINGS[rows.form.encoding]
        self._width = rows.width
        self._is_plain = False
        header = rows.header
        self._agents: Mapping[str, int] = dict(Agent.objects.order_by().values_list("login", "pk"))
        self._dictionary = {name.casefold(): pk for pk, name in DictionaryStatus.objects.values_list("pk", "name")}
        self._start = Draft(status=campaign.first_status)
        self._statuses: dict[str, StatusFact | None] = {}
        names = {key: name for name, key in campaign.fields.items()}
        # What faults call a column: its header, or our name for what it is.
        self._labels: dict[str, str] = {}
        self._fields: list[tuple[int, str, str]] = []
        self._columns: list[tuple[int, str, str, Callable[[str], Any]]] = []
        self._phone: tuple[int, str] = (0, "phone_number")
        self._additional: list[tuple[int, str]] = []
        for position, target in columns.items():
            label = (header[position].strip() if position < len(header) else "") or _label(target, campaign)
            if target.startswith("field:"):
                name = names[target.removeprefix("field:")]
                self._fields.append((position, name, label))
                self._labels[f"fields.{name}"] = label
            elif target == "phone_number":
                self._phone = position, label
            elif target == _REPEATABLE:
                self._additional.append((position, label))
            else:
                field = IMPORTED[target]
                name, read = ("status_id", self._read_status) if target == "status" else (field.name, _reader(field))
                self._columns.append((position, label, name, read))
                self._labels[name] = label

    def read(self, cells: list[str] | Torn) -> Reading:
        reading = Reading()
        faults = reading.faults
        if isinstance(cells, Torn):
            faults.append(Fault(ErrorCode.QUOTE_OPEN))
            return reading
        count = len(cells)
        if count > self._width and any(cells[self._width :]):
            # A delimiter inside a cell without quotation marks: everything behind it is in the wrong column.
            faults.append(Fault(ErrorCode.TOO_MANY_CELLS, "", {"count": count, "limit": self._width}))
        values: dict[str, Any] = {}
        # One look at the row instead of one at each cell: most rows have nothing that needs a second one.
        row = "".join(cells)
        self._is_plain = row.isprintable() and "'" not in row
        self._read_phone(cells, count, reading)
        for position, label, name, read in self._columns:
            if position < count:
                try:
                    values[name] = read(self._text(cells[position]).strip())
                except Reject as reject:
                    faults.append(Fault(reject.fault.code, label, reject.fault.params))
        if self._fields:
            self._read_fields(cells, count, values, faults)
        if self._additional:
            self._read_additional(cells, count, reading)
        reading.draft, broken = check(values, self._campaign, self._agents, self._start)
        faults += besides(
            faults, (Fault(fault.code, self._labels.get(fault.field, fault.field), fault.params) for fault in broken)
        )
        return reading

    def _read_phone(self, cells: Sequence[str], count: int, reading: Reading) -> None:
        position, label = self._phone
        try:
            raw = self._text(cells[position]).strip() if position < count else ""
            if not raw:
                raise Reject(ErrorCode.EMPTY)
            _at_most(raw, 100)
            if raw[-2:] == ".0" and _FLOAT.match(raw):
                raw = raw[:-2]
            reading.phone_number = raw
            reading.number = normalise(raw, self._region)
        except PhoneError as error:
            reading.faults.append(error.fault(label))
        except Reject as reject:
            reading.faults.append(Fault(reject.fault.code, label, reject.fault.params))

    def _read_fields(self, cells: Sequence[str], count: int, values: dict[str, Any], faults: list[Fault]) -> None:
        fields = values["fields"] = {}
        for position, name, label in self._fields:
            if position < count and (cell := cells[position]):
                try:
                    fields[name] = _at_most(self._text(cell), 10_000)
                except Reject as reject:
                    faults.append(Fault(reject.fault.code, label, reject.fault.params))

    def _read_additional(self, cells: Sequence[str], count: int, reading: Reading) -> None:
        raws: list[str] = []
        for position, label in self._additional:
            if position < count and cells[position]:
                try:
                    given = [raw.strip() for raw in _BETWEEN_NUMBERS.split(self._text(cells[position]))]
                    raws += filter(None, given)
                except Reject as reject:
                    reading.faults.append(Fault(reject.fault.code, label, reject.fault.params))
        label = self._additional[0][1]
        if len(raws) > MAX_ADDITIONAL:
            reading.faults.append(Fault(ErrorCode.TOO_MANY, label, {"limit": MAX_ADDITIONAL}))
        elif raws:
            faults: list[Fault] = []
            reading.additional = read_additional({_REPEATABLE: raws}, reading.number, faults, self._region)
            reading.faults += [Fault(fault.code, label, fault.params) for fault in faults]

    def _text(self, cell: str) -> str:
        """The cell, if a column of the database can hold it."""
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
        if text not in self._statuses:
            if len(self._statuses) > 10_000:
                self._statuses.clear()
            self._statuses[text] = self._find_status(text)
        status = self._statuses[text]
        if status is None:
            raise Reject(ErrorCode.STATUS_NOT_FOUND)
        return status.id

    def _find_status(self, text: str) -> StatusFact | None:
        """By the name in the campaign, the name in the dictionary, the system status, or the id; in this order."""
        statuses = self._campaign.statuses
        folded = text.casefold()
        by_name = (fact for fact in statuses.values() if fact.name.casefold() == folded)
        by_system = (fact for fact in statuses.values() if fact.system_status == text)
        dictionary_id = self._dictionary.get(folded)
        by_dictionary = self._campaign.by_dictionary(dictionary_id) if dictionary_id is not None else None
        by_id = statuses.get(int(text)) if re.fullmatch("[0-9]{1,18}", text) else None
        return next(by_name, None) or by_dictionary or next(by_system, None) or by_id


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


def _target_named(name: str, campaign: CampaignFacts) -> str:
    simple = simple_name(name)
    if simple in TARGETS:
        return simple
    for field_name, key in campaign.fields.items():
        if name.removeprefix("field:") == field_name or simple.removeprefix("field:") == simple_name(field_name):
            return f"field:{key}"
    if simple in _SYNONYMS:
        return _SYNONYMS[simple]
    raise Reject(ErrorCode.TARGET_UNKNOWN, name=name)


def _label(target: str, campaign: CampaignFacts) -> str:
    if target.startswith("field:"):
        names = {key: name for name, key in campaign.fields.items()}
        return names.get(target.removeprefix("field:"), target)
    return target


def choices(campaign: CampaignFacts) -> Iterable[tuple[str, Any]]:
    """(target, what people are shown) of everything that a column of this campaign can be."""
    yield from TARGETS.items()
    if not campaign.is_crm:
        yield from ((f"field:{key}", name) for name, key in campaign.fields.items())


def simple_name(name: str) -> str:
    """A name without case, accents, and what stands between words."""
    text = normalised("NFKD", name.strip().casefold().replace("ł", "l"))
    text = "".join(character for character in text if not unicodedata.combining(character))
    return re.sub(r"[\s._-]+", "_", text).strip("_")
