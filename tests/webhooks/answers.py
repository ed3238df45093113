"""Answers of receivers that follow no rule, by what is wrong with them."""

import gzip
import random
import zlib
from collections.abc import Iterator

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
GOOD = (
    OK + b"Content-Length: 2\r\nRetry-After: 5\r\n\r\nok",
    CHUNKED + b"5;name=value\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK + b"Connection: close\r\n\r\nuntil the end",
    b"HTTP/1.1 503 Busy\r\nRetry-After: Thu, 01 Jan 2015 00:00:00 GMT\r\nContent-Length: 4\r\n\r\nbusy",
)

_ZEROS = bytes(10_000_000)
BOMBS = tuple(
    OK + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (name, len(body)) + body
    for name, body in (
        (b"gzip", gzip.compress(_ZEROS, mtime=0)),
        (b"deflate", zlib.compress(_ZEROS)),
        (b"br", b"\xff" * 1000),
        (b"zstd", b"\x28\xb5\x2f\xfd" + b"\xff" * 1000),
        (b"gzip, gzip", gzip.compress(gzip.compress(_ZEROS, mtime=0), mtime=0)),
    )
)
RETRY_AFTER = tuple(
    b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: " + value + b"\r\n\r\n"
    for value in (
        b"",
        b"\x00",
        b"-5",
        b"inf",
        b"nan",
        b"1e309",
        b"\xb2",
        b"9" * 5000,
        b"Fri, 31 Dec 0000 23:59:59 GMT",
        b"Fri, 31 Dec 9999 23:59:59 -9999",
        b"Fri, 31 Dec 99999999999 23:59:59 GMT",
        b"1 Jan",
        b"Jan 1 00:00 2000",
        b",",
        b"( comment",
        b"Fri, 31 Dec 2015 23:59:60 GMT",
        b"5\r\nRetry-After: 6",
    )
)
CUT = tuple(answer[:length] for answer in GOOD for length in range(len(answer)))


def mutated(count: int, seed: int) -> Iterator[bytes]:
    """Good answers with bytes changed, taken out, put in and repeated."""
    chance = random.Random(seed)
    pieces = b"\r\n|\n|\r|\0|\xff|:|;|-|0| |chunked|HTTP/1.1 103\r\n\r\n".split(b"|")
    for _ in range(count):
        answer = bytearray(chance.choice(GOOD))
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(answer) + 1)
            end = at + chance.choice((0, 0, 1, 1, 5, 20))
            answer[at:end] = chance.choice((b"", chance.choice(pieces), chance.randbytes(2), bytes(answer[at:end]) * 3))
        yield bytes(answer)
