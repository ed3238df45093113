"""The pieces of the overview: cells, tiles and notes as JSON, with links that the viewer may follow.

A script draws them all alike (static/overview/overview.js), so every text, link and colour is decided here.
"""

from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django.contrib.humanize.templatetags.humanize import intcomma
from django.template.defaultfilters import floatformat
from django.urls import reverse
from django.utils import timezone

from callcentre.admin import may_see
from callcentre.core.times import recent

Piece = dict[str, Any]


class Viewer:
    """The user for whom the overview is made: rights to rows, and links to them."""

    def __init__(self, user: Any) -> None:
        self.user = user
        self._seen: dict[str, bool] = {}

    def may_see(self, model: str) -> bool:
        """Return whether the user may view rows of the model, named as in "telephony.queue"."""
        if model not in self._seen:
            app, _dot, name = model.partition(".")
            self._seen[model] = may_see(self.user, app, name)
        return self._seen[model]

    def list_of(self, model: str, **query: Any) -> str:
        """Return the address of a list with these filters, or "" if the user may not view it."""
        if not self.may_see(model):
            return ""
        address = reverse(f"admin:{model.replace('.', '_')}_changelist")
        return f"{address}?{urlencode(query)}" if query else address

    def page_of(self, model: str, pk: int, page: str = "change") -> str:
        """Return the address of a page of a row, or "" if the user may not view it."""
        return _address(f"admin:{model.replace('.', '_')}_{page}", pk) if self.may_see(model) else ""


# The overview has hundreds of them, every two seconds.
@lru_cache(10_000)
def _address(name: str, pk: int) -> str:
    return reverse(name, args=[pk])


def cell(text: Any, url: str = "", **more: Any) -> Piece:
    """Build a cell of a table, a tile or a note: a text, perhaps with a link. All other empty parts are left out.

    `tone` is a colour of states, `note` a smaller text after it, `since` an instant from which a clock counts,
    `percent` the length of a bar, `is_number` an alignment, `title` a text under the mouse.
    """
    return {
        "text": str(text),
        **{name: value for name, value in {"url": url, **more}.items() if value not in ("", None)},
    }


def number(count: int, url: str = "", **more: Any) -> Piece:
    """Build a cell with a count. A count of nothing leads to no rows."""
    return cell(intcomma(count), url if count else "", is_number=True, **more)


def up_to(count: int, limit: int) -> str:
    """Spell a count that was not counted beyond a limit."""
    return f"{intcomma(limit)}+" if count > limit else str(intcomma(count))


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{floatformat(share, -digits)} %"


def clock(epoch: float) -> str:
    """Spell the time of an instant to the second."""
    return f"{_local(epoch):%H:%M:%S}"


def _local(epoch: float) -> datetime:
    return datetime.fromtimestamp(epoch, timezone.get_default_timezone())


def moment(epoch: float | None) -> str:
    """Spell an instant: the time of today, else the day and the time."""
    return "" if epoch is None else recent(_local(epoch))
