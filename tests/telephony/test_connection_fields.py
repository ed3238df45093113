"""The table of a connection's fields: connection_fields.sql spells out the statements composed of it."""

from pathlib import Path

from telephony import connection_rows


def test_composed_statements() -> None:
    statements = {"A page of connections": connection_rows.LIST, "One connection": connection_rows.DETAILS}
    composed = "\n\n".join(f"-- {title}\n{sql.strip()}" for title, sql in statements.items())
    print(composed)
    assert f"{composed}\n" == Path(__file__).with_name("connection_fields.sql").read_text()
