"""A process that reads hostile texts, each with a limit of processor time.

`python -m tests.foreign_text patterns` runs every regular expression of the product against texts made from it; `python
-m tests.foreign_text functions` runs the functions that read texts of strangers; `known` runs expressions that are
known to be too slow. It prints the name of each case before it runs. The system ends the process when a case takes
longer than SECONDS, so the last name is the slow one. Names given as arguments are left out.
"""

import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import django

# Processor seconds. A linear case takes a hundredth of them.
SECONDS = 1
# Endings of a text: none, or one that may let the pattern fail at the end.
ENDS = ("", "\x01")
Case = tuple[str, str, Callable[[], object]]


def cases_of(name: str, pattern: re.Pattern[Any]) -> Iterator[Case]:
    from tests.pattern_attacks import attacks

    is_bytes = isinstance(pattern.pattern, bytes)
    nothing: Any = b"" if is_bytes else ""
    for attack in attacks(pattern):
        for end in ENDS:
            text: Any = (attack + end).encode("latin-1", "replace") if is_bytes else attack + end
            yield name, f"sub {text[:60]!r}", partial(pattern.sub, nothing, text)
            yield name, f"fullmatch {text[:60]!r}", partial(pattern.fullmatch, text)


def of_patterns() -> Iterator[Case]:
    from tests.made_patterns import MADE
    from tests.pattern_attacks import patterns

    for name, pattern in {**patterns(), **MADE}.items():
        yield from cases_of(name, pattern)


# The product had, or could have, a pattern of each kind.
SLOW = {
    "tags": r"<div\b[^<>]*\bclass=[\"']?[^\"'<>]*\b(?:gmail_quote|yahoo_quoted)\b",
    "ends": r"<title[^>]*>(.*?)</title>",
    "twice": r"\{\{\s*(.{0,100}?)\s*\}\}",
}


def of_slow_ones() -> Iterator[Case]:
    for name, pattern in SLOW.items():
        yield from cases_of(name, re.compile(pattern))


def of_functions() -> Iterator[Case]:
    from tests.foreign_functions import cases

    return cases()


KINDS = {"patterns": of_patterns, "known": of_slow_ones, "functions": of_functions}


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kind, *left_out = sys.argv[1:]
    if kind != "known":
        django.setup()
    for name, case, run in KINDS[kind]():
        if name not in left_out:
            print(f"{name} | {case}", flush=True)
            # The limit's signal ends the process.
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            run()
            signal.setitimer(signal.ITIMER_PROF, 0)
    print("done")


if __name__ == "__main__":
    main()
