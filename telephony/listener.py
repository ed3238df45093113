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
from telephony import call_clock
from telephony.calls import commands, distribution, inbound, placement, reconciliation, switch_events, switch_requests
from telephony.event_dispatcher import Dispatcher
from telephony.keyed_pool import KeyedPool
from telephony.last_contact import LastContact
from telephony.leader_election import Leadership
from telephony.switch import current_switch
from telephony.switch.base import Alive, Event, Offline, Online, Replaced, Switch, SwitchError
from telephony.verbs import presence

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
        self._pool = KeyedPool(THREADS)
        self._dispatcher = Dispatcher(self._pool)
        self._comparison = reconciliation.Comparison()
        self._switch: Switch = current_switch()
        self._is_connected = False
        self._last_look = float("-inf")
        self._contact = LastContact()
        # When the last contact was stored, and how often we have looked since the stream began.
        self._stored_at = float("-inf")
        self._looks = 0
        self._submitted: set[int] = set()

    def run(self) -> None:
        subscribe("calls", self._wake.set, self._over)
        while not self.is_stopping:
            with suppress(psycopg.Error), Leadership() as leadership:
                # A standby keeps its connection: it asks again and again, and leads as soon as the leader's is gone.
                while not self.is_stopping and not leadership.acquire():
                    time.sleep(TICK_SECONDS)
                if not self.is_stopping:
                    self._lead(leadership)
            time.sleep(TICK_SECONDS)
        self._over.set()
        self._pool.shut_down(PATIENCE_SECONDS)

    def _lead(self, leadership: Leadership) -> None:
        """Until we are asked to end, or another one leads, or hears the switch in our place."""
        logger.info("leading")
        self._contact = LastContact(leadership.last_contact())
        reader = threading.Thread(target=self._read, name="events", daemon=True)
        reader.start()
        was_heard = False
        try:
            while not self.is_stopping and reader.is_alive():
                self._wake.wait(TICK_SECONDS)
                self._wake.clear()
                if not leadership.is_held():
                    logger.warning("the database is away, or has restarted")
                    leadership = self._regained(leadership)
                    was_heard = False
                    self._pool.has_failed = True
                if was_heard != self._is_connected:
                    was_heard = self._is_connected
                    leadership.report(is_connected=was_heard)
                    if was_heard:
                        # Kept until somebody hears what becomes of them; some were hung up meanwhile.
                        self._pool.run(self._submit_commands)
                        self._pool.run(lambda: self._submit_all(placement.queued(), placement.place))
                self._store_contact(leadership)
                self._tick()
        except _Lost:
            logger.warning("another listener leads")
        finally:
            self._switch.close()
            reader.join(PATIENCE_SECONDS)
            leadership.__exit__()
        if not self.is_stopping:
            time.sleep(PAUSE_SECONDS)

    def _store_contact(self, leadership: Leadership) -> None:
        clock = time.monotonic()
        heard_at = self._contact.to_store
        if self._is_connected and heard_at and clock - self._stored_at >= CONTACT_SECONDS:
            self._stored_at = clock
            leadership.store_contact(heard_at)

    def _regained(self, leadership: Leadership) -> Leadership:
        """The stream goes on meanwhile, and what it tells waits for the database. Raises _Lost."""
        leadership.__exit__()
        while not self.is_stopping:
            with suppress(psycopg.Error):
                leadership = Leadership()
                if leadership.acquire():
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
        self._is_connected = False
        self._wake.set()

    def _receive(self, event: Event) -> None:
        match event:
            case Online():
                logger.info("the switch is heard")
                self._contact.begin()
                self._looks = 0
                self._pool.has_failed = self._is_connected = True
                self._last_look = float("-inf")
                self._wake.set()
            case Offline(reason):
                logger.warning("the switch is not heard", extra={"reason": reason})
                self._is_connected = False
                self._wake.set()
            case Replaced():
                logger.warning("another listener is connected to the PBX in place of this one")
            case Alive(at):
                self._contact.update(at)
                return
            case _:
                self._dispatcher.receive(event)
        if not isinstance(event, Offline | Replaced):
            self._contact.update(call_clock.now())

    # What is due

    def _tick(self) -> None:
        now = call_clock.now()
        due: list[Callable[[], Any]] = [
            lambda: presence.end_wrap_ups(now),
            lambda: self._submit_all(placement.overdue(now), placement.place),
            self._submit_refused,
        ]
        if self._is_connected:
            due += [
                self._submit_commands,
                lambda: self._submit_all(distribution.overdue(now), partial(inbound.overflow, now=now)),
                lambda: distribution.distribute(now),
                self._look,
            ]
        for task in due:
            if not self._pool.run(task):
                return

    def _submit_all(self, connection_ids: list[int], act: Callable[[int], None]) -> None:
        for pk in connection_ids:
            self._pool.submit(pk, partial(act, pk))

    def _submit_refused(self) -> None:
        for connection_id, channel_id in switch_events.refused_legs():
            self._pool.submit(connection_id, partial(switch_events.end_refused, channel_id))

    def _submit_commands(self) -> None:
        outstanding = dict(commands.outstanding())
        self._submitted &= outstanding.keys()
        for pk, connection_id in outstanding.items():
            if pk not in self._submitted:
                self._submitted.add(pk)
                self._pool.submit(connection_id, partial(commands.carry_out, pk, connection_id))

    def _look(self) -> None:
        """Compare rows and channels, where there is a reason to, or nobody has for a while."""
        now, clock = timezone.now(), time.monotonic()
        is_behind = self._pool.has_failed or switch_requests.unsent.is_set()
        since = clock - self._last_look
        if since < DOUBT_SECONDS:
            return
        if since < CALM_SECONDS and not (
            is_behind or self._comparison.is_inconclusive or reconciliation.is_overdue(now)
        ):
            return
        self._last_look = clock
        self._pool.has_failed = False
        switch_requests.unsent.clear()
        try:
            seen = self._comparison.compare(self._switch, self._contact.silent_since)
        except SwitchError as error:
            logger.warning("the switch does not list its channels", extra={"error": str(error)})
            self._pool.has_failed |= is_behind
            return
        # The switch has answered: a channel that it listed was there later than the last event.
        self._contact.update(call_clock.now())
        for caller in seen.callers:
            self._dispatcher.receive(caller)
        for finding in seen.findings:
            self._pool.submit(finding.connection_id, finding.act)
        self._submit_all(reconciliation.without_legs(now), reconciliation.end_without_legs)
        # What the first look misses is lost when the second one misses it too.
        self._looks += 1
        if self._looks > 1 or not self._comparison.is_inconclusive:
            self._contact.settle()
        if is_behind:
            self._submit_all(reconciliation.established(), reconciliation.restore)


class _Lost(Exception):
    """Another listener leads."""
