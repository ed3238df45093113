from celery import shared_task
from django.conf import settings
from django.utils import timezone

from telephony import recording_files
from telephony.calls import placement
from telephony.transcription import attempt
from telephony.verbs import presence


@shared_task(name="telephony.place_call")
def place_call(pk: int) -> None:
    """Ring the phone of whoever asked for a call."""
    placement.place(pk)


@shared_task(name="telephony.sweep_calls")
def sweep_calls() -> None:
    """Place calls whose message was lost, or that had to wait; give up those that had to wait too long."""
    for pk in placement.overdue(timezone.now()):
        placement.place(pk)


@shared_task(name="telephony.sweep_agents")
def sweep_agents() -> None:
    """End wrap-ups that are over, should nobody listen to the switch, and sessions that somebody forgot to end."""
    now = timezone.now()
    presence.end_wrap_ups(now)
    presence.close_long_sessions(now, settings.AGENT_SESSION_LIMIT)


@shared_task(name="telephony.fetch_recording")
def fetch_recording(pk: int) -> None:
    """Get a recording from the switch."""
    recording_files.fetch(pk)


@shared_task(name="telephony.transcribe")
def transcribe(connection_id: int) -> None:
    """Have a call transcribed, and made something of."""
    attempt.run(connection_id)


@shared_task(name="telephony.sweep_recordings")
def sweep_recordings() -> None:
    """Go on with recordings and transcriptions whose message or worker was lost, or whose turn it is; have the switch
    forget what it need not keep."""
    now = timezone.now()
    recording_files.sweep(now)
    recording_files.clear_switch(now)


@shared_task(name="telephony.prune_recordings")
def prune_recordings() -> None:
    """Remove recordings that were kept for long enough."""
    recording_files.prune(timezone.now())
