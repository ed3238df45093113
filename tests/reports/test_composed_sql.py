"""The SQL that the report composes at import: composed.sql spells it out."""

from pathlib import Path

from reports import ledgers, report


def test_composed_statements() -> None:
    statements = {
        "Grains of the ledgers": ledgers.grains(with_queues=True),
        "Sums of grains": report._OF_GRAINS,
        "Sums of rollups": report._OF_ROLLUPS[False],
        "Sums of rollups of some queues": report._OF_ROLLUPS[True],
        "Sums of a page": report._SUMS,
    }
    composed = "\n\n".join(f"-- {title}\n{sql.strip()}" for title, sql in statements.items())
    print(composed)
    assert f"{composed}\n" == Path(__file__).with_name("composed.sql").read_text()
