"""A receiver in a process of its own that answers at once: `python -m benchmarks.receiver PORT [SECONDS]`.

It reads no more of a request than its length, so that it answers faster than any of our clients sends. GET /times
answers the arrival times (time.time()) of all POSTs since the last such request, as JSON. With SECONDS it answers so
much later; with `inf` it accepts requests and never answers.
"""

import asyncio
import json
import math
import re
import sys
import time
from functools import partial

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
EVENT = re.compile(rb"\r\nwebhook-id: *(\S+)", re.IGNORECASE)
arrivals: list[float] = []


class Receiver(asyncio.Protocol):
    """One connection, which may send many requests. `events` gets the ids of their events."""

    def __init__(self, delay: float = 0.0, events: set[str] | None = None) -> None:
        self._received = b""
        self._delay = delay
        self._events = events

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n") + 4) > 3:
            if self._received.startswith(b"GET"):
                body = json.dumps(arrivals).encode()
                arrivals.clear()
                self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            else:
                length = LENGTH.search(self._received, 0, end)
                end += int(length[1]) if length else 0
                if len(self._received) < end:
                    return
                arrivals.append(time.time())
                if self._events is not None and (event := EVENT.search(self._received, 0, end)):
                    self._events.add(event[1].decode())
                if not self._delay:
                    self._transport.write(OK)
                elif self._delay < math.inf:
                    asyncio.get_running_loop().call_later(self._delay, self._transport.write, OK)
            self._received = self._received[end:]


async def main(port: int, delay: float = 0.0) -> None:
    server = await asyncio.get_running_loop().create_server(partial(Receiver, delay), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), *map(float, sys.argv[2:])))
