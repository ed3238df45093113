"""The accounts of the service: statements about its rows and files, which `manage.py verify` proves by reading only.

An app's module `accounts` adds its own. An account yields a line for each row for which it does not hold. What the
service still puts right by itself, within minutes, is no fault.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.core.files.storage import default_storage
from django.db.models import QuerySet
from django.utils import timezone

from callcentre.core.due_work import DueWork
from callcentre.core.statements import Statement, rows_of

# The most lines of one account that are read: a broken one may have millions.
MOST = 1000
# Due work that no worker has taken for this long is not taken at all.
LATE_SECONDS = 600
PORTION = 1000


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


def files_account(name: str, sentence: str, rows: Callable[[], "QuerySet[Any]"], column: str) -> None:
    """Add an account of the files that these rows name in the storage."""

    def find() -> Iterator[str]:
        last: Any = None
        kept = rows().exclude(**{column: ""}).order_by("pk").values_list("pk", column)
        # In portions: a snapshot of many minutes would stop the vacuum.
        while portion := list((kept.filter(pk__gt=last) if last else kept)[:PORTION]):
            for pk, path in portion:
                if not default_storage.exists(path):
                    yield f"{pk}: {path}"
            last = portion[-1][0]

    ACCOUNTS.append(Account(name, sentence, find, reads_files=True))


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


ACCOUNTS.append(Account("due work", "All that waits has a time, and is taken when it has come.", _late_work))
