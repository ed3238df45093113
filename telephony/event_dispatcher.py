"""Dispatch of the switch's events to threads: the events of one call are handled in the order in which they came.

The key of an event is its call: then one thread handles them. The id of a channel that we requested contains its
connection, and so does the name of a recording. A caller's and a standing line's do not: another thread looks up the
call, or gives a caller's an id before its row. Meanwhile a later event of the call may come to its thread. This thread
handles the earlier events of the call's other channels first, as handling an event twice changes nothing.
"""

import itertools
from functools import partial

from prometheus_client import Counter

from telephony.calls import inbound, switch_events
from telephony.channels import connection_of, connection_of_recording, line_of, supervised_by
from telephony.keyed_pool import KeyedPool
from telephony.models import AgentLine, Connection, Leg
from telephony.switch import base

handled = Counter("callcentre_switch_events", "Events of the switch that were handled", ["event"])

# Answers come before the ends of other calls, so that no person waits for an agent because of these.
URGENT = (base.Ringing, base.Up, base.Detected)


class Dispatcher:
    """Submits each event to its thread of the pool."""

    def __init__(self, pool: KeyedPool) -> None:
        self._pool = pool
        # Callers whose rows are not stored yet: channel -> id of the connection.
        self._arriving: dict[str, int] = {}
        self._numbers = itertools.count()
        # The events of callers and standing lines that are not handled yet, by their number.
        self._unhandled: dict[int, base.ChannelEvent] = {}

    def receive(self, event: base.Event | base.Missed) -> None:
        """Submit an event to the thread of its call. Another thread first finds the call of a caller or a line."""
        number = next(self._numbers)
        if isinstance(event, base.RecordingFinished):
            if (connection_id := connection_of_recording(event.name)) is None:
                self._pool.submit(hash(event.name), partial(_handle, event))
            else:
                self._pool.submit(connection_id, partial(self._handle_in_order, number, event, connection_id))
        elif isinstance(event, base.PhoneEvent):
            self._pool.submit(hash(event.number), partial(_handle, event))
        elif isinstance(event, base.Arrived | base.Missed):
            self._pool.submit(hash(event.channel_id), partial(self._receive_caller, event))
        elif not isinstance(event, base.ChannelEvent):
            raise TypeError(event)
        elif connection_id := connection_of(event.channel_id) or supervised_by(event.channel_id):
            handle = partial(self._handle_in_order, number, event, connection_id)
            self._pool.submit(connection_id, handle, is_urgent=isinstance(event, URGENT))
        elif (line_id := line_of(event.channel_id)) is not None:
            self._unhandled[number] = event
            self._pool.submit(line_id, partial(self._receive_of_line, number, event, line_id))
        elif not isinstance(event, base.Detected):
            self._unhandled[number] = event
            self._pool.submit(hash(event.channel_id), partial(self._receive_of_caller, number, event))

    def _receive_of_line(self, number: int, event: base.ChannelEvent, key: int) -> None:
        """Handle the event in the thread of the call that the line is in, which may change meanwhile."""
        lines = AgentLine.objects.filter(channel_id=event.channel_id)
        connection_id = lines.values_list("connection_id", flat=True).first()
        if connection_id in (None, key):
            self._handle_unhandled(number, event, connection_id)
        else:
            self._pool.submit(connection_id, partial(self._receive_of_line, number, event, connection_id))

    def _receive_caller(self, event: base.Arrived | base.Missed) -> None:
        if (connection_id := self._connection_of_caller(event.channel_id)) is None:
            connection_id = self._arriving[event.channel_id] = Connection.next_id()
        self._pool.submit(connection_id, partial(self._begin, event, connection_id))

    def _receive_of_caller(self, number: int, event: base.ChannelEvent) -> None:
        if (connection_id := self._connection_of_caller(event.channel_id)) is None:
            del self._unhandled[number]
        else:
            self._pool.submit(connection_id, partial(self._handle_unhandled, number, event, connection_id))

    def _connection_of_caller(self, channel_id: str) -> int | None:
        known = Leg.objects.filter(channel_id=channel_id).values_list("connection_id", flat=True)
        return self._arriving.get(channel_id) or known.first()

    def _begin(self, event: base.Arrived | base.Missed, connection_id: int) -> None:
        if isinstance(event, base.Missed):
            inbound.missed(event, connection_id)
        else:
            inbound.arrived(event, connection_id)
        # From now on the row can be looked up.
        self._arriving.pop(event.channel_id, None)
        handled.labels(type(event).__name__).inc()

    def _handle_unhandled(self, number: int, event: base.ChannelEvent, connection_id: int | None) -> None:
        if number not in self._unhandled:
            # A later event of the call has come first, and this one before it.
            return
        self._handle_in_order(number, event, connection_id)
        self._unhandled.pop(number, None)

    def _handle_in_order(self, number: int, event: base.Event, connection_id: int | None) -> None:
        for key, earlier in self._earlier(number, event, connection_id).items():
            # A failure must not take the next events of the call with it. The pool retries after one of the database.
            self._pool.attempt(partial(_handle, earlier))
            self._unhandled.pop(key, None)
        self._pool.attempt(partial(_handle, event))

    def _earlier(self, number: int, event: base.Event, connection_id: int | None) -> dict[int, base.ChannelEvent]:
        """Return the unhandled events of this channel and of the call's caller and line that came before this one."""
        found = {key: one for key, one in self._unhandled.copy().items() if key < number}
        if not found:
            return {}
        channels = {getattr(event, "channel_id", None)}
        if connection_id is not None:
            of_call = {"connection_id": connection_id, "channel_id__in": {one.channel_id for one in found.values()}}
            legs, lines = (model.objects.filter(**of_call).order_by() for model in (Leg, AgentLine))
            channels.update(legs.values_list("channel_id", flat=True).union(lines.values_list("channel_id", flat=True)))
        return {key: one for key, one in found.items() if one.channel_id in channels}


def _handle(event: base.Event) -> None:
    switch_events.handle(event)
    handled.labels(type(event).__name__).inc()
