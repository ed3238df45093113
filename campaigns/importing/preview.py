"""The preview of an import: the first rows of the file, and the faults among the first thousand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO

from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.times import minute
from campaigns.importing.formats import Format, showable
from campaigns.importing.row_reader import ImportedRow, RowReader
from campaigns.importing.rows import Rows
from campaigns.models.record_fields import IMPORTED
from campaigns.models.record_rows import ids_by_number, taken_identifiers
from campaigns.models.rules import CampaignFacts, Draft
from campaigns.models.status import as_read

SHOWN_ROWS = 20
CHECKED_ROWS = 1000
SHOWN_REASONS = 20
SHOWN_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class PreviewRow:
    line: int
    phone_number: str
    number: str
    status: str
    # Target -> text of the imported columns.
    values: Mapping[str, str]
    faults: Sequence[str]
    has_invalid_number: bool


@dataclass(slots=True)
class Reason:
    """A reason why rows are left out, with the number of such rows and the first ones as (line, phone number)."""

    message: str
    # The row is valid, but the campaign or an earlier row has its number.
    is_duplicate: bool
    count: int = 0
    samples: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, row: ImportedRow) -> None:
        self.count += 1
        if len(self.samples) < SHOWN_SAMPLES:
            self.samples.append((line, showable(row.phone_number)))


@dataclass(slots=True)
class Preview:
    """The first rows for the page, and counts among the `checked` rows.

    `duplicates` have a number of the campaign, `repeats` a number of an earlier row, `faulty` rows any other fault.
    `invalid` rows are imported although a number is not valid.
    `reasons` lists faults before duplicates and repeats, and frequent reasons before rare ones.
    """

    rows: list[PreviewRow] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    checked: int = 0
    faulty: int = 0
    duplicates: int = 0
    repeats: int = 0
    invalid: int = 0

    @property
    def is_whole_file(self) -> bool:
        return self.checked < CHECKED_ROWS


def head(file: BinaryIO, form: Format) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns ("" without a header) and examples of each from the first rows."""
    with Rows(file, form) as rows:
        first = [cells for _, cells in islice(rows, SHOWN_ROWS) if isinstance(cells, list)]
        width = rows.width
        names = [*rows.header, *[""] * (width - len(rows.header))]
    examples = [
        list(islice(dict.fromkeys(cells[place] for cells in first if place < len(cells) and cells[place].strip()), 3))
        for place in range(width)
    ]
    return [*map(showable, names)], [[*map(showable, several)] for several in examples]


def preview(
    file: BinaryIO,
    form: Format,
    campaign: CampaignFacts,
    columns: Mapping[int, str],
    region: str,
    *,
    is_skipping: bool,
    refuses_invalid: bool = False,
) -> Preview:
    """Read the first rows like the import, and look for taken numbers and identifiers."""
    shown = Preview()
    with Rows(file, form) as rows:
        reader = RowReader(campaign, columns, rows, region, refuses_invalid=refuses_invalid)
        rows_read = [(line, reader.read(cells)) for line, cells in islice(rows, CHECKED_ROWS)]
    taken = _Taken(campaign, [row for _, row in rows_read], is_skipping=is_skipping)
    names = {key: name for name, key in campaign.fields.items()}
    reasons: dict[tuple[str, bool], Reason] = {}
    for line, row in rows_read:
        duplicate = taken.faults(row)
        first = None if row.faults or not duplicate else duplicate[0].code
        is_repeat = first is ErrorCode.NUMBER_REPEATED
        is_duplicate = is_repeat or first is ErrorCode.NUMBER_DUPLICATED
        shown.repeats += is_repeat
        shown.duplicates += is_duplicate and not is_repeat
        messages = [showable(fault.message) for fault in (*row.faults, *duplicate)]
        shown.faulty += bool(messages) and not is_duplicate
        shown.invalid += not messages and row.has_invalid_number
        for message in messages:
            reasons.setdefault((message, is_duplicate), Reason(message, is_duplicate)).add(line, row)
        if len(shown.rows) < SHOWN_ROWS:
            shown.rows.append(_row(line, row, messages, names))
    shown.checked = len(rows_read)
    shown.reasons = sorted(reasons.values(), key=lambda reason: (reason.is_duplicate, -reason.count))[:SHOWN_REASONS]
    return shown


def _row(line: int, row: ImportedRow, faults: Sequence[str], names: Mapping[str, str]) -> PreviewRow:
    draft = row.draft
    values = {
        **{name: _shown(getattr(draft, field.name)) for name, field in IMPORTED.items() if field.name in Draft._fields},
        "additional_numbers": ", ".join(number for _, number in row.additional),
        **{f"field:{key}": text for key, text in draft.fields.items() if key in names},
    }
    values = {target: showable(text) for target, text in values.items()}
    status = as_read(draft.status.name)
    return PreviewRow(line, showable(row.phone_number), row.number, status, values, faults, row.has_invalid_number)


def _shown(value: Any) -> str:
    if isinstance(value, datetime):
        return minute(value)
    return "" if value is None else str(value)


class _Taken:
    """The numbers and identifiers of the campaign's records and of earlier rows that are imported."""

    def __init__(self, campaign: CampaignFacts, rows_read: Sequence[ImportedRow], *, is_skipping: bool) -> None:
        self._is_skipping = is_skipping
        numbers = [row.number for row in rows_read if row.number] if is_skipping else []
        identifiers = [row.draft.identifier for row in rows_read if row.draft.identifier]
        self._numbers = ids_by_number(campaign.id, numbers)
        self._identifiers = taken_identifiers(campaign.id, identifiers)
        self._numbers_of_rows: set[str] = set()
        self._identifiers_of_rows: set[str] = set()

    def faults(self, row: ImportedRow) -> list[Fault]:
        faults = []
        number, identifier = row.number, row.draft.identifier
        if self._is_skipping and number in self._numbers:
            faults.append(Fault(ErrorCode.NUMBER_DUPLICATED))
        elif self._is_skipping and number in self._numbers_of_rows:
            faults.append(Fault(ErrorCode.NUMBER_REPEATED))
        if identifier and identifier in self._identifiers:
            faults.append(Fault(ErrorCode.IDENTIFIER_TAKEN))
        elif identifier and identifier in self._identifiers_of_rows:
            faults.append(Fault(ErrorCode.IDENTIFIER_REPEATED))
        if not faults and not row.faults:
            self._numbers_of_rows.add(number)
            self._identifiers_of_rows.add(identifier)
        return faults
