"""Events of callers without an agent: a sound is over, a key is pressed, the time is over, the listener restarts.

The row of a `CallerStep` says where the caller stands, so that the next listener goes on there.
"""

import logging
from collections.abc import Callable
from datetime import datetime

from django.db import transaction

from telephony import call_clock, causes
from telephony.calls import inbound, legs, prompts, transfers
from telephony.channels import play_id
from telephony.models import CallerMessage, CallerStep, Connection
from telephony.switch.base import KeyPressed, Played

logger = logging.getLogger(__name__)

Kind, State = CallerStep.Kind, Connection.State


def played(event: Played) -> None:
    """Go on after a sound. The end of an earlier sound changes nothing."""
    if event.is_failed:
        logger.warning("a prompt was not heard", extra={"channel": event.channel_id, "sound": event.sound_id})
    _with_step(event.channel_id, lambda connection, step: _played(connection, step, event))


def _played(connection: Connection, step: CallerStep, event: Played) -> bool:
    if not step.is_playing or play_id(connection.pk, step.play_count) != event.sound_id:
        return False
    _go_on(connection, step, legs.instant(connection, event.at))
    return True


def pressed(event: KeyPressed) -> bool:
    """Follow a key of a menu. It ends what is played. Return whether the caller is in a menu."""
    return _with_step(event.channel_id, lambda connection, step: _pressed(connection, step, event))


def _pressed(connection: Connection, step: CallerStep, event: KeyPressed) -> bool:
    if step.kind != Kind.MENU or connection.state != State.PLAYING:
        return False
    prompts.silence(step)
    _follow(connection, step, event.key, legs.instant(connection, event.at))
    return True


def due(now: datetime) -> list[int]:
    """Return the calls whose caller is to be led on."""
    return list(CallerStep.objects.filter(due_at__lte=now).order_by("due_at", "pk").values_list("pk", flat=True))


@transaction.atomic
def go_on(pk: int, now: datetime) -> None:
    """Lead a caller on: the next prompt, the end of a wait, or of a sound that was not reported."""
    connection = legs.lock(pk)
    step = prompts.step_of(connection) if connection else None
    if connection is None or step is None or step.due_at is None or step.due_at > now:
        return
    at = legs.instant(connection, now)
    if connection.state not in (State.WAITING, State.PLAYING):
        prompts.stop(connection)
    elif step.is_playing:
        prompts.silence(step)
        _go_on(connection, step, at)
    elif step.kind == Kind.QUEUE:
        prompts.announce(step, connection)
    elif step.kind == Kind.MENU:
        _follow(connection, step, "", at)
    else:
        prompts.end_call(connection, at)


def message_over(name: str) -> None:
    """End the call of a caller whose message is recorded: by #, by a silence, or the longest time."""
    if (
        connection_id := CallerMessage.objects.filter(recording__name=name)
        .values_list("recording__connection", flat=True)
        .first()
    ):
        prompts.hang_up_soon(connection_id)


def restore(connection: Connection) -> bool:
    """Repeat the request of the present step, in case that a process died before it sent it.

    Return false for a caller who hears no prompt. What was played is played again from its beginning.
    """
    step = prompts.step_of(connection)
    if step is None or step.due_at is None:
        return False
    if connection.state == State.PLAYING:
        prompts.answer(connection)
    if step.kind == Kind.RECORDING:
        prompts.record(step, connection)
        return True
    if not step.is_playing:
        return step.kind == Kind.MENU
    prompts.silence(step)
    if step.kind == Kind.QUEUE and connection.queue:
        return prompts.begin_in_queue(connection, connection.queue)
    if step.kind == Kind.MENU and step.menu:
        prompts.hear(connection, prompts.Way(menu=step.menu, tries=step.tries), step.steps)
    else:
        prompts.ask(step, connection, legs.instant(connection, call_clock.now()))
    return True


def _go_on(connection: Connection, step: CallerStep, at: datetime) -> None:
    if step.kind == Kind.MENU:
        prompts.await_key(step, connection)
    elif step.kind == Kind.QUEUE:
        prompts.rest(step, connection)
    else:
        prompts.heard(step, connection, at)


def _follow(connection: Connection, step: CallerStep, key: str, at: datetime) -> None:
    assert step.menu is not None
    way = prompts.after(step.menu, step.tries, step.steps, key, at)
    if way.menu:
        prompts.hear(connection, way, step.steps)
        return
    prompts.be_silent(step, None)
    if way.queue:
        inbound.admit(connection, way.queue, at)
    elif way.number:
        transfers.call_target(connection, way.number, at)
    else:
        connection.cause_text = causes.NO_CHOICE
        prompts.end_call(connection, at)


@transaction.atomic
def _with_step(channel_id: str, act: Callable[[Connection, CallerStep], bool]) -> bool:
    if (found := legs.lock_by_channel(channel_id)) is None:
        return False
    connection, leg = found
    step = prompts.step_of(connection)
    if step is None or leg.ended_at or connection.state == State.ENDED:
        return False
    return act(connection, step)
