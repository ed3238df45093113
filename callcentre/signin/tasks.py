from celery import shared_task

from callcentre.signin.mails import outbox
from callcentre.signin.models import PasswordReset
from callcentre.signin.verbs.provider_sessions import ask_for_checks, check_session


@shared_task(name="signin.mail_reset")
def mail_reset(pk: int) -> None:
    """Mail the link to a new password."""
    outbox.send(pk)


@shared_task(name="signin.check_provider_sessions")
def check_provider_sessions() -> None:
    """Check the log-ins by the provider whose time has come."""
    ask_for_checks()


@shared_task(name="signin.check_provider_session")
def check_provider_session(pk: int) -> None:
    """Ask the provider again about a person who is logged in."""
    check_session(pk)


@shared_task(name="signin.prune_resets")
def prune_resets() -> None:
    """Delete the requests of yesterday."""
    PasswordReset.objects.outdated().delete()
