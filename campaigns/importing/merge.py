"""From rows to records: COPY into a temporary table, then one merge, all in the caller's transaction.

The merge inserts in the order of the file. The unique indexes refuse a row whose number or identifier is taken by a
record or an earlier row, also if a request adds it at the same moment. The merge takes slices of the temporary table,
so that its progress shows and no statement grows with the file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import orjson
from django.db import connection
from psycopg import sql

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.field_tables import columns, typed_columns
from callcentre.core.statements import Statement
from campaigns import events
from campaigns.importing.formats import showable
from campaigns.importing.row_reader import ImportedRow, RowReader
from campaigns.importing.rows import Rows
from campaigns.models.record_fields import STORED
from campaigns.models.record_rows import CUSTOMER_ZONE
from campaigns.models.rules import CampaignFacts

_SLICE_ROWS = 20_000


@dataclass(slots=True)
class Progress:
    """The progress of an import. Other threads read it."""

    size: int = 0
    bytes_read: int = 0
    rows: int = 0
    slices: int = 0
    slices_merged: int = 0

    @property
    def percent(self) -> int:
        """0 to 99; the commit sets 100."""
        reading = min(self.bytes_read / self.size, 1) if self.size else 1
        merging = self.slices_merged / self.slices if self.slices else 0
        return int(45 * reading + 54 * merging)


@dataclass(frozen=True, slots=True)
class Totals:
    read: int = 0
    added: int = 0
    duplicates: int = 0
    faulty: int = 0

    @property
    def refused(self) -> int:
        return self.duplicates + self.faulty


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was not imported: the number of its first line, and the reason."""

    line: int
    message: str


# A staged row gets the id of its record; so the merge can tell which rows became records.
_CREATE = """
DROP TABLE IF EXISTS pg_temp.import_row, pg_temp.import_refusal;
CREATE TEMPORARY TABLE import_row (
  id bigint DEFAULT nextval({sequence}), line integer, phone_number text, number text, {typed_columns},
  additional_raw text[], additional text[], message text
) ON COMMIT DROP;
CREATE TEMPORARY TABLE import_refusal (
  line integer, message text, number_taken_by text, identifier_taken_by text
) ON COMMIT DROP
"""
STAGE = f"""
COPY import_row (line, phone_number, number, {columns(STORED)}, additional_raw, additional, message) FROM STDIN
"""
# No status is deleted while rows refer to it.
_LOCK_STATUSES = "SELECT FROM campaigns_recordstatus WHERE campaign_id = %s FOR KEY SHARE"

# {rows}: the rows of the slice that are to be added.
_MERGE = """
WITH given AS MATERIALIZED ({rows}), added AS (
  INSERT INTO campaigns_record (id, campaign_id, phone_number, number, is_primary, leased_by, created_at, {columns})
  SELECT id, {campaign}, phone_number, number, {is_primary}, '', now(), {columns}
  FROM given ORDER BY line
  ON CONFLICT DO NOTHING
  RETURNING id, status_id, system_status
), history AS (
  INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_id, actor_name, actor_address, action, changes,
                                      from_status, to_status, from_system_status, to_system_status)
  SELECT a.id, {actor_kind}, {actor_id}, {actor_name}, {actor_address}::inet, 'import', '{{}}', '',
    COALESCE(s.name, ''), '', a.system_status
  FROM added a LEFT JOIN campaigns_recordstatus s ON s.id = a.status_id
), additional AS (
  INSERT INTO campaigns_additionalnumber (record_id, campaign_id, phone_number, number)
  SELECT g.id, {campaign}, n.phone_number, n.number
  FROM given g JOIN added USING (id), unnest(g.additional_raw, g.additional) AS n(phone_number, number)
  WHERE g.additional IS NOT NULL
)
SELECT (SELECT count(*) FROM given), (SELECT count(*) FROM added)
"""
_FAULTLESS = "SELECT r.* FROM import_row r WHERE {slice} AND r.message IS NULL"
# The first of several rows with one identifier is added, even if it is the second record of its number.
_FIRST_OF_IDENTIFIER = """
SELECT * FROM (
  SELECT r.*, row_number() OVER (PARTITION BY r.identifier ORDER BY r.line) AS nth_of_identifier
  FROM import_row r WHERE {slice} AND r.message IS NULL
) AS r WHERE (r.identifier = '' OR r.nth_of_identifier = 1)
"""
_LEFT_OVER = """
{first_of_identifier} AND {not_added} AND EXISTS (
  SELECT FROM campaigns_record p WHERE p.campaign_id = {campaign} AND p.is_primary AND p.number = r.number)
"""
# Lock the primary records of duplicates that are to be added, so that they are not deleted meanwhile.
_LOCK_PRIMARY = """
SELECT FROM campaigns_record p WHERE p.campaign_id = {campaign} AND p.is_primary AND p.number IN (
  SELECT r.number FROM import_row r WHERE {slice} AND r.message IS NULL AND {not_added})
ORDER BY p.id FOR KEY SHARE
"""
# Older records and earlier rows of the file have lower ids. A record of a faster request has a higher id. A later row
# of the file, recognised by the time of our transaction, takes nothing from this row.
_REFUSE = """
INSERT INTO import_refusal (line, message, number_taken_by, identifier_taken_by)
SELECT r.line, r.message,
  (SELECT CASE WHEN x.created_at = now() THEN 'row' ELSE 'record' END
   FROM campaigns_record x WHERE {is_skipping} AND x.campaign_id = {campaign} AND x.is_primary AND x.number = r.number
   AND (x.id < r.id OR (r.message IS NULL AND x.created_at <> now()))),
  (SELECT CASE WHEN x.created_at = now() THEN 'row' ELSE 'record' END
   FROM campaigns_record x WHERE r.identifier <> '' AND x.campaign_id = {campaign} AND x.identifier <> ''
   AND x.identifier = r.identifier AND (x.id < r.id OR (r.message IS NULL AND x.created_at <> now())))
FROM import_row r WHERE {slice} AND (r.message IS NOT NULL OR {not_added})
"""
_COUNT_REFUSED = """
SELECT count(*) FILTER (WHERE message IS NULL AND number_taken_by IS NOT NULL), count(*) FROM import_refusal
"""

# Records of customers with a time zone, which are few.
_ZONES_OF_CUSTOMERS = Statement("""
UPDATE campaigns_record r SET zone = customer.zone
FROM import_row i CROSS JOIN LATERAL (SELECT {customer_zone} AS zone) AS customer
WHERE r.id = i.id AND customer.zone <> ''
""").of(customer_zone=CUSTOMER_ZONE.format(number="i.number"))
# The rows of a slice that became records, in the order of the file.
_BECAME_RECORDS = """
SELECT r.id, r.line FROM import_row r JOIN campaigns_record x ON x.id = r.id WHERE {slice}
"""


class Merge:
    """The merge of one file into one campaign: `stage`, `merge`, `refusals`, `record_events`, in one transaction."""

    def __init__(self, campaign: CampaignFacts, actor: Actor, *, is_skipping: bool, progress: Progress) -> None:
        self._campaign = campaign
        self._is_skipping = is_skipping
        self._progress = progress
        self._constants = {
            "columns": sql.SQL(columns(STORED)),
            "campaign": sql.Literal(campaign.id),
            **{name: sql.Literal(value) for name, value in change_columns(actor).items()},
            "is_skipping": sql.Literal(is_skipping),
        }
        self._staged = 0
        self._merged: list[tuple[str, str]] = []

    def stage(self, rows: Rows, reader: RowReader) -> None:
        """Read the whole file into the temporary table, faulty rows too."""
        with connection.cursor() as cursor:
            # Each statement checks its foreign keys, so that the commit has nothing left to check.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(_LOCK_STATUSES, [self._campaign.id])
            cursor.execute("SELECT pg_get_serial_sequence('campaigns_record', 'id')")
            (sequence,) = cursor.fetchone()
            parts = {"sequence": sql.Literal(sequence), "typed_columns": sql.SQL(typed_columns(STORED))}
            for statement in _CREATE.split(";"):
                cursor.execute(sql.SQL(statement).format(**parts).as_string(cursor.connection))
            progress = self._progress
            with cursor.copy(STAGE) as copy:
                for line, cells in rows:
                    copy.write_row(_staged(line, reader.read(cells)))
                    self._staged += 1
                    progress.rows, progress.bytes_read = self._staged, rows.bytes_read
            progress.bytes_read = progress.size
            cursor.execute("ANALYZE import_row")

    def merge(self) -> Totals:
        """Insert the staged rows as records, and store a refusal for each of the others."""
        added = 0
        with connection.cursor() as cursor:
            self._merged = [*self._slices(cursor)]
            self._progress.slices = len(self._merged)
            for first, last in self._merged:
                added += self._merge_slice(cursor, first, last)
                self._progress.slices_merged += 1
            if self._campaign.is_crm:
                cursor.execute(_ZONES_OF_CUSTOMERS)
            cursor.execute(_COUNT_REFUSED)
            duplicates, refused = cursor.fetchone()
        return Totals(self._staged, added, duplicates, refused - duplicates)

    def record_events(self) -> None:
        """Record an event for each added record. Call it last before the commit: see outbox.record_from_query."""
        for first, last in self._merged:
            parts = _slice(first, last)
            with connection.cursor() as cursor:
                records = sql.SQL(_BECAME_RECORDS).format(**parts).as_string(cursor.connection)
            events.records_created_in_bulk(records)

    @contextmanager
    def refusals(self) -> Iterator[Iterator[Refusal]]:
        """Stream the refused rows in the order of the file."""
        with (
            connection.cursor() as cursor,
            cursor.copy("COPY (SELECT * FROM import_refusal ORDER BY line) TO STDOUT") as copy,
        ):
            copy.set_types(["int4", "text", "text", "text"])
            yield (Refusal(line, _reason(*why)) for line, *why in copy.rows())

    def _slices(self, cursor: Any) -> Iterator[tuple[str, str]]:
        """Return ranges of pages of the temporary table, in the order of staging."""
        cursor.execute("SELECT pg_relation_size('import_row') / current_setting('block_size')::int")
        (pages,) = cursor.fetchone()
        step = max(1, pages * _SLICE_ROWS // max(self._staged, 1))
        return ((f"({page},0)", f"({page + step},0)") for page in range(0, pages, step))

    def _merge_slice(self, cursor: Any, first: str, last: str) -> int:
        parts: dict[str, sql.Composable] = {
            **self._constants,
            **_slice(first, last),
            "not_added": sql.SQL("NOT EXISTS (SELECT FROM campaigns_record x WHERE x.id = r.id)"),
        }

        def compose(statement: str) -> sql.Composable:
            return sql.SQL(statement).format(**parts)

        def execute(statement: str) -> Any:
            cursor.execute(compose(statement).as_string(cursor.connection))
            return cursor

        def insert(rows: str, *, is_primary: bool) -> tuple[int, int]:
            parts["rows"], parts["is_primary"] = compose(rows), sql.Literal(is_primary)
            given, added = execute(_MERGE).fetchone()
            return given, added

        parts["first_of_identifier"] = compose(_FIRST_OF_IDENTIFIER)
        if self._is_skipping:
            _, added = insert(_FAULTLESS, is_primary=True)
        else:
            given, added = insert(_FIRST_OF_IDENTIFIER, is_primary=True)
            if added < given:
                execute(_LOCK_PRIMARY)
                added += insert(_LEFT_OVER, is_primary=False)[1]
        execute(_REFUSE)
        return added


def _slice(first: str, last: str) -> dict[str, sql.Composable]:
    """Return the SQL of a range of pages of the temporary table."""
    ends: dict[str, sql.Composable] = {
        "first": sql.SQL("{}::tid").format(first),
        "last": sql.SQL("{}::tid").format(last),
    }
    return {**ends, "slice": sql.SQL("r.ctid >= {first} AND r.ctid < {last}").format(**ends)}


_NUMBER_TAKEN_BY = {"record": ErrorCode.NUMBER_DUPLICATED, "row": ErrorCode.NUMBER_REPEATED}
_IDENTIFIER_TAKEN_BY = {"record": ErrorCode.IDENTIFIER_TAKEN, "row": ErrorCode.IDENTIFIER_REPEATED}


def _reason(message: str | None, number_taken_by: str | None, identifier_taken_by: str | None) -> str:
    reasons = [message] if message else []
    if number_taken_by:
        reasons.append(Fault(_NUMBER_TAKEN_BY[number_taken_by]).message)
    if identifier_taken_by:
        reasons.append(Fault(_IDENTIFIER_TAKEN_BY[identifier_taken_by]).message)
    # No reason: the record with the number or the identifier was deleted meanwhile.
    return " ".join(reasons) or Fault(ErrorCode.CONFLICT).message


_stored_values = attrgetter(*(field.stored for field in STORED))


def _staged(line: int, row: ImportedRow) -> tuple[Any, ...]:
    """Return the values of a row of the temporary table, in the order of STAGE."""
    if row.faults:
        kept = [row.draft.identifier if field.name == "identifier" else None for field in STORED]
        message = showable(" ".join(fault.message for fault in row.faults))
        return line, None, row.number, *kept, None, None, message
    stored = (orjson.dumps(value).decode() if isinstance(value, dict) else value for value in _stored_values(row.draft))
    raws, numbers = map(list, zip(*row.additional, strict=True)) if row.additional else (None, None)
    return line, row.phone_number, row.number, *stored, raws, numbers, None
