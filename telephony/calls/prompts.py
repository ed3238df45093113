"""Prompts of callers who wait for an agent, between stretches of music.

A `CallerStep` says what is played, and when the listener goes on by itself. The connection is locked. Nothing new is
played while a phone rings for the call, and `stop` ends what is played before the caller is joined: the switch would
join only at its end.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import phonenumbers
from django.utils import timezone

from callcentre.core.statements import Statement, row_of
from telephony import call_clock
from telephony.calls import offers, switch_requests
from telephony.calls.candidates import RANK
from telephony.channels import play_id
from telephony.models import CallerStep, Connection, Leg, Menu, Prompt, Queue
from telephony.models.prompt import chosen
from telephony.queue_waits import situations
from telephony.sounds import sound_of

# Countries (ISO 3166) whose callers mostly share a language. Callers of others hear the language of the queue.
_COUNTRIES = """
ar: AE BH DZ EG IQ JO KW LB LY MA OM QA SA SY TN YE; bg: BG; cs: CZ; da: DK; de: AT DE LI; el: CY GR;
en: AU GB GG GI IE IM JE NZ US; es: AR BO CL CO CR DO EC ES GT HN MX NI PA PE PY SV UY VE; et: EE; fi: FI; fr: FR MC;
hr: HR; hu: HU; it: IT SM VA; ja: JP; ko: KR; lt: LT; lv: LV; nl: NL; no: NO; pl: PL; pt: BR PT; ro: MD RO; ru: BY RU;
sk: SK; sl: SI; sr: RS; sv: SE; tr: TR; uk: UA; zh: CN TW
"""
_OF_COUNTRY = {
    country: language.strip()
    for language, countries in (line.split(":") for line in _COUNTRIES.split(";"))
    for country in countries.split()
}


def language_of(number: str) -> str:
    """Return the language (ISO 639) of a number in its normal form; "" if it is hidden, or its country has several."""
    if number[:1] != "+":
        return ""
    try:
        region = phonenumbers.region_code_for_number(phonenumbers.parse(number))
    except phonenumbers.NumberParseException:
        return ""
    return _OF_COUNTRY.get(region or "", "")


Kind, Spoken = CallerStep.Kind, Prompt.Kind

# A sound whose end was not reported is over by then; fetching it takes a moment as well.
MARGIN = timedelta(seconds=3)
# Until a caller for whom a phone rings is looked at again.
RINGING_PAUSE = timedelta(seconds=2)

_PLACE = Statement("""
SELECT place FROM (
  SELECT id, row_number() OVER (ORDER BY rank, waiting_since, id) AS place FROM (
    SELECT c.id, c.waiting_since, {rank_of_call} AS rank
    FROM telephony_connection c JOIN telephony_queue q ON q.id = c.queue_id
    WHERE c.state = 'waiting' AND c.queue_id = %(queue)s
    UNION ALL
    SELECT NULL, b.waiting_since, {rank_of_callback}
    FROM telephony_callback b JOIN telephony_queue q ON q.id = b.queue_id
    WHERE b.state = 'waiting' AND b.queue_id = %(queue)s
  ) waits
) places WHERE id = %(id)s
""").of(rank_of_call=RANK.format(wait="c"), rank_of_callback=RANK.format(wait="b"))


def step_of(connection: Connection) -> CallerStep | None:
    return CallerStep.objects.select_related("menu").filter(connection=connection).first()


def enter(connection: Connection, kind: str, **values: Any) -> CallerStep:
    """Store that the caller is at a new step."""
    fresh = {"kind": kind, "menu": None, "is_playing": False, "due_at": None, **values}
    return CallerStep.objects.update_or_create(connection=connection, defaults=fresh)[0]


def begin_in_queue(connection: Connection, queue: Queue) -> bool:
    """Play the greeting of the queue, unless an agent has talked with the caller, then place and wait.

    Return whether something is played; otherwise the caller needs music.
    """
    prompts = list(queue.prompts.all())
    if not prompts:
        stop(connection)
        return False
    first = [_of_owner(connection, queue, prompts, Spoken.GREETING)] if connection.answered_at is None else []
    return play(enter(connection, Kind.QUEUE), connection, [*first, *_place_and_wait(connection, queue, prompts)])


def announce(step: CallerStep, connection: Connection) -> None:
    """Say place and wait again to a caller who waits; not while a phone rings for the call."""
    queue = connection.queue
    if queue is None or connection.state != Connection.State.WAITING:
        be_silent(step, None)
    elif offers.current(connection):
        be_silent(step, RINGING_PAUSE)
    elif not play(step, connection, _place_and_wait(connection, queue, list(queue.prompts.all()))):
        be_silent(step, None)


def rest(step: CallerStep, connection: Connection) -> None:
    """Play music until the next prompt."""
    seconds = connection.queue.prompt_seconds if connection.queue else 0
    be_silent(step, timedelta(seconds=seconds) if seconds else None)
    if customer := connection.leg_of(Leg.Role.CUSTOMER):
        switch_requests.play_music(customer, connection.music_class)


def play(step: CallerStep, connection: Connection, prompts: Sequence[Prompt | None]) -> bool:
    """Play these prompts, one after the other. Return whether there is a sound to be played."""
    found = [(prompt.seconds, sound_of(str(prompt.file.name))) for prompt in prompts if prompt]
    sounds = [sound for _seconds, sound in found if sound]
    customer = connection.leg_of(Leg.Role.CUSTOMER)
    if not sounds or customer is None:
        return False
    step.play_count += 1
    step.is_playing = True
    step.due_at = call_clock.now() + timedelta(seconds=sum(seconds for seconds, _sound in found)) + MARGIN
    step.save(update_fields=["play_count", "is_playing", "due_at"])
    switch_requests.send("play", customer.channel_id, sounds, play_id(connection.pk, step.play_count))
    return True


def stop(connection: Connection) -> bool:
    """End what is played, and what is due: the caller is about to be joined, or to leave the queue.

    Return whether a sound was played: it has ended the music.
    """
    step = CallerStep.objects.filter(connection=connection, due_at__isnull=False).first()
    if step is None:
        return False
    was_playing = step.is_playing
    silence(step)
    be_silent(step, None)
    return was_playing


def silence(step: CallerStep) -> None:
    """End what is played."""
    if step.is_playing:
        switch_requests.send("stop_play", play_id(step.connection_id, step.play_count))


def of_queue(connection: Connection, kind: str) -> Prompt | None:
    """Return the prompt of the call's queue in the caller's language."""
    queue = connection.queue
    return _of_owner(connection, queue, list(queue.prompts.filter(kind=kind)), kind) if queue else None


def of_menu(connection: Connection, menu: Menu, kind: str, number: int = 0) -> Prompt | None:
    return _of_owner(connection, menu, list(menu.prompts.filter(kind=kind, number=number)), kind, number)


def _of_owner(
    connection: Connection, owner: Queue | Menu, prompts: list[Prompt], kind: str, number: int = 0
) -> Prompt | None:
    return chosen(prompts, kind, [language_of(connection.src_number), owner.prompt_language], number)


def _place_and_wait(connection: Connection, queue: Queue, prompts: list[Prompt]) -> list[Prompt | None]:
    kinds = {prompt.kind for prompt in prompts}
    if not kinds & {Spoken.PLACE, Spoken.WAIT}:
        return []
    values = {"queue": queue.pk, "now": timezone.now(), "id": connection.pk}
    (place,) = row_of(_PLACE, values) or (1,)
    found = [_of_owner(connection, queue, prompts, Spoken.PLACE, place)]
    if Spoken.WAIT in kinds:
        seconds = situations([queue.pk])[queue.pk].estimate(place)
        found += [_of_owner(connection, queue, prompts, Spoken.WAIT, seconds // 60)] if seconds is not None else []
    return found


def be_silent(step: CallerStep, pause: timedelta | None) -> None:
    """Store that nothing is played, and that the caller is led on after the pause; None: not by the time."""
    step.is_playing, step.due_at = False, call_clock.now() + pause if pause else None
    step.save(update_fields=["is_playing", "due_at"])
