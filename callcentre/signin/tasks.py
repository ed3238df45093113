from celery import shared_task

from callcentre.core.enqueue import enqueue
from callcentre.signin import mails
from callcentre.signin.models import PasswordReset


@shared_task(name="signin.mail_reset")
def mail_reset(pk: int) -> None:
    """Mail the link to a new password."""
    mails.send(pk)


@shared_task(name="signin.sweep_resets")
def sweep_resets() -> None:
    """Enqueue the mails that are due again, and those for which no message was sent."""
    for pk in mails.due_now():
        enqueue("signin.mail_reset", pk)


@shared_task(name="signin.prune_resets")
def prune_resets() -> None:
    """Delete the requests of yesterday."""
    PasswordReset.objects.outdated().delete()
