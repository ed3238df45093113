"""A worker that a test may kill: `python -m tests.reports.export_process FILE`.

It says in FILE when it is half done, and waits there for as long as FILE.wait exists.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django


def main() -> None:
    django.setup()
    from reports import tables
    from reports.exporting import builds

    said, whole = Path(sys.argv[1]), tables.Table.all

    def all_slowly(table: Any) -> Iterator[Any]:
        for portion in whole(table):
            yield portion
            said.touch()
            while said.with_suffix(".wait").exists():
                time.sleep(0.05)

    tables.Table.all = all_slowly  # type: ignore[method-assign,assignment]
    tables.PORTION = 5
    builds.build_next()


if __name__ == "__main__":
    main()
