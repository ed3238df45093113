"""Messages of callers whom no agent answers: a prompt, a beep, the recording, the end. The connection is locked."""

from datetime import datetime, timedelta

from telephony import call_clock, causes
from telephony.calls import legs, offers, prompts, switch_requests
from telephony.models import CallerMessage, CallerStep, Connection, Leg, Prompt, Recording
from telephony.verbs import recordings

Disposition, Party, State = Connection.Disposition, Connection.Party, Connection.State

# A recording whose end was not reported is over by then, beyond its longest time.
MARGIN = timedelta(seconds=10)
HANG_UP_AFTER = timedelta(seconds=1)


def refuse(connection: Connection, at: datetime, cause: int, reason: str) -> None:
    """Ask a caller whom the queue does not take for a message, or say that it is closed; otherwise end the call."""
    offers.count_wait(connection, at)
    connection.state = State.PLAYING
    queue, kind = connection.queue, CallerStep.Kind.VOICEMAIL
    if queue is None or not queue.has_voicemail:
        kind = CallerStep.Kind.CLOSED
        if prompts.of_queue(connection, Prompt.Kind.CLOSED) is None:
            legs.end(connection, at, Disposition.NO_ANSWER, cause=cause, cause_text=reason, hung_up_by=Party.SYSTEM)
            return
    connection.cause_text = reason
    connection.save(update_fields=["state", "wait_seconds", "cause_text"])
    prompts.stop(connection)
    answer(connection)
    ask(prompts.enter(connection, kind), connection, at)


def ask(step: CallerStep, connection: Connection, at: datetime) -> None:
    """Play the prompt of this step."""
    kind = Prompt.Kind.VOICEMAIL if step.kind == CallerStep.Kind.VOICEMAIL else Prompt.Kind.CLOSED
    if not prompts.play(step, connection, [prompts.of_queue(connection, kind)]):
        heard(step, connection, at)


def heard(step: CallerStep, connection: Connection, at: datetime) -> None:
    """Go on after the prompt: record the message, or hang up."""
    if step.kind == CallerStep.Kind.VOICEMAIL:
        record(step, connection)
    else:
        end(connection, at)


def record(step: CallerStep, connection: Connection) -> None:
    """Record the caller until the end of the call, the longest time, the key # or a long silence."""
    customer = connection.leg_of(Leg.Role.CUSTOMER)
    seconds = connection.queue.voicemail_seconds if connection.queue else 0
    if step.kind != CallerStep.Kind.RECORDING:
        # Each recording of a call has a number.
        connection.join_count += 1
        connection.save(update_fields=["join_count"])
        name = recordings.expect(connection)
        CallerMessage.objects.create(recording=Recording.objects.get(name=name))
    step.kind, step.is_playing = CallerStep.Kind.RECORDING, False
    step.due_at = call_clock.now() + timedelta(seconds=seconds) + MARGIN
    step.save(update_fields=["kind", "is_playing", "due_at"])
    if customer:
        name = connection.recording_name
        switch_requests.send("record", customer.channel_id, name, seconds, refused=lambda error: hang_up_soon(step.pk))


def hang_up_soon(connection_id: int) -> None:
    """End the call in a moment: the message is over. A caller who has hung up is reported before."""
    is_recording = CallerStep.objects.filter(pk=connection_id, kind=CallerStep.Kind.RECORDING)
    is_recording.update(due_at=call_clock.now() + HANG_UP_AFTER)


def answer(connection: Connection) -> None:
    if customer := connection.leg_of(Leg.Role.CUSTOMER):
        switch_requests.send("answer", customer.channel_id)


def end(connection: Connection, at: datetime) -> None:
    """End the call of a caller who has left a message, or has heard why no agent answers."""
    reason = connection.cause_text or causes.text_of(legs.NORMAL)
    legs.end(connection, at, Disposition.NO_ANSWER, cause=legs.NORMAL, cause_text=reason, hung_up_by=Party.SYSTEM)
