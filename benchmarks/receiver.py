"""A receiver in a process of its own that answers at once: `python -m benchmarks.receiver PORT [HANG]`.

GET /times answers the arrival times (time.time()) of all POSTs since the last such request, as JSON. With HANG it
accepts requests and never answers.
"""

import asyncio
import json
import sys
import time

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
arrivals: list[float] = []


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hangs: bool) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            if head.startswith(b"GET"):
                body = json.dumps(arrivals).encode()
                arrivals.clear()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                continue
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            arrivals.append(time.time())
            if hangs:
                await asyncio.sleep(3600)
            writer.write(OK)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main(port: int, hangs: bool) -> None:
    server = await asyncio.start_server(lambda r, w: serve(r, w, hangs), "127.0.0.1", port, limit=2**20)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), len(sys.argv) > 2))
