"""Menus before queues: where each key leads, and the caller's way through them. The connection is locked.

`after` alone decides, for calls and for the page that tries a menu.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.db.models import QuerySet

from telephony.calls import prompts, switch_requests, voicemail
from telephony.models import CallerStep, Connection, Leg, Menu, Prompt, Queue
from telephony.numbers import comparable

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
    """Return the menu, or the queue, whose number was dialled."""
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


def begin(connection: Connection, menu: Menu) -> None:
    """Let a caller who has just arrived hear a menu."""
    connection.state = Connection.State.PLAYING
    connection.save(update_fields=["state"])
    voicemail.answer(connection)
    hear(connection, Way(menu=menu), steps=0)


def hear(connection: Connection, way: Way, steps: int) -> None:
    """Play the menu of a way, and what comes before it. Without a sound the caller is waited for in music."""
    assert way.menu is not None
    step = prompts.enter(connection, CallerStep.Kind.MENU, menu=way.menu, tries=way.tries, steps=steps + 1)
    before = []
    if way.is_wrong:
        before = [prompts.of_menu(connection, way.menu, Prompt.Kind.WRONG)]
    elif way.information is not None:
        before = [prompts.of_menu(connection, way.menu, Prompt.Kind.INFORMATION, way.information)]
    if not prompts.play(step, connection, [*before, prompts.of_menu(connection, way.menu, Prompt.Kind.CHOICES)]):
        await_key(step, connection)
        if customer := connection.leg_of(Leg.Role.CUSTOMER):
            switch_requests.play_music(customer)


def await_key(step: CallerStep, connection: Connection) -> None:
    """Give the caller time for a key: the menu has been heard."""
    assert step.menu is not None
    prompts.be_silent(step, timedelta(seconds=step.menu.key_seconds))
