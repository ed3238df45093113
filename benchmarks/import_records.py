"""The import of a million rows into a campaign, beside a million records in twenty campaigns.

python -m benchmarks.import_records [ROWS] [RECORDS]

The bound is a COPY of the same rows, already clean, into the same table with its indexes: it reads no number, looks for
no duplicate and writes no history. Ours is the whole command, with the start of its process.
"""

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.harness import CAMPAIGNS, ROOT, Service, Table, service, timed

COPY = """
COPY campaigns_record (campaign_id, phone_number, number, is_primary, status_id, system_status, identifier, last_note,
                       fields, leased_by) FROM STDIN
"""
FIRST_NAMES = ("Anna", "Łukasz", "Żaneta", "Jan")
CITIES = ("Łódź", "Kraków", "Gdańsk")
MEMORY_MB = 300


def measure(running: Service, rows: int) -> None:
    table = Table(f"Import of {rows:,} rows")
    table.head()
    connection = running.connect()
    with tempfile.TemporaryDirectory() as folder:
        given, clean = Path(folder) / "records.csv", Path(folder) / "clean.copy"
        _write_csv(given, rows)
        _write_clean(clean, rows, connection)

        connection.execute("CHECKPOINT")
        bound = timed(lambda: _copy(clean, connection))
        connection.execute("CHECKPOINT")
        command: list[int] = []
        ours = timed(lambda: command.append(_import(given, running)))
        # The same file again: every row is a duplicate.
        again = timed(lambda: command.append(_import(given, running)))

    _expect(connection, rows)
    table.add("import_records", "COPY of the clean rows", bound, ours, 5)
    table.add("the same file again, all duplicates", "COPY of the clean rows", bound, again, 5)
    peak = max(command) / 1024
    print(f"\n{rows / ours:,.0f} rows a second; highest memory of the process {peak:.0f} MB (goal: {MEMORY_MB} MB)")
    connection.close()


def _spelled(position: int) -> str:
    digits = str(600_000_000 + position)
    return f"+48 {digits[:3]} {digits[3:6]} {digits[6:]}"


def _rows(count: int) -> Iterator[tuple[str, str, str, str]]:
    for position in range(count):
        name, city = FIRST_NAMES[position % len(FIRST_NAMES)], CITIES[position % len(CITIES)]
        yield _spelled(position), f"C-{position:08}", name, city


def _write_csv(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["telefon", "identifier", "first_name", "city"])
        writer.writerows(_rows(count))


def _write_clean(path: Path, count: int, connection: psycopg.Connection[Any]) -> None:
    row = connection.execute(
        "SELECT c.id, s.id, f.id, g.id FROM campaigns_campaign c"
        " JOIN campaigns_recordstatus s ON s.campaign_id = c.id AND s.system_status = 'TO_CALL'"
        " JOIN campaigns_campaignfield f ON f.campaign_id = c.id AND f.name = 'first_name'"
        " JOIN campaigns_campaignfield g ON g.campaign_id = c.id AND g.name = 'city' WHERE c.code = 'B0003'"
    ).fetchone()
    assert row is not None
    campaign, status, first_name, city = row
    with path.open("w", encoding="utf-8") as file:
        for phone, identifier, name, town in _rows(count):
            fields = f'{{"{first_name}":"{name}","{city}":"{town}"}}'
            number = phone.replace(" ", "")
            file.write(f"{campaign}\t{phone}\t{number}\tt\t{status}\tTO_CALL\t{identifier}\t\t{fields}\t\n")


def _copy(path: Path, connection: psycopg.Connection[Any]) -> None:
    with path.open("rb") as file, connection.cursor() as cursor, cursor.copy(COPY) as copy:
        while block := file.read(1 << 18):
            copy.write(block)


def _import(path: Path, running: Service) -> int:
    """Return the highest resident memory of the command, in kilobytes."""
    command = [sys.executable, "manage.py", "import_records", "B0004", str(path), "--errors", "/dev/null"]
    process = subprocess.Popen(command, cwd=ROOT, env=running.environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    sys.stderr.write(process.stdout.read().decode())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"import_records ended with {process.returncode}")
    return usage.ru_maxrss


def _expect(connection: psycopg.Connection[Any], rows: int) -> None:
    """Check that both have added the rows, and that only the import has written a history."""
    counted = connection.execute(
        "SELECT count(*) FILTER (WHERE c.code = 'B0003'), count(*) FILTER (WHERE c.code = 'B0004'),"
        " (SELECT count(*) FROM campaigns_recordchange WHERE action = 'import')"
        " FROM campaigns_record r JOIN campaigns_campaign c ON c.id = r.campaign_id"
        " WHERE r.number BETWEEN '+48600000000' AND '+48699999999'"
    ).fetchone()
    assert counted == (rows, rows, rows), counted


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    records = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with service(max(records, CAMPAIGNS)) as running:
        measure(running, rows)


if __name__ == "__main__":
    main()
