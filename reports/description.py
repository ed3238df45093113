"""The description of a report: what its rows are of, its columns, and the function that answers a question."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Model

from callcentre.core.errors import ErrorCode
from callcentre.core.parsing import parse_id
from callcentre.core.scope import may_see
from reports.counting import Answer
from reports.measures import Measure
from reports.models.export import ReportKind
from reports.report import Question


class Entry(NamedTuple):
    """A figure, and the value of the filter *the report* that leaves its rows; "" for none."""

    number: int
    counted: str = ""


class Line(NamedTuple):
    """A row of the table: its label, a note beside it, its figures."""

    label: str
    note: str
    entries: Sequence[Entry]


@dataclass(frozen=True)
class Section:
    """The table: its title, the title of its first column, its other columns, its rows and their total."""

    title: Any
    first: Any
    columns: Sequence[Any]
    lines: Sequence[Line]
    total: Sequence[Entry]


@dataclass(frozen=True)
class Subjects:
    """The rows of a model that a report has rows of: its queues or its campaigns.

    A person needs the right to see rows of this model, besides the right to see reports.
    """

    model: type[Model]
    # Name in a row of the report -> column. `id` is what a question names them by.
    names: Mapping[str, str]
    order: Sequence[str]
    # The parameter that names some of them, and the field of an export that keeps their ids.
    parameter: str
    field: str
    # Reads one value of the parameter.
    parse: Callable[[str], Any] = parse_id
    not_found: ErrorCode = ErrorCode.QUEUES_NOT_FOUND


@dataclass(frozen=True)
class Chart:
    """The measures that the chart of a report shows by period: bars, a line with its own axis, and a share."""

    bars: str
    line: str
    share: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report. Its tables begin with the columns `fixed`; the other columns can be chosen."""

    kind: ReportKind
    fixed: Sequence[Measure]
    measures: Sequence[Measure]
    # Returns so many rows from an offset on, and the total of all rows, if the report has one.
    answer: Callable[[Question, int, int], Answer]
    # The kinds of a retention whose rows it counts.
    ledgers: Sequence[str] = ()
    # None: agents, whom the agents work report names by login and group.
    subjects: Subjects | None = None
    # Returns so many rows of all subjects together, and what the chart shows of them.
    by_period: Callable[[Question, int], Sequence[Any]] | None = None
    chart: Chart | None = None
    # Returns a further table of the page.
    section: Callable[[Question], Section] | None = None
    # A figure counts within a time that the question may give.
    has_within: bool = False
    # The title of the first column.
    subject_title: Any

    def is_open_to(self, user: Any) -> bool:
        """Return whether the person may see what the report is about. All reports need reports.view_export besides."""
        if self.subjects is None:
            return True
        about = self.subjects.model._meta
        return may_see(user, about.app_label, str(about.model_name))

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns that can be chosen."""
        return [measure.name for measure in self.measures]

    @property
    def usual(self) -> list[str]:
        return [measure.name for measure in self.measures if measure.is_usual]

    def columns_of(self, names: Iterable[str]) -> list[Measure]:
        """Return the first columns and these ones, in the order of the report."""
        wanted = set(names)
        return [*self.fixed, *(measure for measure in self.measures if measure.name in wanted)]

    def choices(self) -> list[tuple[Any, list[tuple[str, Any]]]]:
        """Return the columns that can be chosen, by their groups: name and label."""
        groups = dict[str, tuple[Any, list[tuple[str, Any]]]]()
        for column in self.measures:
            groups.setdefault(str(column.group), (column.group, []))[1].append((column.name, column.label))
        return list(groups.values())
