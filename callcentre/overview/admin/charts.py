"""The charts of the current day by hour. Each bar leads to the rows that it counts."""

from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from callcentre.core.counted import PARAMETER, value_of
from callcentre.overview.admin.cells import Piece, Viewer
from callcentre.overview.figures import HOURS, Figures
from callcentre.overview.periods import hour_of

# The rows that a chart counts.
MODELS = {"calls": "telephony.connection", "tickets": "tickets.ticket"}


def charts(figures: Figures, viewer: Viewer) -> list[Piece]:
    """Return the charts that the viewer may see."""
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
