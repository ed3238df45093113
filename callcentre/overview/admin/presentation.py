"""The parts of the overview in the language of a viewer, without those whose rows the viewer may not see."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy

from callcentre.core.counted import PARAMETER, value_of
from callcentre.overview.admin.cells import Piece, Viewer, cell, clock, moment, number, percent, up_to
from callcentre.overview.admin.charts import charts, day_of
from callcentre.overview.admin.troubles import notes
from callcentre.overview.figures import COUNTED, SHOWN, Figures
from campaigns.admin.dialling import STATES
from campaigns.dialling.obstacles import reason
from telephony.admin.state_labels import COLOURS, LABELS, phone_label, state_label
from tickets.due_tickets import LATE, POSTPONED, SOON_DUE

# A user who may view rows of none of these has no overview.
SHOWN_MODELS = (
    *("telephony.queue", "telephony.agent", "telephony.connection", "campaigns.campaign", "tickets.ticket"),
    *("tickets.ticketqueue", "tickets.receivedmail", "webhooks.webhook", "overview.alarm"),
)
# The columns of queues that are about this moment.
PRESENT = 4
STATE_WORDS: Mapping[str, Any] = {
    "dialling": pgettext_lazy("campaign", "dialling"),
    "waiting": pgettext_lazy("campaign", "waiting"),
    "paused": pgettext_lazy("campaign", "paused"),
    "stopped": pgettext_lazy("campaign", "stopped"),
}


def parts_of(figures: Figures, viewer: Viewer) -> list[Piece]:
    """Return the parts in the order of the page: what needs a person first, then people, then the rest."""
    if not any(map(viewer.may_see, SHOWN_MODELS)):
        return []
    parts: list[Piece] = [{"key": "notes", "notes": notes(figures, viewer)}]
    parts.append({"key": "tiles", "tiles": _tiles(figures, viewer)})
    makers = {
        "waiting": ("telephony.queue", _waiting),
        "agents": ("telephony.agent", _agents),
        "tickets": ("tickets.ticket", _tickets),
        "queues": ("telephony.queue", _queues),
        "campaigns": ("campaigns.campaign", _campaigns),
    }
    made = {key: make(figures, viewer) for key, (model, make) in makers.items() if viewer.may_see(model)}
    made = {key: part for key, part in made.items() if _has_content(part)}
    if {"agents", "tickets"} <= made.keys():
        made["agents"]["half"] = made["tickets"]["half"] = True
    return [part for part in [*parts, *made.values(), *charts(figures, viewer)] if _has_content(part)]


def _has_content(part: Piece) -> bool:
    return any(part.get(name) for name in ("notes", "tiles", "rows", "none", "series"))


def _tiles(figures: Figures, viewer: Viewer) -> list[Piece]:
    """Return the figures that are read from afar: callers, agents, tickets."""
    tiles = []
    if viewer.may_see("telephony.queue"):
        queues, url = figures["queues"], viewer.list_of("telephony.queue")
        waiting = sum(queue["waiting"] for queue in queues)
        since = min((queue["since"] for queue in queues if queue["since"]), default=None)
        tiles.append(number(waiting, url, label=_("callers waiting"), tone="danger" if waiting else "", key="waiting"))
        urgency = urgency_of(since, figures)
        tiles.append(
            cell("0:00", url if since else "", since=since, label=_("longest wait"), tone=urgency, key="longest")
        )
    if viewer.may_see("telephony.agent"):
        url = viewer.list_of("telephony.agent", state="free", is_active__exact=1)
        tiles.append(number(figures["agents"]["counts"]["free"], url, label=_("agents ready"), key="free"))
    if viewer.may_see("tickets.ticket"):
        for key, label, tone in (
            (LATE, _("tickets overdue"), "danger"),
            (POSTPONED, _("postponed tickets overdue"), ""),
            (SOON_DUE, _("tickets due within the hour"), "warning"),
        ):
            count = figures["tickets"][key]
            if key == POSTPONED and not count:
                continue
            url = viewer.list_of("tickets.ticket", view=key) if count else ""
            tiles.append(cell(up_to(count, COUNTED), url, label=label, tone=tone if count else "", key=key))
    return tiles


def urgency_of(since: float | None, figures: Figures) -> str:
    """Return the colour of a wait: urgent once it is longer than the time within which callers are to be answered."""
    if since is None:
        return ""
    return "danger" if figures["at"] - since > figures["within"] else "warning"


def _waiting(figures: Figures, viewer: Viewer) -> Piece:
    """Return the present figures of those queues in which callers wait."""
    queues = [queue for queue in figures["queues"] if queue["waiting"]]
    return {
        "key": "waiting",
        "title": _("Callers wait"),
        "columns": _queue_columns(figures)[:PRESENT],
        "rows": [
            {"key": f"waiting-{queue['id']}", "cells": _queue(queue, figures, viewer)[:PRESENT]}
            for queue in queues[:SHOWN]
        ],
    }


def _queue_columns(figures: Figures) -> list[tuple[str, bool]]:
    return [
        (_("Queue"), False),
        (_("Waiting now"), True),
        (_("Longest wait"), True),
        (_("Agents ready / at work"), True),
        (_("Answered within %(seconds)s s today") % {"seconds": figures["within"]}, True),
        (_("Answered today"), True),
        (_("Abandoned today"), True),
    ]


def _queues(figures: Figures, viewer: Viewer) -> Piece:
    queues = figures["queues"]
    return {
        "key": "queues",
        "title": _("Queues"),
        "url": viewer.list_of("telephony.queue"),
        "columns": _queue_columns(figures),
        "rows": [{"key": f"queue-{queue['id']}", "cells": _queue(queue, figures, viewer)} for queue in queues[:SHOWN]],
        "more": _more(len(queues), viewer.list_of("telephony.queue", is_active__exact=1)),
        "none": _("No queue is active."),
    }


def _queue(queue: Figures, figures: Figures, viewer: Viewer) -> list[Piece]:
    page, pk = viewer.page_of("telephony.queue", queue["id"]), queue["id"]
    day = [day_of(figures["midnight"])]

    def calls(way: str) -> str:
        return viewer.list_of("telephony.connection", **{PARAMETER: value_of(f"{way}:{figures['within']}:{pk}", day)})

    agents = {"state": "free", "is_active__exact": 1, "queue": pk}
    is_unmanned = queue["waiting"] and not queue["free"]
    return [
        cell(queue["name"], page),
        number(queue["waiting"], page, tone="danger" if queue["waiting"] else "", note=_callbacks(queue["callbacks"])),
        cell(
            "–" if queue["since"] is None else "",
            page if queue["since"] else "",
            since=queue["since"],
            tone=urgency_of(queue["since"], figures),
            is_number=True,
        ),
        number(
            queue["free"],
            viewer.list_of("telephony.agent", **agents),
            note=f"/ {queue['serving']}",
            tone="danger" if is_unmanned else "",
        ),
        cell(
            percent(queue["service_level"]),
            calls("came_in_time") if queue["in_time"] else "",
            note=_of(queue["in_time"], queue["answered"] + queue["abandoned"]),
            is_number=True,
        ),
        number(queue["answered"], calls("came_answered"), note=f"/ {intcomma(queue['came'])}"),
        number(queue["abandoned"], calls("came_abandoned"), tone="warning" if queue["abandoned"] else ""),
    ]


def _callbacks(count: int) -> str:
    return ngettext("+ %(count)s call-back", "+ %(count)s call-backs", count) % {"count": count} if count else ""


def _tickets(figures: Figures, viewer: Viewer) -> Piece:
    """Return the tickets that are overdue the longest, then those that are due next."""
    columns = [(_("Ticket"), False), (_("Ticket queue"), False), (_("Agent"), False), (_("Due"), True)]
    return {
        "key": "tickets",
        "title": _("Urgent tickets"),
        "url": viewer.list_of("tickets.ticket"),
        "columns": columns,
        "rows": [
            {
                "key": f"ticket-{row['id']}",
                "cells": [
                    cell(f"#{row['id']} {row['subject']}", viewer.page_of("tickets.ticket", row["id"])),
                    cell(row["queue"]),
                    cell(row["agent"] or "–"),
                    cell(
                        moment(row["due"]), tone="danger" if row["due"] < figures["at"] else "warning", is_number=True
                    ),
                ],
            }
            for row in figures["tickets"]["rows"]
        ],
        "none": "",
    }


def _agents(figures: Figures, viewer: Viewer) -> Piece:
    now = figures["agents"]
    tiles = [
        cell(
            now["counts"][status],
            viewer.list_of("telephony.agent", state=status, is_active__exact=1),
            label=str(label),
            key=f"state-{status}",
        )
        for status, label in LABELS.items()
        if now["total"]
    ]
    columns = [(_("Agent"), False), (_("State"), False), (_("Time in state"), True), (_("In a call with"), False)]
    may_change = viewer.user.has_perm("telephony.change_agent")
    may_listen = viewer.user.has_perm("telephony.monitor_connection") and viewer.may_see("telephony.connection")
    columns += [("", False)] * (may_change + may_listen)
    more = ngettext("%(count)s more agent", "%(count)s more agents", now["hidden"]) % {"count": now["hidden"]}
    return {
        "key": "agents",
        "title": _("Agents now"),
        "url": viewer.list_of("telephony.agent"),
        "tiles": tiles,
        "columns": columns,
        "rows": [
            {
                "key": f"agent-{agent['id']}",
                "cells": _agent(agent, viewer, may_change=may_change, may_listen=may_listen),
            }
            for agent in now["rows"]
        ],
        "more": cell(more, viewer.list_of("telephony.agent")) if now["hidden"] else None,
        "none": _("No agent is logged in.") if now["total"] else "",
    }


def _agent(agent: Figures, viewer: Viewer, *, may_change: bool, may_listen: bool) -> list[Piece]:
    # A process of the release before may have read the figures.
    label, is_paused = (
        state_label(agent["status"], agent["pause"], agent.get("next_pause", "")),
        agent["status"] == "paused",
    )
    page, action = ("free", _("Set ready")) if is_paused else ("pause", _("Pause"))
    is_talk = agent["status"] == "talking" and agent.get("call")
    listen = (_("Listen"), viewer.page_of("telephony.connection", agent["call"], "monitor")) if is_talk else ("",)
    customer = {"note": agent["customer"], "note_url": agent["customer_url"]}
    if not viewer.may_see("tickets.customer"):
        customer = {}
    return [
        cell(agent["login"], viewer.page_of("telephony.agent", agent["id"]), note=agent["name"]),
        cell(label, state=COLOURS[agent["status"]], note=phone_label(agent.get("phone", ""), agent["status"])),
        cell("", since=agent["since"], is_number=True),
        cell(agent["number"], **customer),
        *([cell(action, viewer.page_of("telephony.agent", agent["id"], page))] if may_change else []),
        *([cell(*listen)] if may_listen else []),
    ]


def _campaigns(figures: Figures, viewer: Viewer) -> Piece:
    rows = figures["campaigns"]["rows"]
    columns = [
        (_("Campaign"), False),
        (_("Dialling"), False),
        (_("Drops today, of at most %(most)s %%") % {"most": f"{figures['most_drops']:g}"}, True),
        (_("Drops in 30 days"), True),
        (_("To call"), True),
        (_("Progress"), False),
        (_("Agents"), True),
    ]
    return {
        "key": "campaigns",
        "title": _("Active campaigns"),
        "url": viewer.list_of("campaigns.campaign"),
        "note": _("Records counted at %(time)s; counted again after 30 seconds.")
        % {"time": clock(figures["campaigns"]["counted_at"])},
        "columns": columns,
        "rows": [{"key": f"campaign-{row['id']}", "cells": _campaign(row, figures, viewer)} for row in rows[:SHOWN]],
        "more": _more(len(rows), viewer.list_of("campaigns.campaign")),
        "none": _("No campaign is active."),
    }


def _campaign(row: Figures, figures: Figures, viewer: Viewer) -> list[Piece]:
    pk, page = row["id"], viewer.page_of("campaigns.campaign", row["id"])
    today = f"{timezone.localdate():%Y-%m-%d}"
    dropped = viewer.list_of(
        "campaigns.attempt", campaign__id__exact=pk, outcome__exact="dropped", date_from=today, date_to=today
    )
    compliance = f"{reverse('admin:campaigns_campaign_compliance')}?campaign={pk}"
    records = viewer.list_of("campaigns.record", campaign__id__exact=pk)
    left = viewer.list_of("campaigns.record", campaign__id__exact=pk, system_status="left")
    word, colour = campaign_state(row)
    return [
        cell(f"{row['code']} {row['name']}", page),
        cell(
            word,
            viewer.page_of("campaigns.campaign", pk, "dialling"),
            state=colour,
            note=reason(row["reason"]) if row["reason"] not in ("", "dialling_paused") else "",
        ),
        cell(
            percent(row["drop_rate"], 2) if row["answers"] else "–",
            dropped if row["drops"] else "",
            note=_of(row["drops"], row["answers"]),
            tone="danger" if row["drop_rate"] > figures["most_drops"] else "",
            is_number=True,
        ),
        cell(
            percent(row["drop_rate_30"], 2),
            compliance,
            tone="danger" if row["drop_rate_30"] > figures["most_drops"] else "",
            is_number=True,
        ),
        number(row["to_call"], left, note=_warning(row)),
        cell(percent(row["percent"]), records if row["total"] else "", percent=row["percent"]),
        number(row["agents"], page),
    ]


def _of(count: int, all_of_them: int) -> str:
    return _("%(count)s of %(all)s") % {"count": intcomma(count), "all": intcomma(all_of_them)}


def campaign_state(row: Figures) -> tuple[str, str]:
    """Return the state of a campaign in a word, and its colour. A person's pause is no trouble."""
    _sentence, colour = STATES.get(row["state"], ("", "info"))
    is_wanted = row["reason"] in ("outside_dates", "dialling_paused")
    return str(STATE_WORDS.get(row["state"], row["state"])), "info" if is_wanted else colour


def _warning(row: Figures) -> str:
    """Return why the campaign has no calls to place, or soon will have none."""
    starts, today = date.fromisoformat(row["starts"]), timezone.localdate()
    ends = date.fromisoformat(row["ends"]) if row["ends"] else None
    if ends and ends < today:
        return _("ended on %(day)s") % {"day": date_format(ends)}
    if starts > today:
        return _("starts on %(day)s") % {"day": date_format(starts)}
    if not row["total"]:
        return _("no records")
    if not row["to_call"]:
        return _("nothing left to call")
    return "" if row["agents"] else _("no agents")


def _more(count: int, url: str) -> Piece | None:
    if count <= SHOWN:
        return None
    hidden = count - SHOWN
    return cell(ngettext("%(count)s more in the list", "%(count)s more in the list", hidden) % {"count": hidden}, url)
