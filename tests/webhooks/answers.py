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

STATUS_LINES = (
    b"",
    b"\r\n",
    b"\n" * 1000,
    b"\x00" * 1000,
    b"\xff\xfe\r\n\r\n",
    b"HTTP/1.1\r\n\r\n",
    b"HTTP/1.1 \r\n\r\n",
    b"HTTP/1.1 200\r\n\r\n",
    b"HTTP/1.1 -200 OK\r\n\r\n",
    b"HTTP/1.1 +200 OK\r\n\r\n",
    b"HTTP/1.1 2_00 OK\r\n\r\n",
    b"HTTP/1.1 0 OK\r\n\r\n",
    b"HTTP/1.1 99 OK\r\n\r\n",
    b"HTTP/1.1 999 OK\r\n\r\n",
    b"HTTP/1.1 1000 OK\r\n\r\n",
    b"HTTP/1.1 " + b"2" * 5000 + b" OK\r\n\r\n",
    b"HTTP/1.1 \xb2\xb2\xb2 OK\r\n\r\n",
    b"HTTP/1.1 200 \xff\x00\xfe\r\n\r\n",
    b"HTTP/1.1 200 " + b"x" * 70_000 + b"\r\n\r\n",
    b"HTTP/0.9 200 OK\r\n\r\nold",
    b"HTTP/9.9 200 OK\r\n\r\n",
    b"HTTP/ 200 OK\r\n\r\n",
    b"http/1.1 200 ok\r\n\r\n",
    b"ICY 200 OK\r\n\r\n",
    b"<html><body>200 OK</body></html>",
)
HEADERS = tuple(
    OK + headers + b"\r\n\r\nok"
    for headers in (
        b"no colon",
        b": no name",
        b"Name : blank",
        b" folded: at once",
        b"Folded: one\r\n two\r\n\tthree",
        b"Nul: \x00\x00",
        b"Invalid-UTF-8: \xc3\x28\xa0\xa1",
        b"Carriage: return\rInjected: yes",
        b"Line: feed\nInjected: yes",
        b"\r\nEmpty: line before",
        b"X" * 70_000 + b": y",
        b"X: " + b"y" * 70_000,
        b"\r\n".join(b"X%d: y" % n for n in range(200)),
        b"\r\n".join(b"X%d: " % n + b"y" * 60_000 for n in range(50)),
        b"Content-Length: -1",
        b"Content-Length: ten",
        b"Content-Length: +2",
        b"Content-Length: 0x2",
        b"Content-Length: 2, 3",
        b"Content-Length: 2\r\nContent-Length: 3",
        b"Content-Length: " + b"9" * 5000,
        b"Content-Length: 99999999999999999999",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: identity",
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding: chunked, chunked",
        b"Transfer-Encoding: \xff",
        b"Content-Encoding: gzip",
        b"Content-Encoding: " + b"gzip, " * 500 + b"gzip",
        b"Content-Type: multipart/mixed; boundary=x",
        b"Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64",
        b"Connection: upgrade\r\nUpgrade: websocket",
        b"Connection: \x00close",
    )
)
CHUNKS = tuple(
    CHUNKED + chunks
    for chunks in (
        b"-5\r\nhello\r\n0\r\n\r\n",
        b"-1\r\nhello\r\n0\r\n\r\n",
        b"-0\r\n\r\n",
        b"+5\r\nhello\r\n0\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"0_5\r\nhello\r\n0\r\n\r\n",
        b" 5 \r\nhello\r\n0\r\n\r\n",
        b"g\r\nhello\r\n",
        b"\r\nhello\r\n",
        b"5hello0",
        b"5\nhello\n0\n\n",
        b"5\r\nhelloXX0\r\n\r\n",
        b"5\r\nhel",
        b"5\r\nhello",
        b"5\r\nhello\r\n",
        b"f" * 30 + b"\r\nhello",
        b"\xff\xff\r\nhello",
        b"5;" + b"x" * 70_000 + b"\r\nhello\r\n0\r\n\r\n",
        b"5" + b" " * 70_000 + b"\r\nhello\r\n0\r\n\r\n",
        b"0\r\n" + b"Trailer: x\r\n" * 20_000 + b"\r\n",
        b"0\r\nTrailer: " + b"x" * 70_000 + b"\r\n\r\n",
        b"1;" * 100 + b"\r\nx\r\n",
        (b"1;" + b"x" * 60_000 + b"\r\ny\r\n") * 50,
    )
)
INTERIM = tuple(
    interim + OK + b"Content-Length: 2\r\n\r\nok"
    for interim in (
        b"HTTP/1.1 100 \r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 102 Processing\r\nContent-Length: 1000\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 199 Whatever\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 20_000,
        b"HTTP/1.1 102 Processing\r\nno colon\r\n\r\n",
        b"HTTP/1.1 103",
    )
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

CLASSES = {
    "status lines": STATUS_LINES,
    "headers": HEADERS,
    "chunks": CHUNKS,
    "interim": INTERIM,
    "bombs": BOMBS,
    "Retry-After": RETRY_AFTER,
    "cut short": CUT,
}


def mutated(count: int, seed: int) -> Iterator[bytes]:
    """Good answers with bytes changed, taken out, put in and repeated."""
    chance = random.Random(seed)
    pieces = (
        b"\r\n",
        b"\n",
        b"\r",
        b"\x00",
        b"\xff",
        b":",
        b";",
        b"-",
        b"0",
        b" ",
        b"chunked",
        b"HTTP/1.1 103\r\n\r\n",
    )
    for _ in range(count):
        answer = bytearray(chance.choice(GOOD))
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(answer) + 1)
            end = at + chance.choice((0, 0, 1, 1, 5, 20))
            answer[at:end] = chance.choice((b"", chance.choice(pieces), chance.randbytes(2), bytes(answer[at:end]) * 3))
        yield bytes(answer)
