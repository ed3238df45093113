"""The overview on the start page, its figures as JSON, and the wallboard."""

import time
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from callcentre.admin import user_of
from callcentre.core.integers import integer_of
from callcentre.overview import snapshot
from callcentre.overview.admin.cells import Piece, Viewer, clock
from callcentre.overview.admin.presentation import parts_of
from callcentre.overview.admin.wallboard import choices, wallboard_parts
from callcentre.overview.figures import Figures

# Both pages ask this address again; with this parameter it answers with the parts of the wallboard.
WALL = "wall"


def overview_panel(request: HttpRequest) -> dict[str, Any]:
    """Return what the start page shows at once; a script renews it."""
    figures, viewer = snapshot.current(user_of(request).scope), Viewer(request.user)
    first = _answer(figures, viewer, parts_of(figures, viewer))
    return {
        "template": "admin/overview/overview.html",
        "url": reverse("overview"),
        "wallboard_url": reverse("wallboard"),
        "first": orjson.dumps(first).decode(),
        "is_empty": not first["parts"],
    }


def overview_now(request: HttpRequest) -> HttpResponse:
    """Answer with the present figures that the viewer may see, for the overview or for a wallboard."""
    figures, viewer = snapshot.current(user_of(request).scope), Viewer(request.user)
    parts = _wall(request, figures, viewer) if WALL in request.GET else parts_of(figures, viewer)
    body = orjson.dumps(_answer(figures, viewer, parts))
    return HttpResponse(body, content_type="application/json", headers={"Cache-Control": "no-store"})


def wallboard(request: HttpRequest) -> HttpResponse:
    """Show chosen queues and campaigns on a screen on the wall, without menus."""
    figures, viewer = snapshot.current(user_of(request).scope), Viewer(request.user)
    query = request.GET.copy()
    query[WALL] = "1"
    values = {
        "title": _("Wallboard"),
        "url": f"{reverse('overview')}?{query.urlencode()}",
        "first": orjson.dumps(_answer(figures, viewer, _wall(request, figures, viewer))).decode(),
        "keeps_session": _may_only_view(request.user),
        "mode": query.get("mode", "") if query.get("mode") in ("dark", "light") else "",
        "choices": [
            (title, name, [(value, label, value in request.GET.getlist(name)) for value, label in offered])
            for title, name, offered in choices(figures, viewer)
        ],
    }
    return TemplateResponse(request, "admin/overview/wallboard.html", values)


def _may_only_view(user: Any) -> bool:
    """Return whether the user may change nothing. A wallboard keeps the session of such a user, and no other one."""
    return all(name.partition(".")[2].startswith("view_") for name in user.get_all_permissions())


def _wall(request: HttpRequest, figures: Figures, viewer: Viewer) -> list[Piece]:
    queues, campaigns = (
        {pk for text in request.GET.getlist(name) if (pk := integer_of(text)) is not None}
        for name in ("queue", "outbound")
    )
    return wallboard_parts(figures, viewer, queues, campaigns, request.GET.getlist("figure"))


def _answer(figures: Figures, viewer: Viewer, parts: list[Piece]) -> Piece:
    shown = {note.get("key", "") for part in parts for note in part.get("notes", ())}
    sounding = [alarm["id"] for alarm in figures["alarms"] if alarm["sounds"] and f"alarm-{alarm['id']}" in shown]
    age = max(time.time() - figures["at"], 0)
    return {"at": figures["at"], "age": age, "time": clock(figures["at"]), "parts": parts, "sounding": sounding}
