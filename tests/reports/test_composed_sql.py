"""The SQL that the report composes at import: composed.sql spells it out."""

from pathlib import Path

from reports import ledgers, report
from reports.ledgers import Part, Source
from reports.periods import FIRST, LAST


def test_composed_statements() -> None:
    statements = {
        "Rows of the ledgers": ledgers.ROWS,
        "Agents with intervals that go on": ledgers.GOING_ON,
        "A page of rollups": report._statement({Part(Source.DAY, FIRST, LAST): [1]}, is_level=True),
        "A page of rollups and ledgers": report._statement(
            {Part(source, FIRST, LAST): [1] for source in (Source.DAY, Source.CLOSED)}, is_level=False
        ).replace(ledgers.ROWS, "…"),
    }
    composed = "\n\n".join(f"-- {title}\n{sql.strip()}" for title, sql in statements.items())
    print(composed)
    assert f"{composed}\n" == Path(__file__).with_name("composed.sql").read_text()
