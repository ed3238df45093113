"""Prompts of callers without an agent: in a queue, about why no agent answers, and in menus before queues.

A `CallerStep` says what is played, and when the listener goes on by itself. The connection is locked. Nothing new is
played while a phone rings for the call, and `stop` ends what is played before the caller is joined: the switch would
join only at its end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

import phonenumbers
from django.db.models import QuerySet
from django.utils import timezone

from callcentre.core.changes import store
from callcentre.core.statements import Statement, row_of
from telephony import call_clock
from telephony.calls import legs, offers, switch_requests
from telephony.calls.candidates import RANK
from telephony.channels import play_id
from telephony.models import CallerMessage, CallerStep, Connection, Leg, Menu, Prompt, Queue, Recording
from telephony.numbers import comparable
from telephony.queue_waits import situations
from telephony.sounds import sound_of
from telephony.verbs import recordings

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
    due_at = call_clock.now() + timedelta(seconds=sum(seconds for seconds, _sound in found)) + MARGIN
    store(step, play_count=step.play_count + 1, is_playing=True, due_at=due_at)
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
    if step.is_playing:
        switch_requests.send("stop_play", play_id(step.connection_id, step.play_count))


def of_queue(connection: Connection, kind: str) -> Prompt | None:
    queue = connection.queue
    return _of_owner(connection, queue, list(queue.prompts.filter(kind=kind)), kind) if queue else None


def of_menu(connection: Connection, menu: Menu, kind: str, number: int = 0) -> Prompt | None:
    return _of_owner(connection, menu, list(menu.prompts.filter(kind=kind, number=number)), kind, number)


def _of_owner(
    connection: Connection, owner: Queue | Menu, prompts: list[Prompt], kind: str, number: int = 0
) -> Prompt | None:
    """Return the prompt of this kind in the caller's language; without one in that of the owner, or in any."""
    fitting = [prompt for prompt in prompts if prompt.kind == kind and prompt.number <= number]
    preferred = language_of(connection.src_number), owner.prompt_language
    for language in (*preferred, *sorted({prompt.language for prompt in fitting})):
        if of_language := [prompt for prompt in fitting if prompt.language == language]:
            return max(of_language, key=lambda prompt: prompt.number)
    return None


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
    store(step, is_playing=False, due_at=call_clock.now() + pause if pause else None)


# A recording whose end was not reported is over by then, beyond its longest time.
RECORDING_MARGIN = timedelta(seconds=10)
HANG_UP_AFTER = timedelta(seconds=1)


def refuse(connection: Connection, at: datetime, cause: int, reason: str) -> None:
    """Ask a caller whom the queue does not take for a message, or say that it is closed; otherwise end the call."""
    has_voicemail = connection.queue is not None and connection.queue.has_voicemail
    leave_queue(connection, at, Kind.VOICEMAIL if has_voicemail else Kind.CLOSED, cause, reason)


def leave_queue(connection: Connection, at: datetime, kind: str, cause: int, reason: str) -> None:
    """Let a caller leave the queue by this step. Without its prompt the call ends at once; a message needs none."""
    connection.cause_text = reason
    if kind != Kind.VOICEMAIL and of_queue(connection, kind) is None:
        end_call(connection, at, cause)
        return
    offers.end_with_call(connection, at)
    connection.state = Connection.State.PLAYING
    connection.save(update_fields=["state", "wait_seconds", "cause_text"])
    if rung := connection.leg_of(Leg.Role.AGENT):
        legs.hang_up(rung, at)
    stop(connection)
    answer(connection)
    ask(enter(connection, kind), connection, at)


def ask(step: CallerStep, connection: Connection, at: datetime) -> None:
    if not play(step, connection, [of_queue(connection, step.kind)]):
        heard(step, connection, at)


def heard(step: CallerStep, connection: Connection, at: datetime) -> None:
    """Go on after the prompt: record the message, or hang up."""
    if step.kind == Kind.VOICEMAIL:
        record(step, connection)
    else:
        end_call(connection, at)


def record(step: CallerStep, connection: Connection) -> None:
    """Record the caller until the end of the call, the longest time, the key # or a long silence."""
    customer = connection.leg_of(Leg.Role.CUSTOMER)
    seconds = connection.queue.voicemail_seconds if connection.queue else 0
    if step.kind != Kind.RECORDING:
        # Each recording of a call has a number.
        store(connection, join_count=connection.join_count + 1)
        name = recordings.expect(connection)
        CallerMessage.objects.create(recording=Recording.objects.get(name=name))
    due_at = call_clock.now() + timedelta(seconds=seconds) + RECORDING_MARGIN
    store(step, kind=Kind.RECORDING, is_playing=False, due_at=due_at)
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


def end_call(connection: Connection, at: datetime, cause: int = legs.NORMAL) -> None:
    """End the call of a caller who has left a message, or has heard why no agent answers."""
    legs.end(connection, at, Connection.Disposition.NO_ANSWER, cause=cause, hung_up_by=Connection.Party.SYSTEM)


Row = TypeVar("Row", Menu, Queue)
# A caller who has heard and pressed so much leaves the menus, which may lead in a circle.
MOST_STEPS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where a caller is led: to a menu, perhaps after another prompt of it, to a queue, to a number, or to the end."""

    menu: Menu | None = None
    queue: Queue | None = None
    number: str = ""
    tries: int = 0
    # Said before the menu: that there is no such choice, or the information with this number.
    is_wrong: bool = False
    information: int | None = None


def with_number(rows: QuerySet[Row], dialled: str) -> Row | None:
    number = comparable(dialled)
    return next((row for row in rows.exclude(number="") if comparable(row.number) == number), None)


def after(menu: Menu, tries: int, steps: int, key: str, at: datetime) -> Way:
    """Return where the key leads; "" is the end of the wait for one."""
    entries = menu.entries.select_related("to_menu__end_queue", "queue", "while_open").filter(key=key)
    entry = next((entry for entry in entries if entry.holds(at)), None) if key else None
    if entry is None:
        is_over = tries + 1 >= menu.most_tries or steps >= MOST_STEPS
        return _end_of(menu) if is_over else Way(menu=menu, tries=tries + 1, is_wrong=bool(key))
    if entry.queue or entry.number:
        return Way(queue=entry.queue, number=entry.number)
    if steps >= MOST_STEPS or (entry.to_menu and not entry.to_menu.is_active):
        return _end_of(menu)
    return Way(menu=entry.to_menu or menu, information=entry.information)


def _end_of(menu: Menu) -> Way:
    return Way(queue=menu.end_queue, number=menu.end_number)


def begin_menu(connection: Connection, menu: Menu) -> None:
    store(connection, state=Connection.State.PLAYING)
    answer(connection)
    hear(connection, Way(menu=menu), steps=0)


def hear(connection: Connection, way: Way, steps: int) -> None:
    """Play the menu of a way, and what comes before it. Without a sound the caller is waited for in music."""
    assert way.menu is not None
    step = enter(connection, CallerStep.Kind.MENU, menu=way.menu, tries=way.tries, steps=steps + 1)
    before = []
    if way.is_wrong:
        before = [of_menu(connection, way.menu, Prompt.Kind.WRONG)]
    elif way.information is not None:
        before = [of_menu(connection, way.menu, Prompt.Kind.INFORMATION, way.information)]
    if not play(step, connection, [*before, of_menu(connection, way.menu, Prompt.Kind.CHOICES)]):
        await_key(step, connection)
        if customer := connection.leg_of(Leg.Role.CUSTOMER):
            switch_requests.play_music(customer)


def await_key(step: CallerStep, connection: Connection) -> None:
    """Give the caller time for a key: the menu has been heard."""
    assert step.menu is not None
    be_silent(step, timedelta(seconds=step.menu.key_seconds))
