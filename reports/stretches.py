"""The stretches of time that a period is, for links to the rows of a figure."""

from collections import defaultdict
from itertools import pairwise

from reports.periods import DAY, Aggregation, Span
from reports.report import Question

# More stretches than this make an address too long: an hour of the day of four months.
MOST_STRETCHES = 124
# The days of an hour of the day that are looked at: more than links can name.
MOST_DAYS = 200


def stretches_of(asked: Question, periods: set[str]) -> dict[str, list[Span]]:
    """Return the stretches of the span that each of these periods is, by its label.

    A period is one stretch; a minute that comes twice is two, an hour of the day one a day. Of an hour of the day only
    the first days are returned: no address names more.
    """
    found: dict[str, list[Span]] = defaultdict(list)
    until = asked.end
    if asked.aggregation is Aggregation.HOUR_OF_DAY:
        until = min(until, asked.begin + MOST_DAYS * DAY)
    for start, end in pairwise(asked.aggregation.borders(asked.begin, until)):
        if (label := asked.aggregation.label(start)) in periods:
            found[label].append((max(start, asked.begin), min(end, asked.end)))
    return found
