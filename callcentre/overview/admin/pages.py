"""The overview on the start page, its figures as JSON, and the wallboard."""

import time
from collections.abc import Collection
from operator import itemgetter
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import floatformat
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from callcentre.admin import user_of
from callcentre.core.integers import integer_of
from callcentre.overview import snapshot
from callcentre.overview.admin.cells import Piece, Viewer, cell, clock, number
from callcentre.overview.admin.presentation import campaign_state, parts_of, urgency_of
from callcentre.overview.admin.troubles import alarm_notes, process_notes
from callcentre.overview.figures import Figures

# Without a choice the first ones are shown: more do not fit on a screen.
SHOWN = 12


def wallboard_parts(
    figures: Figures, viewer: Viewer, queue_ids: Collection[int], campaign_ids: Collection[int], keys: Collection[str]
) -> list[Piece]:
    """Return the parts of these queues and campaigns, with these figures. None chosen: the first ones, and all."""
    is_chosen = bool(queue_ids or campaign_ids)
    shown = None if is_chosen else SHOWN
    queues = [queue for queue in figures["queues"] if not is_chosen or queue["id"] in queue_ids]
    rows = figures["campaigns"]["rows"]
    campaigns = [row for row in rows if not is_chosen or row["id"] in campaign_ids]
    alarms = [
        alarm
        for alarm in figures["alarms"]
        if not is_chosen or alarm["queue"] in queue_ids or alarm["campaign"] in campaign_ids
    ]
    parts: list[Piece] = []
    if viewer.may_see("telephony.queue"):
        # A screen is read by place, so the order stays.
        parts += [_queue(queue, figures) for queue in sorted(queues, key=lambda queue: queue["name"])[:shown]]
    if viewer.may_see("campaigns.campaign"):
        parts += [_campaign(row, figures) for row in sorted(campaigns, key=lambda row: row["code"])[:shown]]
    if not parts:
        return [{"key": "empty", "none": _("None of these queues and campaigns may be shown to you.")}]
    # What has none of the chosen figures is left out.
    narrowed = [{**part, "tiles": [tile for tile in part["tiles"] if tile["key"] in keys]} for part in parts]
    parts = [part for part in narrowed if part["tiles"]] or parts
    notes = [*alarm_notes(alarms, viewer), *process_notes(figures["processes"], viewer)]
    return [{"key": "notes", "notes": notes}, *parts] if notes else parts


def choices(figures: Figures, viewer: Viewer) -> list[tuple[Any, str, list[tuple[str, str]]]]:
    """Return what a wallboard may be made of: a title, the parameter, and its values with their labels."""
    found: list[tuple[Any, str, list[tuple[str, str]]]] = []
    shown: list[Piece] = []
    if viewer.may_see("telephony.queue") and (queues := figures["queues"]):
        names = ((str(one["id"]), one["name"]) for one in queues)
        found.append((_("Queues"), "queue", sorted(names, key=itemgetter(1))))
        shown += _queue(queues[0], figures)["tiles"]
    if viewer.may_see("campaigns.campaign") and (rows := figures["campaigns"]["rows"]):
        labels = ((str(row["id"]), f"{row['code']} {row['name']}") for row in rows)
        found.append((_("Campaigns"), "outbound", sorted(labels, key=itemgetter(1))))
        shown += _campaign(rows[0], figures)["tiles"]
    return [*found, (_("Figures"), "figure", [(tile["key"], tile["label"]) for tile in shown])] if found else []


def _queue(queue: Figures, figures: Figures) -> Piece:
    waiting, target = queue["waiting"], _("answered within %(seconds)s s today") % {"seconds": figures["within"]}
    tiles = [
        cell(waiting, label=_("waiting now"), tone="danger" if waiting else "", key="waiting"),
        cell(
            "–", since=queue["since"], label=_("longest wait"), tone=urgency_of(queue["since"], figures), key="longest"
        ),
        cell(
            queue["free"],
            label=_("agents ready"),
            note=f"/ {queue['serving']}",
            tone="" if queue["free"] else "warning",
            key="free",
        ),
        _share(queue["service_level"], 0, label=target, key="level"),
        number(queue["abandoned"], label=_("abandoned today"), key="abandoned"),
    ]
    return {"key": f"queue-{queue['id']}", "title": queue["name"], "tiles": tiles}


def _share(share: float | None, digits: int, **more: str) -> Piece:
    """Build a tile of a share in percent, whose sign is smaller than the number."""
    return cell("–", **more) if share is None else cell(floatformat(share, -digits), note="%", **more)


def _campaign(row: Figures, figures: Figures) -> Piece:
    is_high = row["drop_rate"] > figures["most_drops"]
    word, tone = campaign_state(row)
    tiles = [
        cell(word, label=_("state"), tone=tone, key="state"),
        _share(
            row["drop_rate"] if row["answers"] else None,
            1,
            label=_("drops today, of at most %(most)s %%") % {"most": f"{figures['most_drops']:g}"},
            tone="danger" if is_high else "",
            key="drops",
        ),
        number(row["to_call"], label=_("records to call"), key="left"),
        cell(row["agents"], label=_("agents"), key="agents"),
    ]
    return {"key": f"campaign-{row['id']}", "title": f"{row['code']} {row['name']}", "tiles": tiles}


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
        # Only a user who may change nothing keeps the session.
        "keeps_session": all(".view_" in name for name in request.user.get_all_permissions()),
        "mode": query.get("mode", "") if query.get("mode") in ("dark", "light") else "",
        "choices": [
            (title, name, [(value, label, value in request.GET.getlist(name)) for value, label in offered])
            for title, name, offered in choices(figures, viewer)
        ],
    }
    return TemplateResponse(request, "admin/overview/wallboard.html", values)


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
