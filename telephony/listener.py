"""The one process that hears the switch: what it tells becomes verbs, what is due is done.

There is one at a time: it leads as long as it holds an advisory lock on a connection of its own, and others wait for
it. Events are handled by a few threads, those of one call by the same, in their order. Nothing is remembered here that
the rows do not say: when a listener is killed, the next one compares rows and channels and goes on.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg
from django.utils import timezone

from callcentre.core.pubsub import subscribe
from telephony import clocks
from telephony.calls import commands, distributing, inbound, orders, placing, resync
from telephony.contact import Contact
from telephony.crew import Crew
from telephony.dispatch import Dispatcher
from telephony.leading import Leadership
from telephony.models import Agent
from telephony.switch import current_switch
from telephony.switch.base import Event, Heard, Offline, Online, Replaced, Switch, SwitchError

logger = logging.getLogger(__name__)

THREADS = 4
TICK_SECONDS = 0.5
# Between two looks at the switch's channels: when all is well, and when something is in doubt.
CALM_SECONDS, DOUBT_SECONDS = 30.0, 2.0
# Between two notes of when the switch was heard.
CONTACT_SECONDS = 1.0
# After another listener has taken the switch's events from us.
PAUSE_SECONDS = 5.0
# What is under way when we are asked to end may take so long.
PATIENCE_SECONDS = 8.0


class Listener:
    """Leads, or waits to lead, until it is asked to end."""

    def __init__(self) -> None:
        # A plain value: a signal may set it whatever this thread is in the middle of.
        self.is_stopping = False
        self._over = threading.Event()
        self._wake = threading.Event()
        self._crew = Crew(THREADS)
        self._dispatcher = Dispatcher(self._crew)
        self._comparison = resync.Comparison()
        self._switch: Switch = current_switch()
        self._is_heard = False
        self._last_look = float("-inf")
        self._contact = Contact()
        # When the last contact was stored, and how often we have looked since the stream began.
        self._stored_at = float("-inf")
        self._looks = 0
        self._given: set[int] = set()

    def run(self) -> None:
        subscribe("calls", self._wake.set, self._over)
        while not self.is_stopping:
            with suppress(psycopg.Error), Leadership() as leadership:
                # A standby keeps its connection: it asks again and again, and leads as soon as the leader's is gone.
                while not self.is_stopping and not leadership.is_won():
                    time.sleep(TICK_SECONDS)
                if not self.is_stopping:
                    self._lead(leadership)
            time.sleep(TICK_SECONDS)
        self._over.set()
        self._crew.end(PATIENCE_SECONDS)

    def _lead(self, leadership: Leadership) -> None:
        """Until we are asked to end, or another one leads, or hears the switch in our place."""
        logger.info("leading")
        self._contact = Contact(leadership.last_contact())
        reader = threading.Thread(target=self._read, name="events", daemon=True)
        reader.start()
        was_heard = False
        try:
            while not self.is_stopping and reader.is_alive():
                self._wake.wait(TICK_SECONDS)
                self._wake.clear()
                if not leadership.is_kept():
                    logger.warning("the database is away, or has restarted")
                    leadership = self._regained(leadership)
                    was_heard = False
                    self._crew.is_in_trouble = True
                if was_heard != self._is_heard:
                    was_heard = self._is_heard
                    leadership.tell(is_heard=was_heard)
                    if was_heard:
                        # Kept until somebody hears what becomes of them; some were hung up meanwhile.
                        self._crew.attempt(self._give_commands)
                        self._crew.attempt(lambda: self._give_all(placing.queued(), placing.place))
                self._keep_contact(leadership)
                self._tick()
        except _Lost:
            logger.warning("another listener leads")
        finally:
            self._switch.close()
            reader.join(PATIENCE_SECONDS)
            leadership.__exit__()
        if not self.is_stopping:
            time.sleep(PAUSE_SECONDS)

    def _keep_contact(self, leadership: Leadership) -> None:
        clock = time.monotonic()
        heard_at = self._contact.to_store
        if self._is_heard and heard_at and clock - self._stored_at >= CONTACT_SECONDS:
            self._stored_at = clock
            leadership.keep_contact(heard_at)

    def _regained(self, leadership: Leadership) -> Leadership:
        """The stream goes on meanwhile, and what it tells waits for the database. Raises _Lost."""
        leadership.__exit__()
        while not self.is_stopping:
            with suppress(psycopg.Error):
                leadership = Leadership()
                if leadership.is_won():
                    return leadership
                leadership.__exit__()
                raise _Lost
            time.sleep(TICK_SECONDS)
        return leadership

    # What the switch tells

    def _read(self) -> None:
        try:
            for event in self._switch.events():
                self._receive(event)
        except Exception:
            logger.exception("the events of the switch cannot be read")
        self._is_heard = False
        self._wake.set()

    def _receive(self, event: Event) -> None:
        match event:
            case Online():
                logger.info("the switch is heard")
                self._contact.begin()
                self._looks = 0
                self._crew.is_in_trouble = self._is_heard = True
                self._last_look = float("-inf")
                self._wake.set()
            case Offline(reason):
                logger.warning("the switch is not heard", extra={"reason": reason})
                self._is_heard = False
                self._wake.set()
            case Replaced():
                logger.warning("another listener is connected to the PBX in place of this one")
            case Heard(at):
                self._contact.hear(at)
                return
            case _:
                self._dispatcher.receive(event)
        if not isinstance(event, Offline | Replaced):
            self._contact.hear(clocks.now())

    # What is due

    def _tick(self) -> None:
        now = clocks.now()
        due: list[Callable[[], Any]] = [
            lambda: Agent.objects.end_wrap_ups(now),
            lambda: self._give_all(placing.overdue(now), placing.place),
        ]
        if self._is_heard:
            due += [
                self._give_commands,
                lambda: self._give_all(distributing.overdue(now), partial(inbound.overflow, now=now)),
                lambda: distributing.distribute(now),
                self._look,
            ]
        for task in due:
            if not self._crew.attempt(task):
                return

    def _give_all(self, connection_ids: list[int], act: Callable[[int], None]) -> None:
        for pk in connection_ids:
            self._crew.give(pk, partial(act, pk))

    def _give_commands(self) -> None:
        outstanding = dict(commands.outstanding())
        self._given &= outstanding.keys()
        for pk, connection_id in outstanding.items():
            if pk not in self._given:
                self._given.add(pk)
                self._crew.give(connection_id, partial(commands.carry_out, pk, connection_id))

    def _look(self) -> None:
        """Compare rows and channels, where there is a reason to, or nobody has for a while."""
        now, clock = timezone.now(), time.monotonic()
        is_behind = self._crew.is_in_trouble or orders.untold.is_set()
        since = clock - self._last_look
        if since < DOUBT_SECONDS:
            return
        if since < CALM_SECONDS and not (is_behind or self._comparison.is_in_doubt or resync.is_overdue(now)):
            return
        self._last_look = clock
        self._crew.is_in_trouble = False
        orders.untold.clear()
        try:
            seen = self._comparison.look(self._switch, self._contact.silent_since)
        except SwitchError as error:
            logger.warning("the switch does not list its channels", extra={"error": str(error)})
            self._crew.is_in_trouble |= is_behind
            return
        # The switch has answered: a channel that it listed was there later than the last event.
        self._contact.hear(clocks.now())
        for caller in seen.callers:
            self._dispatcher.receive(caller)
        for finding in seen.findings:
            self._crew.give(finding.connection_id, finding.act)
        self._give_all(resync.legless(now), resync.end_legless)
        # What the first look misses is lost when the second one misses it too.
        self._looks += 1
        if self._looks > 1 or not self._comparison.is_in_doubt:
            self._contact.settle()
        if is_behind:
            self._give_all(resync.established(), resync.restore)


class _Lost(Exception):
    """Another listener leads."""
