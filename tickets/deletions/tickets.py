"""Deletion of a ticket with its messages, their files, ratings and mails, its history, and tickets merged into it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from callcentre.core.deletions import Busy, Consequences, Deletion, Part, forget_log_entries
from tickets import events
from tickets.deletions.mail_and_files import PARTS, delete_at_once, delete_messages, strip
from tickets.models import (
    DeadlineNotice,
    Dispatch,
    Message,
    Notice,
    ReceivedMail,
    RuleRun,
    Ticket,
    TicketChange,
    TicketDraft,
    TicketFollower,
)
from tickets.verbs.ticket_row import lock_merges

_DISCONNECT = """
UPDATE tickets_ticket SET connected_ids = ARRAY(
  SELECT each FROM unnest(connected_ids) WITH ORDINALITY AS t(each, place) WHERE each <> ALL(%s) ORDER BY place)
WHERE id = ANY(%s)
"""


def consequences(ticket: Ticket) -> Consequences:
    found = Consequences()
    add_ticket_consequences(
        found, Ticket.objects.filter(Q(pk=ticket.pk) | Q(merged_into=ticket.pk)).order_by().values("pk")
    )
    if ticket.merged_into_id:
        into = {"ticket": ticket.merged_into_id}
        found.remarks.append(_("Its messages are in ticket #%(ticket)s, and stay there.") % into)
    return found


def add_ticket_consequences(found: Consequences, tickets: Any) -> None:
    """Add the rows that a deletion of these tickets deletes; `tickets` is a query of ids. Each count is a query."""
    messages = Message.objects.filter(ticket__in=tickets).order_by()
    found.deleted += [Part("tickets.ticket", tickets.count()), Part("tickets.message", messages.count())]
    found.deleted += [Part(label, model.objects.filter(message__ticket__in=tickets).count()) for label, model in PARTS]
    found.deleted.append(Part("tickets.ticketchange", TicketChange.objects.filter(ticket__in=tickets).count()))
    mails = ReceivedMail.objects.filter(message__ticket__in=tickets).count()
    found.emptied.append(Part("tickets.receivedmail", mails))
    if mails:
        found.remarks.append(_("A checksum of each mail stays: by it the mail is not taken in again."))
        found.remarks.append(_("Mails stay in their mailbox."))
    if waiting := Dispatch.objects.filter(message__ticket__in=tickets, state=Dispatch.State.QUEUED).count():
        sentence = ngettext("%(count)s message was not sent yet.", "%(count)s messages were not sent yet.", waiting)
        found.remarks.append(sentence % {"count": waiting})
    replies = messages.filter(type=Message.Type.REPLY, agent__isnull=False).count()
    closed = Ticket.objects.filter(pk__in=tickets, closed_by__isnull=False).count()
    if replies or closed:
        sentence = _("The agents work report no longer counts its replies (%(replies)s) and closings (%(closed)s).")
        found.remarks.append(sentence % {"replies": replies, "closed": closed})


def delete(deletion: Deletion) -> None:
    with deletion.step() as deleted:
        delete_ticket(int(deletion.object_id), deletion, deleted)


def delete_ticket(ticket_id: int, deletion: Deletion, deleted: Counter[str]) -> None:
    """Delete one ticket within a step. Raises Busy while one of its messages is being sent."""
    lock_merges()
    ids = list(Ticket.objects.filter(Q(pk=ticket_id) | Q(merged_into=ticket_id)).values_list("pk", flat=True))
    connected = {
        each for pks in Ticket.objects.filter(pk__in=ids).values_list("connected_ids", flat=True) for each in pks
    }
    locked = Ticket.objects.filter(pk__in={*ids, *connected}).select_for_update(of=("self",)).order_by("id")
    going = [ticket for ticket in locked.select_related("agent") if ticket.pk in ids]
    if not going:
        return
    sending = Dispatch.objects.filter(message__ticket__in=ids, state=Dispatch.State.QUEUED, begun_at__isnull=False)
    if sending.exists():
        raise Busy(gettext_noop("A message of the ticket is just being sent."))
    for ticket in going:
        events.ticket_deleted(ticket)
    deletion.count_emptied("tickets.receivedmail", strip(ReceivedMail.objects.filter(message__ticket__in=ids)))
    deleted.update(delete_rows(ids, [each for each in connected if each not in ids]))
    forget_log_entries(Ticket, ids)


def delete_rows(ids: Sequence[int], connected: Sequence[int]) -> Counter[str]:
    """Delete the rows table by table, and none of them is read."""
    deleted = delete_messages(Message.objects.filter(ticket__in=ids))
    for model in (RuleRun, DeadlineNotice, TicketDraft, Notice, TicketFollower):
        delete_at_once(model._default_manager.filter(ticket__in=ids))
    deleted["tickets.ticketchange"] = delete_at_once(TicketChange.objects.filter(ticket__in=ids))
    with connection.cursor() as cursor:
        cursor.execute(_DISCONNECT, [list(ids), list(connected)])
    deleted["tickets.ticket"] = delete_at_once(Ticket.objects.filter(pk__in=ids))
    return deleted
