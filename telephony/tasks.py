from celery import shared_task
from django.conf import settings
from django.utils import timezone

from telephony.calls import placing
from telephony.models import Agent


@shared_task(name="telephony.place_call")
def place_call(pk: int) -> None:
    """Ring the phone of whoever asked for a call."""
    placing.place(pk)


@shared_task(name="telephony.sweep_calls")
def sweep_calls() -> None:
    """Place calls whose message was lost, or that had to wait; give up those that had to wait too long."""
    for pk in placing.overdue(timezone.now()):
        placing.place(pk)


@shared_task(name="telephony.sweep_agents")
def sweep_agents() -> None:
    """End wrap-ups that are over, should nobody listen to the switch, and sessions that somebody forgot to end."""
    now = timezone.now()
    Agent.objects.end_wrap_ups(now)
    Agent.objects.close_long_sessions(now, settings.AGENT_SESSION_LIMIT)
