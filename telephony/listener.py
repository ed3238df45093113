"""The listener: the process that handles the events of the switch and does what is due.

One listener leads at a time, as long as it holds an advisory lock on a connection of its own; others stand by. A few
threads handle the events, those of one call always the same thread, in their order. The rows hold all state: when a
listener is killed, the next one compares legs with channels and goes on.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg
from django.utils import timezone

from callcentre.core.pubsub import subscribe
from telephony import call_clock
from telephony.calls import (
    browser_phones,
    caller_steps,
    commands,
    dialler_calls,
    distribution,
    failed_transfers,
    inbound,
    line_events,
    placement,
    reconciliation,
    switch_events,
    switch_requests,
)
from telephony.channels import line_of
from telephony.event_dispatcher import Dispatcher
from telephony.keyed_pool import KeyedPool
from telephony.leader_election import LastContact, Leadership
from telephony.switch import current_switch
from telephony.switch.base import Alive, Event, Offline, Online, Replaced, Switch, SwitchError
from telephony.verbs import presence

logger = logging.getLogger(__name__)

THREADS, CLOSING_THREADS = 6, 2
TICK_SECONDS = 0.5
# While answered calls of diallers wait for an agent, who must be found within two seconds.
WAITING_SECONDS = 0.1
# Between two comparisons with the switch's channels: usually, and after a failure or a difference.
CALM_SECONDS, DOUBT_SECONDS = 30.0, 2.0
# Between two updates of the stored last contact.
CONTACT_SECONDS = 1.0
# Wait of a listener that no longer leads.
PAUSE_SECONDS = 5.0
# Within this time the slowest desk is back after an outage.
RETURN_SECONDS = 75.0
# Time for work in progress when the listener stops.
PATIENCE_SECONDS = 8.0


class Listener:
    """Leads, or stands by, until `is_stopping` is set."""

    def __init__(self) -> None:
        # A plain attribute: a signal handler may set it at any moment.
        self.is_stopping = False
        self._over = threading.Event()
        self._tick_due = threading.Event()
        self._pool = KeyedPool(THREADS)
        self._closing = KeyedPool(CLOSING_THREADS)
        self._dispatcher = Dispatcher(self._pool)
        self._comparison = reconciliation.Comparison()
        self._switch: Switch = current_switch()
        self._is_connected = False
        self._last_comparison = float("-inf")
        self._contact = LastContact()
        # When the last contact was stored, and the number of comparisons since the stream began.
        self._stored_at = float("-inf")
        self._comparisons = 0
        self._submitted: set[int] = set()
        self._has_waiting = False
        # When the listener began to lead, or the database came back.
        self._began_at = time.monotonic()

    def run(self) -> None:
        subscribe("calls", self._tick_due.set, self._over)
        switch_requests.closing = self._closing
        while not self.is_stopping:
            with suppress(psycopg.Error), Leadership() as leadership:
                # A standby keeps its connection, retries, and leads as soon as the leader's connection is gone.
                while not self.is_stopping and not leadership.acquire():
                    time.sleep(TICK_SECONDS)
                if not self.is_stopping:
                    self._lead(leadership)
            time.sleep(TICK_SECONDS)
        self._over.set()
        self._pool.shut_down(PATIENCE_SECONDS)
        switch_requests.closing = None
        self._closing.shut_down(PATIENCE_SECONDS)

    def _lead(self, leadership: Leadership) -> None:
        """Handle events and do what is due, until the listener stops or another one replaces it."""
        logger.info("leading")
        self._contact = LastContact(leadership.last_contact())
        self._began_at = time.monotonic()
        reader = threading.Thread(target=self._read, name="events", daemon=True)
        reader.start()
        was_ready = False
        try:
            while not self.is_stopping and reader.is_alive():
                self._tick_due.wait(WAITING_SECONDS if self._has_waiting else TICK_SECONDS)
                self._tick_due.clear()
                if not leadership.is_held():
                    logger.warning("the database is down, or has restarted")
                    leadership = self._reacquire(leadership)
                    self._began_at = time.monotonic()
                    was_ready = False
                    self._pool.has_failed = True
                if was_ready != self._is_ready:
                    was_ready = not was_ready
                    leadership.report(is_connected=was_ready)
                    if was_ready:
                        # Calls have waited for the connection. Commands first: some of the calls are to be hung up.
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

    @property
    def _is_ready(self) -> bool:
        """Whether calls that ended during the last interruption have ended here too, so that calls can be moved."""
        return self._is_connected and self._contact.is_settled

    def _store_contact(self, leadership: Leadership) -> None:
        clock = time.monotonic()
        heard_at = self._contact.to_store
        if self._is_connected and heard_at and clock - self._stored_at >= CONTACT_SECONDS:
            self._stored_at = clock
            leadership.store_contact(heard_at)

    def _reacquire(self, leadership: Leadership) -> Leadership:
        """Acquire the lock again, over a new connection. Events wait for the database meanwhile. Raises _Lost."""
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

    def _read(self) -> None:
        try:
            for event in self._switch.events():
                self._receive(event)
        except Exception:
            logger.exception("the events of the switch cannot be read")
        self._is_connected = False
        self._tick_due.set()

    def _receive(self, event: Event) -> None:
        match event:
            case Online():
                logger.info("connected to the switch")
                self._contact.begin_stream()
                self._comparisons = 0
                self._pool.has_failed = self._is_connected = True
                self._last_comparison = float("-inf")
                self._tick_due.set()
            case Offline(reason):
                logger.warning("disconnected from the switch", extra={"reason": reason})
                self._is_connected = False
                self._tick_due.set()
            case Replaced():
                logger.warning("another listener is connected to the PBX in place of this one")
            case Alive(at):
                self._contact.update(at)
                return
            case _:
                self._dispatcher.receive(event)
        if not isinstance(event, Offline | Replaced):
            self._contact.update(call_clock.now())

    def _tick(self) -> None:
        now = call_clock.now()
        due: list[Callable[[], Any]] = [
            lambda: presence.end_wrap_ups(now),
            self._end_silence,
            lambda: self._submit_all(placement.overdue(now), placement.place),
            self._submit_refused,
            lambda: browser_phones.close_unused(now),
        ]
        if self._is_ready:
            due += [
                self._match,
                self._submit_commands,
                self._submit_lines,
                lambda: self._submit_all(caller_steps.due(now), partial(caller_steps.go_on, now=now)),
                lambda: self._submit_all(dialler_calls.overdue(now), partial(dialler_calls.go_on, now=now)),
                lambda: self._submit_all(failed_transfers.awaiting_phones(), partial(failed_transfers.go_on, now=now)),
                lambda: self._submit_all(distribution.overdue(now), partial(inbound.overflow, now=now)),
                lambda: distribution.distribute(now),
            ]
        if self._is_connected:
            due.append(self._compare)
        for task in due:
            if not self._pool.run(task):
                return

    def _end_silence(self) -> None:
        """After an outage the desks have been silent for want of the service: they get time to come back."""
        if time.monotonic() - self._began_at >= RETURN_SECONDS:
            presence.end_silence(timezone.now())

    def _match(self) -> None:
        self._has_waiting = dialler_calls.match_waiting()

    def _submit_lines(self) -> None:
        for channel_id, what in line_events.due(call_clock.now()):
            act = partial(line_events.do_due, channel_id, what, call_clock.now())
            self._pool.submit(line_of(channel_id) or 0, act)

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

    def _compare(self) -> None:
        """Compare legs and channels, if there is a reason, or the last comparison is long ago."""
        now, clock = timezone.now(), time.monotonic()
        is_behind = self._pool.has_failed or switch_requests.unsent.is_set()
        since = clock - self._last_comparison
        if since < DOUBT_SECONDS:
            return
        if since < CALM_SECONDS and not (
            is_behind or self._comparison.is_inconclusive or reconciliation.is_overdue(now)
        ):
            return
        self._last_comparison = clock
        self._pool.has_failed = False
        switch_requests.unsent.clear()
        if not self._comparisons:
            at_start = (reconciliation.end_offline_lines, browser_phones.restore)
            if not all(self._pool.run(partial(act, self._switch)) for act in at_start):
                return
        try:
            differences = self._comparison.compare(self._switch, self._contact.silent_since)
        except SwitchError as error:
            logger.warning("the switch does not list its channels", extra={"error": str(error)})
            self._pool.has_failed |= is_behind
            return
        # The listed channels existed later than the last event. Since then the switch may be gone.
        self._contact.update(differences.listed_at)
        for caller in differences.callers:
            self._dispatcher.receive(caller)
        for repair in differences.repairs:
            self._pool.submit(repair.connection_id, repair.act)
        self._submit_all(reconciliation.without_legs(now), reconciliation.end_without_legs)
        # A leg that is missing in two comparisons is lost.
        self._comparisons += 1
        is_conclusive = self._comparisons > 1 or not self._comparison.is_inconclusive
        if is_conclusive and not self._contact.is_settled:
            self._settle_after(differences.repairs)
        if is_behind:
            self._submit_all(reconciliation.established(), reconciliation.restore)
            self._pool.run(reconciliation.restore_silence)

    def _settle_after(self, repairs: Sequence[reconciliation.Repair]) -> None:
        """Settle the interruption once these repairs, which are submitted, are made."""
        keys = {repair.connection_id for repair in repairs} or {0}
        left = {*keys}

        def done(key: int) -> None:
            left.discard(key)
            if not left:
                self._contact.settle()
                self._tick_due.set()

        for key in keys:
            self._pool.submit(key, partial(done, key))


class _Lost(Exception):
    """Another listener leads."""
