"""A worker that a test may kill: `python -m tests.lists.action_process PK FILE`.

It says in FILE when it is within its third portion, and waits there for as long as FILE.wait exists.
"""

import sys
import time
from pathlib import Path
from typing import Any

import django


def main() -> None:
    django.setup()
    from callcentre.lists import actions

    pk, said = int(sys.argv[1]), Path(sys.argv[2])
    apply = actions._Worker._apply
    rows = 0

    def slowly(self: Any, row: str) -> actions._Outcome:
        nonlocal rows
        outcome = apply(self, row)
        rows += 1
        if rows == 13:
            said.touch()
            while said.with_suffix(".wait").exists():
                time.sleep(0.05)
        return outcome

    actions._Worker._apply = slowly  # type: ignore[method-assign, assignment]
    actions.PORTION, actions.PORTION_SECONDS = 5, 100
    actions.run(pk)


if __name__ == "__main__":
    main()
