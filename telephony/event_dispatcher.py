"""Dispatch of the switch's events to threads: the events of one call to the same thread, in their order.

The id of a channel that we requested contains its connection. A caller's does not: its connection is looked up, or gets
its id before its row, so that later events go to the same thread as the arrival.

The name of a recording contains its connection too. Its end goes the way of the caller's events, and stays behind them.
"""

from functools import partial

from prometheus_client import Counter

from telephony.calls import inbound, switch_events
from telephony.channels import connection_of, connection_of_recording, line_of
from telephony.keyed_pool import KeyedPool
from telephony.models import Connection, Leg
from telephony.switch.base import Arrived, Detected, Ended, Missed, Played, RecordingFinished, Ringing, Up

handled = Counter("callcentre_switch_events", "Events of the switch that were handled", ["event"])

# The events of channels and recordings.
CallEvent = Ringing | Up | Ended | Arrived | Detected | Played | RecordingFinished
# Answers come before the ends of other calls, so that no person waits for an agent because of these.
URGENT = (Ringing, Up, Detected)


class Dispatcher:
    """Submits each event to its thread of the pool."""

    def __init__(self, pool: KeyedPool) -> None:
        self._pool = pool
        # Callers whose rows are not stored yet: channel -> id of the connection.
        self._arriving: dict[str, int] = {}

    def receive(self, event: CallEvent | Missed) -> None:
        """Submit an event to the thread of its call. For a caller's event, another thread first finds the call."""
        if isinstance(event, RecordingFinished):
            if (connection_id := connection_of_recording(event.name)) is None:
                self._pool.submit(hash(event.name), partial(_handle, event))
            else:
                self._pool.submit(connection_id, partial(self._receive_of_recording, event, connection_id))
        elif not isinstance(event, Missed) and (connection_id := connection_of(event.channel_id)) is not None:
            self._pool.submit(connection_id, partial(_handle, event), is_urgent=isinstance(event, URGENT))
        elif not isinstance(event, Missed) and (line_id := line_of(event.channel_id)) is not None:
            self._pool.submit(line_id, partial(_handle, event))
        elif not isinstance(event, Detected | Played):
            self._pool.submit(hash(event.channel_id), partial(self._receive_of_caller, event))

    def _receive_of_recording(self, event: RecordingFinished, connection_id: int) -> None:
        """Submit the end of a recording, by way of the thread that finds the connection of the caller's events."""
        handle = partial(_handle, event)
        channels = Leg.objects.filter(connection_id=connection_id).values_list("channel_id", flat=True)
        if (caller := next((channel for channel in channels if connection_of(channel) is None), None)) is None:
            handle()
        else:
            self._pool.submit(hash(caller), partial(self._pool.submit, connection_id, handle))

    def _receive_of_caller(self, event: Ringing | Up | Ended | Arrived | Missed) -> None:
        channel_id = event.channel_id
        known = Leg.objects.filter(channel_id=channel_id).values_list("connection_id", flat=True)
        connection_id = self._arriving.get(channel_id) or known.first()
        if isinstance(event, Arrived | Missed):
            if connection_id is None:
                connection_id = self._arriving[channel_id] = Connection.next_id()
            self._pool.submit(connection_id, partial(self._begin, event, connection_id))
        elif connection_id is not None:
            self._pool.submit(connection_id, partial(_handle, event))

    def _begin(self, event: Arrived | Missed, connection_id: int) -> None:
        if isinstance(event, Missed):
            inbound.missed(event, connection_id)
        else:
            inbound.arrived(event, connection_id)
        # From now on the row can be looked up.
        self._arriving.pop(event.channel_id, None)
        handled.labels(type(event).__name__).inc()


def _handle(event: CallEvent) -> None:
    switch_events.handle(event)
    handled.labels(type(event).__name__).inc()
