from celery import shared_task

from callcentre.signin.mails import outbox
from callcentre.signin.models import PasswordReset


@shared_task(name="signin.mail_reset")
def mail_reset(pk: int) -> None:
    """Mail the link to a new password."""
    outbox.send(pk)


@shared_task(name="signin.prune_resets")
def prune_resets() -> None:
    """Delete the requests of yesterday."""
    PasswordReset.objects.outdated().delete()
