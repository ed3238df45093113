"""Records with their results as CSV, for spreadsheets and for import_records, streamed by COPY.

Texts are made harmless, because a spreadsheet would execute a formula in them: see callcentre.core.spreadsheets.
"""

import io
from collections.abc import Iterator, Sequence

from django.conf import settings
from django.db import connection
from psycopg import sql

from callcentre.core.field_tables import Kind
from callcentre.core.spreadsheets import CsvWriter, harmless_in_sql
from campaigns.importing.columns import TARGETS, simple_name
from campaigns.models import Campaign
from campaigns.models.record_fields import RECORD_FIELDS

# Spreadsheets recognise UTF-8 by it.
_BYTE_ORDER_MARK = "\ufeff"
_BLOCK_BYTES = 64 * 1024


def _plain(value: sql.Composable) -> sql.Composable:
    return value


def _minute(value: sql.Composable) -> sql.Composable:
    zone = sql.Literal(settings.TIME_ZONE)
    return sql.SQL("to_char({} AT TIME ZONE {}, 'YYYY-MM-DD HH24:MI')").format(value, zone)


_WRITERS = {Kind.TEXT: harmless_in_sql, Kind.MINUTE: _minute}
_ADDITIONAL = (
    "(SELECT string_agg(n.phone_number, ', ' ORDER BY n.id) FROM campaigns_additionalnumber n WHERE n.record_id = r.id)"
)
# Name of a column -> expression of its value, and how the value is written.
_COLUMNS = {
    **{field.wire: (field.sql, _WRITERS.get(field.kind, _plain)) for field in RECORD_FIELDS if field.is_exported},
    "additional_numbers": (_ADDITIONAL, harmless_in_sql),
    "last_change_date": ("h.at", _minute),
    "last_change_by": ("h.actor_name", harmless_in_sql),
    "previous_status": ("h.from_status", harmless_in_sql),
}
_SELECT = """
COPY (
  SELECT {columns} FROM campaigns_record r
  LEFT JOIN campaigns_recordstatus s ON s.id = r.status_id
  LEFT JOIN telephony_agent a ON a.id = r.agent_id
  LEFT JOIN LATERAL (
    SELECT c.at, c.actor_name, c.from_status FROM campaigns_recordchange c
    WHERE c.record_id = r.id ORDER BY c.id DESC LIMIT 1
  ) h ON true
  WHERE r.campaign_id = {campaign} ORDER BY r.id
) TO STDOUT (FORMAT csv, DELIMITER {delimiter})
"""


def export_rows(campaign: Campaign, delimiter: str = ",") -> Iterator[bytes]:
    """Yield the file in blocks, header first: the records of one instant, in constant memory."""
    fields = list(campaign.fields.values_list("pk", "name"))
    columns = [written(sql.SQL(value)) for value, written in _COLUMNS.values()]
    columns += [harmless_in_sql(sql.SQL("(r.fields ->> {})").format(sql.Literal(str(pk)))) for pk, _ in fields]
    statement = sql.SQL(_SELECT).format(
        columns=sql.SQL(", ").join(columns), campaign=sql.Literal(campaign.pk), delimiter=sql.Literal(delimiter)
    )
    block = bytearray(_header([name for _, name in fields], delimiter))
    with connection.cursor() as cursor, cursor.copy(statement.as_string(cursor.connection)) as copy:
        for row in copy:
            block += row
            if len(block) >= _BLOCK_BYTES:
                yield bytes(block)
                block.clear()
    yield bytes(block)


def _header(fields: Sequence[str], delimiter: str) -> bytes:
    """Return the header. `field:` precedes a field's name that is one of our columns or could be a formula."""
    ours = {*TARGETS, *_COLUMNS}
    written = io.StringIO()
    names = [f"field:{name}" if simple_name(name) in ours or not name[:1].isalnum() else name for name in fields]
    CsvWriter(written, delimiter=delimiter).write([[*_COLUMNS, *names]])
    return (_BYTE_ORDER_MARK + written.getvalue()).encode()
