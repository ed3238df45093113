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
    from reports import exporting as builds

    said, whole = Path(sys.argv[1]), builds.portions

    def all_slowly(described: Any, question: Any) -> Iterator[Any]:
        for portion in whole(described, question):
            yield portion
            said.touch()
            while said.with_suffix(".wait").exists():
                time.sleep(0.05)

    builds.portions = all_slowly  # type: ignore[assignment]
    builds.PORTION = 5
    builds.build_next()


if __name__ == "__main__":
    main()
