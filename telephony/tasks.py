from celery import shared_task
from django.conf import settings
from django.utils import timezone

from callcentre.core.sweeps import going_on
from telephony import recording_files
from telephony.calls import placement
from telephony.transcription import attempt
from telephony.verbs import presence


@shared_task(name="telephony.place_call")
def place_call(pk: int) -> None:
    placement.place(pk)


@shared_task(name="telephony.sweep_calls")
def sweep_calls() -> None:
    """Place calls whose task was lost, or that had to wait. End calls that had to wait too long."""
    for pk in placement.overdue(timezone.now()):
        with going_on("a call could not be placed", connection=pk):
            placement.place(pk)


@shared_task(name="telephony.sweep_agents")
def sweep_agents() -> None:
    """End forgotten sessions, and wrap-ups that are over while no listener runs."""
    now = timezone.now()
    presence.end_wrap_ups(now)
    presence.close_long_sessions(now, settings.AGENT_SESSION_LIMIT)


@shared_task(name="telephony.fetch_recording")
def fetch_recording(pk: int) -> None:
    recording_files.fetch(pk)


@shared_task(name="telephony.transcribe")
def transcribe(connection_id: int) -> None:
    attempt.run(connection_id)


@shared_task(name="telephony.sweep_recordings")
def sweep_recordings() -> None:
    """Continue recordings and transcriptions that are due or were lost. Remove copies that the switch need not keep."""
    now = timezone.now()
    recording_files.sweep(now)
    recording_files.clear_switch(now)


@shared_task(name="telephony.prune_recordings")
def prune_recordings() -> None:
    recording_files.prune(timezone.now())
