from celery import shared_task
from django.conf import settings
from django.utils import timezone

from telephony.models import Agent


@shared_task(name="telephony.sweep_agents")
def sweep_agents() -> None:
    """End wrap-ups that are over, should nobody listen to the switch, and sessions that somebody forgot to end."""
    now = timezone.now()
    Agent.objects.end_wrap_ups(now)
    Agent.objects.close_long_sessions(now, settings.AGENT_SESSION_LIMIT)
