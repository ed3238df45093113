from celery import shared_task

from callcentre.core.enqueue import enqueue
from tickets import pruning
from tickets.mail import dispatcher, intake, mailbox_connection, mailbox_poll, notices, oauth
from tickets.models import MailboxTest, Rule, Team, TicketQueue
from tickets.verbs import assignment, automation, due_times, postponing, received_mails, service_levels


@shared_task(name="tickets.dispatch")
def dispatch(pk: int) -> None:
    """Send one message."""
    dispatcher.dispatch(pk)


@shared_task(name="tickets.mail_notice")
def mail_notice(pk: int) -> None:
    """Mail one notice to its agent."""
    notices.outbox.send(pk)


@shared_task(name="tickets.poll_mailboxes")
def poll_mailboxes() -> None:
    """Poll each mailbox that the watch does not keep, and renew tokens. Enqueue mailbox tests and mails again whose
    task or worker was lost.
    """
    for pk in TicketQueue.objects.with_tokens().values_list("pk", flat=True):
        enqueue("tickets.renew_token", pk)
    for pk in TicketQueue.objects.polled().values_list("pk", flat=True):
        enqueue("tickets.poll_mailbox", pk)
    for pk in MailboxTest.objects.waiting().values_list("pk", flat=True):
        enqueue("tickets.test_mailbox", pk)
    for pk in intake.undecided_mails():
        enqueue("tickets.process_mail", pk)


@shared_task(name="tickets.poll_mailbox")
def poll_mailbox(pk: int) -> None:
    mailbox_poll.poll(pk)


@shared_task(name="tickets.renew_token")
def renew_token(pk: int) -> None:
    """Renew the token of a queue's mailbox ahead of its expiry."""
    oauth.renew(pk)


@shared_task(name="tickets.test_mailbox")
def test_mailbox(pk: int) -> None:
    """Test the mailbox of one queue."""
    mailbox_connection.run_test(pk)


@shared_task(name="tickets.process_mail")
def process_mail(pk: int) -> None:
    intake.process(pk)


@shared_task(name="tickets.sweep_answers")
def sweep_answers() -> None:
    """End the response targets of tickets whose customers were answered in a call or chat."""
    due_times.end_answered_targets()


@shared_task(name="tickets.bring_back")
def bring_back() -> None:
    """Bring back the postponed tickets whose time has come."""
    postponing.bring_back()


@shared_task(name="tickets.sweep_rules")
def sweep_rules() -> None:
    """Enqueue the rules of time."""
    for pk in Rule.objects.filter(is_active=True).exclude(anchor="").values_list("pk", flat=True):
        enqueue("tickets.run_rule", pk)


@shared_task(name="tickets.tell_deadlines")
def tell_deadlines() -> None:
    """Tell of tickets that are due soon, or overdue."""
    service_levels.tell_deadlines()


@shared_task(name="tickets.compute_open_tickets")
def compute_open_tickets() -> None:
    """Compute due times anew after a change of a service level or a calendar."""
    service_levels.compute_open_tickets()


@shared_task(name="tickets.run_rule")
def run_rule(pk: int) -> None:
    """Run one rule of time for the tickets whose time has come."""
    for rule in Rule.objects.filter(pk=pk, is_active=True).exclude(anchor=""):
        automation.run_due(rule)


@shared_task(name="tickets.sweep_teams")
def sweep_teams() -> None:
    """Enqueue the teams that assign by themselves: members come back, and messages are lost."""
    for pk in Team.objects.assigning().values_list("pk", flat=True):
        enqueue("tickets.assign_waiting", pk)


@shared_task(name="tickets.assign_waiting")
def assign_waiting(pk: int) -> None:
    """Give the tickets of a team that have no agent to its members."""
    for team in Team.objects.assigning().filter(pk=pk):
        assignment.assign_waiting(team)


@shared_task(name="tickets.prune_files")
def prune_files() -> None:
    """Remove uploads that no message has used, files without a row, old notices, and old spam."""
    pruning.prune()
    received_mails.delete_expired_spam()
