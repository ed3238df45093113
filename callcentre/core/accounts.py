"""The accounts of the service: statements about its rows and files, which `manage.py verify` proves by reading only.

An app's module `accounts` adds its own. An account yields a line for each row for which it does not hold. What the
service still puts right by itself, within minutes, is no fault.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.core.files.storage import default_storage
from django.db.models import QuerySet
from django.utils import timezone

from callcentre.core.due_work import DueWork
from callcentre.core.exporting.jobs import FileJob
from callcentre.core.statements import Statement, rows_of

# The most lines of one account that are read: a broken one may have millions.
MOST = 1000
# Due work that no worker has taken for this long is not taken at all.
LATE_SECONDS = 600
PORTION = 1000
# A crash may leave a file without a row. It is removed within days where it is looked for.
STRAY_AFTER = timedelta(days=9)


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    # What holds, as a person reads it.
    sentence: str
    find: Callable[[], Iterable[str]]
    # Whether it looks at each file, which may take long.
    reads_files: bool = False


ACCOUNTS: list[Account] = []
_LIMITED = Statement("SELECT line FROM ({statement}) AS wrong(line) LIMIT {most}")


def account(name: str, sentence: str, statement: str, **values: Any) -> None:
    """Add an account whose statement selects a line for each wrong row."""
    limited = _LIMITED.of(statement=statement, most=MOST + 1)
    ACCOUNTS.append(Account(name, sentence, lambda: [line for (line,) in rows_of(limited, values or None)]))


# Folder of the storage -> the rows that name its files, each with its column.
_NAMED: dict[str, list[tuple[Callable[[], "QuerySet[Any]"], str]]] = {}


def files_account(name: str, sentence: str, rows: Callable[[], "QuerySet[Any]"], column: str, folder: str = "") -> None:
    """Add an account of the files that these rows name in the storage. With a folder, only such files may be in it."""
    if folder:
        _NAMED.setdefault(folder, []).append((rows, column))

    ACCOUNTS.append(Account(name, sentence, lambda: _missing(rows(), column), reads_files=True))


def _missing(rows: "QuerySet[Any]", column: str) -> Iterator[str]:
    last: Any = None
    kept = rows.exclude(**{column: ""}).order_by("pk").values_list("pk", column)
    # In portions: a snapshot of many minutes would stop the vacuum.
    while portion := list((kept.filter(pk__gt=last) if last else kept)[:PORTION]):
        for pk, path in portion:
            if not default_storage.exists(path):
                yield f"{pk}: {path}"
        last = portion[-1][0]


def _exports() -> Iterator[str]:
    for model in apps.get_models():
        if issubclass(model, FileJob):
            yield from _missing(model._base_manager.all(), "file")


def _strays(folder: str, named: Sequence[tuple[Callable[[], "QuerySet[Any]"], str]]) -> Iterator[str]:
    """Yield the old files of a folder that no row names, one folder after another."""
    try:
        folders, names = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    for inner in folders:
        yield from _strays(f"{folder}/{inner}", named)
    found = {f"{folder}/{name}" for name in names}
    for rows, column in named if found else ():
        found -= set(rows().filter(**{f"{column}__startswith": f"{folder}/"}).values_list(column, flat=True))
    latest = timezone.now() - STRAY_AFTER
    for path in sorted(found):
        # It may have been removed meanwhile.
        if default_storage.exists(path) and default_storage.get_modified_time(path) < latest:
            yield path


def _all_strays() -> Iterator[str]:
    for folder, named in _NAMED.items():
        yield from _strays(folder, named)


def _late_work() -> Iterator[str]:
    latest = timezone.now() - timedelta(seconds=LATE_SECONDS)
    for model in apps.get_models():
        if issubclass(model, DueWork) and model.task:
            label, rows = model._meta.label, model._base_manager.filter(model.waits)
            for pk in rows.filter(next_attempt_at__lt=latest).values_list("pk", flat=True)[: MOST + 1]:
                yield f"{label} {pk} is due, and no worker takes it"
            # Where the time alone tells what waits, a row without one is done.
            never = rows.filter(next_attempt_at=None) if model.waits else rows.none()
            for pk in never.values_list("pk", flat=True)[: MOST + 1]:
                yield f"{label} {pk} waits, and will never be due"


ACCOUNTS.append(Account("files of exports", "Each export whose file is kept has it.", _exports, reads_files=True))
ACCOUNTS.append(
    Account("files without a row", "Each file of nine days ago is named by a row.", _all_strays, reads_files=True)
)
ACCOUNTS.append(Account("due work", "All that waits has a time, and is taken when it has come.", _late_work))
