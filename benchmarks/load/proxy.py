"""TCP links in a process of their own that can be cut, stopped, delayed and led elsewhere.

`python -m benchmarks.load.proxy` reads a line of JSON for each command: `{"link": "database", "port": 5000, "target":
5432}` opens a link, later ones change it: `target` for new connections, `delay` in seconds for what clients send,
`mode`: "through"; "still", nothing passes, like a network that is gone; or "cut", connections break and new ones are
refused.
"""

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any


class Link:
    def __init__(self) -> None:
        self.target, self.delay, self.mode = 0, 0.0, "through"
        self._open: set[asyncio.StreamWriter] = set()

    async def change(self, port: int | None = None, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        if port:
            await asyncio.start_server(self._take, "127.0.0.1", port)
        if self.mode == "cut":
            for writer in self._open:
                writer.transport.abort()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.mode == "cut":
            writer.transport.abort()
            return
        try:
            there, to_there = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, to_there}
        self._open |= ends
        await asyncio.gather(self._pass(reader, to_there, is_asked=True), self._pass(there, writer))
        self._open -= ends

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_asked: bool = False) -> None:
        with suppress(OSError):
            while data := await source.read(65_536):
                if is_asked and self.delay:
                    await asyncio.sleep(self.delay)
                while self.mode == "still":
                    await asyncio.sleep(0.1)
                sink.write(data)
                await sink.drain()
        sink.close()


async def main() -> None:
    links: dict[str, Link] = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        command = json.loads(line)
        await links.setdefault(command.pop("link"), Link()).change(**command)
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
