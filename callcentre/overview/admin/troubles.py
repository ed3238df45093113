"""The notes above the overview: what does not work and needs a person."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from callcentre.overview.admin.cells import Piece, Viewer, cell, moment, up_to
from callcentre.overview.figures import MAILS_COUNTED, Figures
from callcentre.overview.models import Alarm
from tickets.reasons import translated
from webhooks.admin.health import state_of
from webhooks.models import Webhook


def notes(figures: Figures, viewer: Viewer) -> list[Piece]:
    """Return the notes that the viewer may see: alarms first, then what the service itself lacks."""
    return [
        *alarm_notes(figures["alarms"], viewer),
        *process_notes(figures["processes"], viewer),
        *_of_mail(figures, viewer),
        *_of_webhooks(figures["webhooks"], viewer),
    ]


def alarm_notes(alarms: list[Figures], viewer: Viewer) -> Iterator[Piece]:
    if not viewer.may_see("overview.alarm"):
        return
    for alarm in alarms:
        condition = f"{alarm['place']}: {Alarm.Subject(alarm['subject']).sentence(alarm['limit'])}"
        place = ("telephony.queue", alarm["queue"]) if alarm["queue"] else ("campaigns.campaign", alarm["campaign"])
        url = (viewer.page_of(*place) if place[1] else "") or viewer.page_of("overview.alarm", alarm["id"])
        since = {
            "since": alarm["since"],
            "tone": "danger",
            "key": f"alarm-{alarm['id']}",
            "icon": "notifications_active",
        }
        yield cell(_("Alarm: %(name)s") % {"name": alarm["name"]}, url, note=condition, **since)


def process_notes(processes: Figures, viewer: Viewer) -> Iterator[Piece]:
    is_of_calls = viewer.may_see("telephony.agent") or viewer.may_see("telephony.queue")
    if is_of_calls and not processes["is_connected"]:
        sentence = _(
            "No connection to the PBX: calls and wrap-ups may differ from what is shown here until the listener "
            "is back."
        )
        missing = "" if processes["has_listener"] else _("No listener is running.")
        yield cell(sentence, note=missing, tone="danger", key="pbx")
    elif is_of_calls and not processes["has_listener"]:
        yield cell(_("No listener is running."), tone="danger", key="listener")
    if (count := processes["without_dialler"]) and viewer.may_see("campaigns.campaign"):
        sentence = ngettext(
            "%(count)s campaign is to be dialled, and no dialler has it.",
            "%(count)s campaigns are to be dialled, and no dialler has them.",
            count,
        )
        yield cell(sentence % {"count": count}, viewer.list_of("campaigns.campaign"), tone="danger", key="dialler")
    elif processes["to_dial"] and not processes["has_dialler"] and viewer.may_see("campaigns.campaign"):
        sentence = _("The dialler does not react: no record is dialled.")
        yield cell(sentence, viewer.list_of("campaigns.campaign"), tone="danger", key="dialler")
    if not processes["has_broker"]:
        yield cell(_("Redis does not answer: tasks wait until it is back."), tone="danger", key="broker")
    for volume, free in processes["low_volumes"].items():
        values = {"volume": volume, "free": filesizeformat(free)}
        note = _("Nothing can be changed until there is space again.") if processes["is_full"] else ""
        sentence = _("The volume “%(volume)s” has only %(free)s left.") % values
        yield cell(sentence, note=note, tone="danger", key=f"volume-{volume}")
    if not processes["has_beat"]:
        sentence = _("Beat starts no tasks: alarms, reports and due times are not looked after.")
        yield cell(sentence, tone="danger", key="beat")
    if queues := processes["without_worker"]:
        sentence = _("No worker runs for these tasks, which wait: %(queues)s.")
        yield cell(sentence % {"queues": ", ".join(queues)}, tone="danger", key="workers")
    for queue, seconds in processes["late"].items():
        sentence = _("Tasks of the worker “%(queue)s” wait for %(minutes)s min: it is missing, or busy.")
        values = {"queue": queue, "minutes": f"{seconds / 60:.1f}"}
        yield cell(sentence % values, tone="danger", key=f"worker-{queue}")


def _of_mail(figures: Figures, viewer: Viewer) -> Iterator[Piece]:
    if viewer.may_see("tickets.ticketqueue"):
        for mailbox in figures["mailboxes"]:
            url = viewer.page_of("tickets.ticketqueue", mailbox["id"])
            text = _("The mailbox of %(queue)s is not read.") % {"queue": mailbox["name"]}
            last = _("Last read: %(time)s.") % {"time": moment(mailbox["read_at"]) or "–"}
            yield cell(text, url, note=f"{last} {mailbox['poll_error']}", tone="danger", key=f"mailbox-{mailbox['id']}")
        for sender in figures["senders"]:
            url = viewer.page_of("tickets.ticketqueue", sender["id"])
            text = _("The mail of %(queue)s is not sent.") % {"queue": sender["name"]}
            yield cell(text, url, note=translated(sender["smtp_error"]), tone="danger", key=f"sender-{sender['id']}")
    if (count := figures["quarantine"]) and viewer.may_see("tickets.receivedmail"):
        url = viewer.list_of("tickets.receivedmail", outcome="quarantined")
        sentence = ngettext(
            "%(shown)s mail became no ticket: look at it, and try it again or discard it.",
            "%(shown)s mails became no tickets: look at them, and try them again or discard them.",
            count,
        )
        yield cell(sentence % {"shown": up_to(count, MAILS_COUNTED)}, url, tone="warning", key="quarantine")


def _of_webhooks(webhooks: list[Figures], viewer: Viewer) -> Iterator[Piece]:
    if not viewer.may_see("webhooks.webhook"):
        return
    for values in webhooks:
        webhook = Webhook(**{name: _stored(name, value) for name, value in values.items()})
        state = state_of(webhook)
        tone = "warning" if state.colour == "info" else state.colour
        title = _("Webhook %(address)s: %(state)s") % {"address": webhook.subscription_url, "state": state.label}
        url = viewer.page_of("webhooks.webhook", webhook.pk)
        yield cell(title, url, note=state.sentence, tone=tone, key=f"webhook-{webhook.pk}")


def _stored(name: str, value: Any) -> Any:
    """Return the value of a column. JSON has instants as text."""
    is_instant = name.endswith(("_at", "_until", "_since")) and value is not None
    return datetime.fromisoformat(value) if is_instant else value
