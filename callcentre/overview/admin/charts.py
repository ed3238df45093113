"""The charts of the current day by hour. Each bar leads to the rows that it counts."""

from datetime import date, datetime, time, timedelta
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from callcentre.core.counted import PARAMETER, value_of
from callcentre.core.times import zone
from callcentre.overview.admin.cells import Piece, Viewer
from callcentre.overview.figures import HOURS, Figures

Span = tuple[datetime, datetime]


def day_of(midnight: float) -> Span:
    """Return the day that began at this instant."""
    day = datetime.fromtimestamp(midnight, zone()).date()
    return _at(day, 0), _at(day + timedelta(days=1), 0)


def hour_of(midnight: float, hour: int) -> Span:
    """Return an hour of the day that began at this instant. An hour that comes twice is one span of two hours."""
    day = datetime.fromtimestamp(midnight, zone()).date()
    following = day if hour < 23 else day + timedelta(days=1)
    return _at(day, hour), _at(following, (hour + 1) % 24)


def _at(day: date, hour: int) -> datetime:
    return datetime.combine(day, time(hour), zone())


# The rows that a chart counts.
MODELS = {"calls": "telephony.connection", "tickets": "tickets.ticket"}


def charts(figures: Figures, viewer: Viewer) -> list[Piece]:
    calls = [("came", _("came in")), ("came_answered", _("answered")), ("came_abandoned", _("abandoned"))]
    tickets = [("began", _("opened")), ("ended", pgettext("tickets", "closed"))]
    made = [
        _chart("calls", _("Inbound calls of today by hour"), calls, figures, viewer),
        _chart("tickets", _("Tickets of today by hour"), tickets, figures, viewer),
    ]
    return [chart for chart in made if chart]


def _chart(key: str, title: str, ways: list[tuple[str, str]], figures: Figures, viewer: Viewer) -> Piece | None:
    model = MODELS[key]
    if not viewer.may_see(model):
        return None
    rows: list[list[int]] = figures["hours"][key]
    series: list[dict[str, Any]] = []
    for place, (way, label) in enumerate(ways):
        counts = [rows[hour][place] for hour in HOURS]
        urls = [
            viewer.list_of(model, **{PARAMETER: value_of(way, [hour_of(figures["midnight"], hour)])}) if count else ""
            for hour, count in zip(HOURS, counts, strict=True)
        ]
        series.append({"key": way, "label": label, "counts": counts, "urls": urls, "sum": sum(counts)})
    most = max(max(one["counts"]) for one in series)
    if not most:
        return {"key": f"chart-{key}", "title": title, "half": True, "none": _("None today.")}
    return {
        "key": f"chart-{key}",
        "title": title,
        "series": series,
        "most": most,
        "half": True,
        "highest": _("highest column: %(count)s") % {"count": intcomma(most)},
        "hour": _("Hour"),
        "as_table": _("As a table"),
    }
