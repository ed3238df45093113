"""The head of a file as it would be imported, and what is wrong with its rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO

from django.db import connection

from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.times import minute
from campaigns.importing.columns import Reading, RowReader
from campaigns.importing.formats import Format, showable
from campaigns.importing.reading import Rows
from campaigns.models.record_fields import IMPORTED
from campaigns.models.rules import CampaignFacts, Draft

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
    # As target -> text, of those columns that are imported.
    values: Mapping[str, str]
    faults: Sequence[str]


@dataclass(slots=True)
class Reason:
    """A reason why rows are left out: how many rows it concerns, and the first of them as (line, phone number)."""

    message: str
    # The row is good, and its number is in the campaign or the file already.
    is_duplicate: bool
    count: int = 0
    samples: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, reading: Reading) -> None:
        self.count += 1
        if len(self.samples) < SHOWN_SAMPLES:
            self.samples.append((line, showable(reading.phone_number)))


@dataclass(slots=True)
class Preview:
    """The first rows as people see them. The numbers count rows among the `checked` ones.

    `duplicates` have a number that the campaign has, `repeats` a number of an earlier row, `faulty` rows any other
    fault. `reasons` has the faults first, then duplicates and repeats; the commonest reason of each kind comes first.
    """

    rows: list[PreviewRow] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    checked: int = 0
    faulty: int = 0
    duplicates: int = 0
    repeats: int = 0

    @property
    def is_whole_file(self) -> bool:
        return self.checked < CHECKED_ROWS


def head(file: BinaryIO, form: Format) -> tuple[list[str], list[list[str]]]:
    """The names of the columns ("" where there are none), and examples of each from the first rows."""
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
    file: BinaryIO, form: Format, campaign: CampaignFacts, columns: Mapping[int, str], region: str, *, is_skipping: bool
) -> Preview:
    """Read the first rows as the import would, the numbers and identifiers that are taken included."""
    shown = Preview()
    with Rows(file, form) as rows:
        reader = RowReader(campaign, columns, rows, region)
        readings = [(line, reader.read(cells)) for line, cells in islice(rows, CHECKED_ROWS)]
    taken = _Taken(campaign, [reading for _, reading in readings], is_skipping=is_skipping)
    names = {key: name for name, key in campaign.fields.items()}
    reasons: dict[tuple[str, bool], Reason] = {}
    for line, reading in readings:
        duplicate = taken.faults(reading)
        first = None if reading.faults or not duplicate else duplicate[0].code
        is_repeat = first is ErrorCode.NUMBER_REPEATED
        is_duplicate = is_repeat or first is ErrorCode.NUMBER_DUPLICATED
        shown.repeats += is_repeat
        shown.duplicates += is_duplicate and not is_repeat
        messages = [showable(fault.message) for fault in (*reading.faults, *duplicate)]
        shown.faulty += bool(messages) and not is_duplicate
        for message in messages:
            reasons.setdefault((message, is_duplicate), Reason(message, is_duplicate)).add(line, reading)
        if len(shown.rows) < SHOWN_ROWS:
            shown.rows.append(_row(line, reading, messages, names))
    shown.checked = len(readings)
    shown.reasons = sorted(reasons.values(), key=lambda reason: (reason.is_duplicate, -reason.count))[:SHOWN_REASONS]
    return shown


def _row(line: int, reading: Reading, faults: Sequence[str], names: Mapping[str, str]) -> PreviewRow:
    draft = reading.draft
    values = {
        **{name: _shown(getattr(draft, field.name)) for name, field in IMPORTED.items() if field.name in Draft._fields},
        "additional_numbers": ", ".join(number for _, number in reading.additional),
        **{f"field:{key}": text for key, text in draft.fields.items() if key in names},
    }
    values = {target: showable(text) for target, text in values.items()}
    return PreviewRow(line, showable(reading.phone_number), reading.number, draft.status.name, values, faults)


def _shown(value: Any) -> str:
    if isinstance(value, datetime):
        return minute(value)
    return "" if value is None else str(value)


class _Taken:
    """The numbers and identifiers that records of the campaign have, and those of earlier rows that are imported."""

    def __init__(self, campaign: CampaignFacts, readings: Sequence[Reading], *, is_skipping: bool) -> None:
        self._is_skipping = is_skipping
        numbers = [reading.number for reading in readings if reading.number] if is_skipping else []
        identifiers = [reading.draft.identifier for reading in readings if reading.draft.identifier]
        self._numbers = set(
            self._select(
                "SELECT number FROM campaigns_record WHERE campaign_id = %s AND is_primary AND number = ANY(%s)",
                campaign,
                numbers,
            )
        )
        self._identifiers = set(
            self._select(
                "SELECT identifier FROM campaigns_record"
                " WHERE campaign_id = %s AND identifier <> '' AND identifier = ANY(%s)",
                campaign,
                identifiers,
            )
        )
        self._numbers_of_rows: set[str] = set()
        self._identifiers_of_rows: set[str] = set()

    @staticmethod
    def _select(statement: str, campaign: CampaignFacts, values: Sequence[str]) -> Iterator[str]:
        if values:
            with connection.cursor() as cursor:
                cursor.execute(statement, [campaign.id, [*values]])
                yield from (value for (value,) in cursor.fetchall())

    def faults(self, reading: Reading) -> list[Fault]:
        faults = []
        number, identifier = reading.number, reading.draft.identifier
        if self._is_skipping and number in self._numbers:
            faults.append(Fault(ErrorCode.NUMBER_DUPLICATED))
        elif self._is_skipping and number in self._numbers_of_rows:
            faults.append(Fault(ErrorCode.NUMBER_REPEATED))
        if identifier and identifier in self._identifiers:
            faults.append(Fault(ErrorCode.IDENTIFIER_TAKEN))
        elif identifier and identifier in self._identifiers_of_rows:
            faults.append(Fault(ErrorCode.IDENTIFIER_REPEATED))
        if not faults and not reading.faults:
            self._numbers_of_rows.add(number)
            self._identifiers_of_rows.add(identifier)
        return faults
