"""Files of do-not-call entries: COPY into a temporary table, then entries are added or removed in slices of it.

Everything happens in the caller's transaction, as with a file of records. The header names the columns: `number` (or
`phone_number`) or `prefix`, and perhaps `outbound_id`, `reason`, `since` and `until`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.utils import timezone

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.parsing import Reject, parse_instant, parse_text
from callcentre.core.spreadsheets import as_entered
from callcentre.core.statements import Statement
from campaigns.importing.formats import showable
from campaigns.importing.merge import Progress, Refusal, Totals
from campaigns.importing.rows import Rows, Torn
from campaigns.models import Campaign
from campaigns.verbs.do_not_call import ADD, NewEntry, check_entry, free_removed

_SLICE_LINES = 20_000
# Name in the header -> value of an entry.
_NAMES = {
    "number": "number",
    "phone_number": "number",
    "prefix": "prefix",
    "outbound_id": "campaign_code",
    "reason": "reason",
    "since": "since",
    "until": "until",
}
_LIMITS = {"number": 100, "prefix": 100, "campaign_code": 5, "reason": 300}
_CREATE = """
CREATE TEMPORARY TABLE import_entry (
  place integer, phone_number text, number text, is_prefix boolean, campaign_id bigint, reason text, since timestamptz,
  until timestamptz, message text
) ON COMMIT DROP
"""
_COPY = "COPY import_entry FROM STDIN"
_FAULTLESS = "FROM import_entry WHERE place >= %(first)s AND place < %(last)s AND message IS NULL"
_ADD = ADD.format(rows=f"SELECT place, phone_number, number, is_prefix, campaign_id, reason, since, until {_FAULTLESS}")
_REMOVE = Statement("""
DELETE FROM campaigns_donotcall d USING (SELECT DISTINCT number, is_prefix, campaign_id {faultless}) AS given
WHERE d.number = given.number AND d.is_prefix = given.is_prefix AND d.campaign_id IS NOT DISTINCT FROM given.campaign_id
""").of(faultless=_FAULTLESS)


def columns_of_header(header: Sequence[str]) -> dict[int, str]:
    """Return position -> value of an entry. Raises Invalid for a header without a number."""
    names = [_NAMES.get(name.strip().casefold(), "") for name in header]
    found = {position: name for position, name in enumerate(names) if name and name not in names[:position]}
    if not {"number", "prefix"} & set(found.values()):
        raise Invalid([Fault(ErrorCode.NUMBER_COLUMN_MISSING, "file")])
    return found


class DoNotCallFile:
    """The import of one file: `load`, then `refusals`, in one transaction."""

    def __init__(self, rows: Rows, region: str, progress: Progress, *, is_removal: bool) -> None:
        self._rows = rows
        self._region = region
        self._progress = progress
        self._is_removal = is_removal
        self._columns = columns_of_header(rows.header)

    def load(self) -> Totals:
        """Read the file, then add or remove its entries."""
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS pg_temp.import_entry")
            cursor.execute(_CREATE)
            read, faulty = self._stage(cursor)
            cursor.execute("CREATE INDEX ON import_entry (place)")
            cursor.execute("ANALYZE import_entry")
            changed = self._merge(cursor)
            if self._is_removal:
                free_removed(cursor, "import_entry")
        return Totals(read, changed, max(read - faulty - changed, 0), faulty)

    @contextmanager
    def refusals(self) -> Iterator[Iterator[Refusal]]:
        """Stream the faulty rows in the order of the file."""
        statement = "COPY (SELECT place, message FROM import_entry WHERE message IS NOT NULL ORDER BY place) TO STDOUT"
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(["int4", "text"])
            yield (Refusal(line, message) for line, message in copy.rows())

    def _stage(self, cursor: Any) -> tuple[int, int]:
        """Copy all rows into the temporary table. Return their number, and the number of faulty ones."""
        campaigns, now = dict(Campaign.objects.order_by().values_list("code", "pk")), timezone.now()
        progress, faulty = self._progress, 0
        with cursor.copy(_COPY) as copy:
            for line, cells in self._rows:
                entry = self._entry(cells)
                if not isinstance(cells, Torn):
                    check_entry(entry, campaigns, now, self._region)
                values, message = entry.values, None
                if entry.faults:
                    faulty += 1
                    message = showable(" ".join(self._named(fault).message for fault in entry.faults))
                    copy.write_row((line, *[None] * 7, message))
                else:
                    since, until = values.get("since") or now, values.get("until")
                    row = (line, entry.phone_number, entry.number, entry.is_prefix, entry.campaign_id)
                    copy.write_row((*row, values.get("reason") or "", since, until, None))
                progress.rows += 1
                progress.bytes_read = self._rows.bytes_read
        progress.bytes_read = progress.size
        return progress.rows, faulty

    def _named(self, fault: Fault) -> Fault:
        """Return the fault with the name of its column in the header."""
        names = {name: self._rows.header[position] for position, name in self._columns.items()}
        return Fault(fault.code, names.get(fault.field, fault.field), fault.params)

    def _merge(self, cursor: Any) -> int:
        cursor.execute("SELECT min(place), max(place) FROM import_entry")
        first, last = cursor.fetchone()
        starts = range(first, last + 1, _SLICE_LINES) if first is not None else range(0)
        self._progress.slices, changed = len(starts), 0
        for start in starts:
            cursor.execute(_REMOVE if self._is_removal else _ADD, {"first": start, "last": start + _SLICE_LINES})
            changed += cursor.rowcount
            self._progress.slices_merged += 1
        return changed

    def _entry(self, cells: list[str] | Torn) -> NewEntry:
        if isinstance(cells, Torn):
            return NewEntry({}, [Fault(ErrorCode.QUOTE_OPEN)])
        values: dict[str, Any] = {}
        faults: list[Fault] = []
        if len(cells) > self._rows.width and any(cells[self._rows.width :]):
            faults.append(Fault(ErrorCode.TOO_MANY_CELLS, "", {"count": len(cells), "limit": self._rows.width}))
        for position, name in self._columns.items():
            if position < len(cells) and (text := cells[position].strip()):
                try:
                    values[name] = _value(name, text)
                except Reject as reject:
                    faults.append(Fault(reject.fault.code, self._rows.header[position], reject.fault.params))
        return NewEntry(values, faults)


def _value(name: str, text: str) -> Any:
    if name in _LIMITS:
        return parse_text(as_entered(text), _LIMITS[name])
    return parse_instant(text, code=ErrorCode.NOT_MINUTE)
