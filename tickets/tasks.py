from celery import shared_task

from callcentre.wake import wake
from tickets.mail import dispatching


@shared_task(name="tickets.dispatch")
def dispatch(pk: int) -> None:
    """Send one message on its way out."""
    dispatching.dispatch(pk)


@shared_task(name="tickets.sweep_dispatches")
def sweep_dispatches() -> None:
    """Wake what is due again, and what no message was sent for."""
    for pk in dispatching.due_now():
        wake("tickets.dispatch", pk)
