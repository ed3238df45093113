"""The end of calls that no agent answers: a prompt, perhaps a beep and a recording. The connection is locked."""

from datetime import datetime, timedelta

from telephony import call_clock
from telephony.calls import legs, offers, prompts, switch_requests
from telephony.models import CallerMessage, CallerStep, Connection, Leg, Recording
from telephony.verbs import recordings

Disposition, Party, State = Connection.Disposition, Connection.Party, Connection.State
Kind = CallerStep.Kind

# A recording whose end was not reported is over by then, beyond its longest time.
MARGIN = timedelta(seconds=10)
HANG_UP_AFTER = timedelta(seconds=1)


def refuse(connection: Connection, at: datetime, cause: int, reason: str) -> None:
    """Ask a caller whom the queue does not take for a message, or say that it is closed; otherwise end the call."""
    has_voicemail = connection.queue is not None and connection.queue.has_voicemail
    leave_queue(connection, at, Kind.VOICEMAIL if has_voicemail else Kind.CLOSED, cause, reason)


def leave_queue(connection: Connection, at: datetime, kind: str, cause: int, reason: str) -> None:
    """Let a caller leave the queue by this step. Without its prompt the call ends at once; a message needs none."""
    connection.cause_text = reason
    if kind != Kind.VOICEMAIL and prompts.of_queue(connection, kind) is None:
        end(connection, at, cause)
        return
    offers.end_with_call(connection, at)
    connection.state = State.PLAYING
    connection.save(update_fields=["state", "wait_seconds", "cause_text"])
    if rung := connection.leg_of(Leg.Role.AGENT):
        legs.hang_up(rung, at)
    prompts.stop(connection)
    answer(connection)
    ask(prompts.enter(connection, kind), connection, at)


def ask(step: CallerStep, connection: Connection, at: datetime) -> None:
    """Play the prompt of this step."""
    if not prompts.play(step, connection, [prompts.of_queue(connection, step.kind)]):
        heard(step, connection, at)


def heard(step: CallerStep, connection: Connection, at: datetime) -> None:
    """Go on after the prompt: record the message, or hang up."""
    if step.kind == Kind.VOICEMAIL:
        record(step, connection)
    else:
        end(connection, at)


def record(step: CallerStep, connection: Connection) -> None:
    """Record the caller until the end of the call, the longest time, the key # or a long silence."""
    customer = connection.leg_of(Leg.Role.CUSTOMER)
    seconds = connection.queue.voicemail_seconds if connection.queue else 0
    if step.kind != Kind.RECORDING:
        # Each recording of a call has a number.
        connection.join_count += 1
        connection.save(update_fields=["join_count"])
        name = recordings.expect(connection)
        CallerMessage.objects.create(recording=Recording.objects.get(name=name))
    step.kind, step.is_playing = Kind.RECORDING, False
    step.due_at = call_clock.now() + timedelta(seconds=seconds) + MARGIN
    step.save(update_fields=["kind", "is_playing", "due_at"])
    if customer:
        name = connection.recording_name
        switch_requests.send("record", customer.channel_id, name, seconds, refused=lambda error: hang_up_soon(step.pk))


def hang_up_soon(connection_id: int) -> None:
    """End the call in a moment: the message is over. A caller who has hung up is reported before."""
    is_recording = CallerStep.objects.filter(pk=connection_id, kind=Kind.RECORDING)
    is_recording.update(due_at=call_clock.now() + HANG_UP_AFTER)


def answer(connection: Connection) -> None:
    if customer := connection.leg_of(Leg.Role.CUSTOMER):
        switch_requests.send("answer", customer.channel_id)


def end(connection: Connection, at: datetime, cause: int = legs.NORMAL) -> None:
    """End the call of a caller who has left a message, or has heard why no agent answers."""
    legs.end(connection, at, Disposition.NO_ANSWER, cause=cause, hung_up_by=Party.SYSTEM)
