"""Deletion of received mail with its message, and of stored files with the mail that they came with.

The row of a received mail stays, without content: its checksum identifies the same mail if the mailbox offers it
again.
"""

from collections import Counter
from typing import Any

from django.db.models import Func, QuerySet, Value
from django.db.models.expressions import F
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from callcentre.core.actor import Actor
from callcentre.core.deletions import Busy, Consequences, Deletion, Part, forget_log_entries
from callcentre.core.file_removals import FileRemoval
from tickets import events
from tickets.models import Dispatch, Message, Rating, ReceivedMail, StoredFile, Ticket
from tickets.verbs.ticket_row import lock_ticket, log_ticket, save_ticket

# The tables that belong to a message.
PARTS = (("tickets.storedfile", StoredFile), ("tickets.rating", Rating), ("tickets.dispatch", Dispatch))
DELETED = gettext_noop("it was deleted by a person")


def strip(mails: QuerySet[ReceivedMail]) -> int:
    """Remove content and addresses from these mails, and return their count. The rows and the checksums stay."""
    FileRemoval.add(list(mails.exclude(path="").values_list("path", flat=True)))
    # Entries name a mail by its subject or sender.
    if ids := list(mails.values_list("pk", flat=True)):
        forget_log_entries(ReceivedMail, ids)
    return mails.update(
        outcome=ReceivedMail.Outcome.DELETED,
        reason=DELETED,
        header_id="",
        sender="",
        subject="",
        recipients=[],
        content_sha256="",
        path="",
        message=None,
    )


# Received mail


def consequences(mail: ReceivedMail) -> Consequences:
    found = Consequences(emptied=[Part("tickets.receivedmail", _together(mail).count())])
    if mail.message_id:
        files = StoredFile.objects.filter(message=mail.message_id).count()
        found.deleted += [Part("tickets.message", 1), Part("tickets.storedfile", files)]
    if mail.message:
        ticket = {"ticket": mail.message.ticket_id}
        found.remarks.append(_("Ticket #%(ticket)s stays, with its subject, its sender and other messages.") % ticket)
    found.remarks += [
        _("A checksum of the mail stays: by it the mail is not taken in again."),
        _("The mail stays in its mailbox."),
    ]
    if mail.outcome == ReceivedMail.Outcome.DELETED:
        found.obstacle = _("The mail was deleted already.")
    return found


def delete(deletion: Deletion) -> None:
    with deletion.step() as deleted:
        mail = ReceivedMail.objects.filter(pk=deletion.object_id).first()
        if mail is None:
            return
        ticket_id = Message.objects.values_list("ticket_id", flat=True).filter(received_mails=mail).first()
        if ticket_id is not None:
            lock_ticket(Ticket(pk=ticket_id))
        # Lock the mail after the ticket, in the same order as the code that makes messages of mails.
        mail = ReceivedMail.objects.select_for_update(of=("self",)).get(pk=mail.pk)
        message_id = mail.message_id
        deletion.count_emptied("tickets.receivedmail", strip(_together(mail)))
        if message_id is not None and ticket_id is not None:
            deleted.update(delete_messages(Message.objects.filter(pk=message_id)))
            _report(deletion.actor, ticket_id, "delete_message", message_id)


def _together(mail: ReceivedMail) -> QuerySet[ReceivedMail]:
    """Return the mail and its copies in other mailboxes, which became one message."""
    if mail.message_id is None:
        return ReceivedMail.objects.filter(pk=mail.pk)
    return ReceivedMail.objects.filter(message=mail.message_id)


def delete_messages(messages: QuerySet[Message]) -> Counter[str]:
    """Delete messages, whose mails are stripped, table by table with what belongs to them. None of the rows is read."""
    ids = messages.order_by().values("pk")
    FileRemoval.add(list(StoredFile.objects.filter(message__in=ids).values_list("path", flat=True)))
    counts = {label: delete_at_once(model._base_manager.filter(message__in=ids)) for label, model in PARTS}
    return Counter({**counts, "tickets.message": delete_at_once(messages)})


def delete_at_once(rows: QuerySet[Any]) -> int:
    """Delete the rows in one statement, without reading them and what refers to them. Return their number."""
    count: int = rows._raw_delete(rows.db)
    return count


def _report(actor: Actor, ticket_id: int, action: str, message_id: int) -> None:
    """Record the deletion in the history of the ticket, and tell receivers that the ticket has changed."""
    ticket = Ticket.objects.select_related("agent").get(pk=ticket_id)
    save_ticket(ticket, {}, timezone.now())
    log_ticket(ticket, actor, action, {"message": [message_id, None]})
    events.ticket_updated(ticket)


# Stored files


def consequences_of_file(file: StoredFile) -> Consequences:
    found = Consequences([Part("tickets.storedfile", 1)])
    if file.message_id is None:
        found.remarks.append(_("The file was uploaded and not used: no message has it."))
        return found
    found.emptied.append(Part("tickets.receivedmail", _raw_mails(file.message_id).count()))
    found.remarks += [
        _("The message that it came with stays; the mail as it came, which has the file in it, does not."),
        _("Copies that were sent stay with those who got them."),
    ]
    if _is_waiting(file.message_id):
        found.obstacle = _("The message with this file is still to be sent.")
    return found


def delete_file(deletion: Deletion) -> None:
    with deletion.step() as deleted:
        file = StoredFile.objects.select_related("message").filter(pk=deletion.object_id).first()
        if file is None:
            return
        if file.message is not None:
            lock_ticket(Ticket(pk=file.message.ticket_id))
            if _is_waiting(file.message.pk):
                raise Busy(gettext_noop("The message with this file is still to be sent."))
            mails = _raw_mails(file.message.pk)
            FileRemoval.add(list(mails.values_list("path", flat=True)))
            deletion.count_emptied("tickets.receivedmail", mails.update(path=""))
            without: Any = Func(F("attachments"), Value(file.token), function="array_remove")
            Message.objects.filter(pk=file.message.pk).update(attachments=without)
            _report(deletion.actor, file.message.ticket_id, "delete_file", file.message.pk)
        FileRemoval.add([file.path])
        deleted["tickets.storedfile"] = StoredFile.objects.filter(pk=file.pk).delete()[0]


def _raw_mails(message_id: int) -> QuerySet[ReceivedMail]:
    return ReceivedMail.objects.filter(message=message_id).exclude(path="")


def _is_waiting(message_id: int) -> bool:
    return Dispatch.objects.filter(message=message_id, state=Dispatch.State.QUEUED).exists()
