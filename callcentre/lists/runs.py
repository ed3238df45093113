"""The run of an action of a list: the messages that the person gets, and the facts about all rows."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from callcentre.lists.counts import MOST_COUNTED

# A sentence has this many names and counts the others.
NAMED = 5


def some_of(names: Sequence[str]) -> str:
    more = _(" and %(count)s more") % {"count": len(names) - NAMED} if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


class InvalidForm(Exception):
    """An action would show its form again: the input is not valid for the row."""


class Run:
    """The run of an action on the selected rows: the next page shows all messages."""

    def fact(self, name: str, of_selected: Any, of_all: Callable[[QuerySet[Any]], Any]) -> Any:
        """Return a fact that a form needs about its rows."""
        return of_selected

    def shows(self, message: str, level: int) -> bool:
        return True

    def note(self, changed: int) -> None:
        """Take the number of rows that a verb changed. Without it, the action changed those to which it was applied."""

    def shows_count(self, count: int) -> bool:
        """Return whether the page shows to how many rows the action was applied."""
        return True

    def refusal(self, subject: str, sentence: str) -> str:
        """Return the message about the refusal of one row."""
        return f"{subject}: {sentence}" if subject else sentence

    def refusals(self, refused: Iterable[tuple[str, str]]) -> list[str]:
        """Return a message for each reason. `refused` has the name of a row and the reason of its refusal."""
        reasons: dict[str, list[str]] = defaultdict(list)
        for name, reason in refused:
            reasons[reason].append(name)
        return [
            _("Not changed: %(numbers)s. %(reason)s") % {"numbers": some_of(names), "reason": reason}
            for reason, names in reasons.items()
        ]

    def page_context(self) -> dict[str, Any]:
        """Return what the page of the action shows about all rows."""
        return {}


@dataclass
class ForAll(Run):
    """The rows that match, while the page of an action for all of them is made: the action only checks its form."""

    rows: QuerySet[Any]
    number: int | None
    # The number of rows that the action changes, if it says which.
    changing: int | None = None
    # The number of rows at which the search stopped, if it did.
    search_limit: int | None = None
    consequence: Any = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_more(self) -> bool:
        return self.number is None or self.number > MOST_COUNTED

    @property
    def count(self) -> int:
        return MOST_COUNTED if self.number is None else min(self.number, MOST_COUNTED)

    @property
    def has_unchanged(self) -> bool:
        """Whether some of the rows are known to need no change."""
        return self.changing is not None and self.changing <= MOST_COUNTED and self.changing != self.number

    def fact(self, name: str, of_selected: Any, of_all: Callable[[QuerySet[Any]], Any]) -> Any:
        """Return the fact about all rows, and keep it for the worker (as JSON)."""
        self.facts[name] = of_all(self.rows)
        return self.facts[name]

    def shows(self, message: str, level: int) -> bool:
        return False

    def page_context(self) -> dict[str, Any]:
        # The selected rows only show the form what it needs.
        return {"for_all": self, "intro": self.consequence, "selected": []}


@dataclass
class WorkerRun(Run):
    """The run of an action on one row by a worker. The worker names and counts the rows itself."""

    facts: dict[str, Any] = field(default_factory=dict)
    # The sentences of the refusal of the row.
    refused: list[str] = field(default_factory=list)
    applied: int = 0
    # The number of rows that the verbs say they changed; None if they did not say.
    changed: int | None = None

    def fact(self, name: str, of_selected: Any, of_all: Callable[[QuerySet[Any]], Any]) -> Any:
        return self.facts[name]

    def shows(self, message: str, level: int) -> bool:
        if level >= messages.WARNING:
            self.refused.append(message)
        return False

    def note(self, changed: int) -> None:
        self.changed = (self.changed or 0) + changed

    def shows_count(self, count: int) -> bool:
        self.applied += count
        return False

    @property
    def has_changed(self) -> bool:
        return bool(self.applied if self.changed is None else self.changed)

    def page_context(self) -> dict[str, Any]:
        raise InvalidForm  # the action asks for input that it has got already

    def refusal(self, subject: str, sentence: str) -> str:
        return sentence

    def refusals(self, refused: Iterable[tuple[str, str]]) -> list[str]:
        return [reason for _name, reason in refused]


def run_of(request: HttpRequest) -> Run:
    run: Run = getattr(request, "run", None) or Run()
    return run
