"""Each parser, given anything: it returns a value or raises the error that it documents, and nothing else."""

import io
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callcentre.core import counted, network, parsing, search
from callcentre.core.errors import Invalid
from callcentre.core.parsing import Reject
from campaigns.importing.formats import guess_format
from campaigns.importing.rows import Rows
from knowledgebase import exchange
from telephony.calls.browser_phones import read_reports
from telephony.models import TopicField
from telephony.numbers import read_number
from telephony.switch.ari_events import Interpreter
from telephony.transcription.provider import ProviderError, _object, _segment
from tests.tiers import examples
from tickets import addresses
from tickets.mail import charsets, server_verdicts, tnef
from tickets.mail.quotations import split_quotation
from tickets.models import CustomField
from tickets.models.custom_field import WrongValue, parse
from tickets.timeline.page import Place
from webhooks.transport.sender import _retry_after
from webhooks.transport.targets import TargetError, parse_server, parse_target

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


def like(*parts: str) -> st.SearchStrategy[str]:
    """Return texts of these parts in any order, with anything between them."""
    return st.lists(st.sampled_from(parts) | st.text(max_size=5), max_size=12).map("".join)


def bytes_like(*parts: bytes) -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(parts) | st.binary(max_size=6), max_size=20).map(b"".join)


def message(kind: str, content: Any) -> bytes:
    """Return a message of Asterisk with its type first, as Asterisk writes it."""
    return json.dumps({"type": kind, **content}).encode()


CHANNEL = st.fixed_dictionaries(
    {},
    optional={
        "id": JSON,
        "state": st.sampled_from(["Up", "Ringing", "Down"]) | JSON,
        "caller": st.fixed_dictionaries({}, optional={"number": JSON}) | JSON,
        "dialplan": st.fixed_dictionaries({}, optional={"exten": JSON, "app_data": JSON, "app_name": JSON}) | JSON,
    },
)
MESSAGES = st.builds(
    message,
    st.sampled_from(
        [
            "StasisStart",
            "StasisEnd",
            "ChannelStateChange",
            "ChannelDestroyed",
            "ChannelDtmfReceived",
            "RecordingFinished",
            "ChannelHangupRequest",
            "PlaybackFinished",
            "ChannelTalkingStarted",
            "Dial",
            "ChannelHold",
        ]
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "channel": CHANNEL,
            "args": st.lists(st.text()),
            "timestamp": st.text(),
            "digit": JSON,
            "cause": JSON,
            "recording": JSON,
            "playback": JSON,
            "dialstatus": JSON,
            "peer": CHANNEL,
            "tech_cause": JSON,
        },
    ),
)


def rows(raw: bytes) -> list[Any]:
    with Rows(io.BytesIO(raw), guess_format(io.BytesIO(raw))) as found:
        return list(found)


def fields(kind: Any) -> list[Any]:
    return [kind(type=value, name="f") for value in kind.Type.values]


NUMBERS = like("+", "48", "22 555 00 01", "(0)", "-", "tel:", ";ext=", "00", "١٢٣")
DATES = like("2026", "-02-30", "-03-29", " ", "T", "02:30", ":00", "Z", "٣")
URLS = like("https://", "http:", "[", "]", "::1", "127.0.0.1", "%", "@", ":", "99999", "/", "?", "#", "\\", "é.example")
MAIL = like(
    "\n",
    "> ",
    "On Mon, 1 Jan 2026 at 10:00 Us wrote:\n",
    "-----Original Message-----\n",
    "From: a@b\n",
    "Od: ",
    "<div",
    " class='gmail_quote'",
    ">",
    "<blockquote>",
    "</blockquote>",
    "--\n",
    "<br>",
    "&#",
    "<p style='",
)

# Name: what is given, the parser, and the errors that it documents.
PARSERS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Any], tuple[type[Exception], ...]]] = {
    "date": (DATES | JSON, parsing.parse_date, (Reject,)),
    "instant": (DATES | JSON, parsing.parse_instant, (Reject,)),
    "integer": (JSON, parsing.parse_integer, (Reject,)),
    "boolean": (JSON, parsing.parse_boolean, (Reject,)),
    "text": (JSON, parsing.parse_text, (Reject,)),
    "id": (st.text() | st.integers().map(str), parsing.parse_id, (Reject,)),
    "search": (like("+48", "22", "@", " ", '"', "%", "_", "\\", "ß", "'"), search.SearchText.read, ()),
    "address of the network": (like("127", ".", ":", "::ffff:", "1", "%"), network.parse_address, ()),
    "spans": (like("calls", ":", "@", "-", ",", "9999999999", "0"), counted.read, ()),
    "number": (NUMBERS, lambda text: read_number(text, []), ()),
    "file of records": (
        bytes_like(
            b"+48225550107", b";", b",", b"\t", b'"', b"\r\n", b"\n", b"\xff\xfe", b"\0", b"sep=;", b"\xef\xbb\xbf"
        ),
        rows,
        (Invalid,),
    ),
    "values of topics": (
        st.tuples(st.sampled_from(fields(TopicField)), DATES | JSON),
        lambda given: given[0].read(given[1]),
        (Reject,),
    ),
    "custom fields": (
        st.tuples(st.sampled_from(fields(CustomField)), DATES | SCALARS | st.lists(st.text())),
        lambda given: parse(*given),
        (WrongValue,),
    ),
    "sender": (
        like("Jan", "<", ">", "@", "client.example", '"', ",", "(", ")", "=?utf-8?q?"),
        addresses.read_sender,
        (),
    ),
    "character set": (
        st.tuples(st.binary(), like("utf-8", "iso-2022-jp", "cp1250", "-", "8859", "utf-7", "'", "hex", "idna")),
        lambda given: charsets.decoded(*given),
        (),
    ),
    "quotation": (
        st.tuples(MAIL, st.sampled_from(["TEXT", "HTML"]), like("Fwd:", "Re:")),
        lambda given: split_quotation(*given),
        (),
    ),
    "winmail.dat": (
        bytes_like(b"\x78\x9f\x3e\x22", b"\0\0", b"\x02\x90\x06\0", b"\x02\x10\x01\x80", b"\xff" * 4),
        tnef.files,
        (),
    ),
    "verdicts": (
        like("mx.example;", "spf=", "fail", "dkim=pass", "(", ")", '"', ";", "\n "),
        lambda text: server_verdicts.verdicts_of({"authentication-results": [text]}),
        (),
    ),
    "head of an article": (
        like("---\n", "title: ", "<!--", "-->", "&a ", "*a", "!!python/object:os.system", "{", "[", ": ", "\n", "? "),
        exchange.split,
        (),
    ),
    "place in a story": (like("1", ".", "mail", "chat", "-", "99999999999999999", "0a1b2c3d"), Place.parse, ()),
    "reports of a phone": (JSON.map(json.dumps) | st.text(), read_reports, (ValueError,)),
    "messages of Asterisk": (MESSAGES | st.binary(), lambda raw: Interpreter().event(raw), ()),
    "segments": (JSON, lambda value: _segment(value, 5.0), (ProviderError,)),
    "answer of a provider": (st.binary(), lambda raw: _object(raw, "it"), (ProviderError,)),
    "Retry-After": (
        bytes_like(b"9", b"-1", b"Fri, 28 Nov 2026", b" 10:00:00", b" GMT", b" +9999", b"\xff"),
        lambda raw: _retry_after([b"Retry-After: " + raw]),
        (),
    ),
    "URL": (URLS, parse_target, (TargetError,)),
    "server": (st.tuples(URLS, st.integers(-1, 70_000)), lambda given: parse_server(*given), (TargetError,)),
}


@pytest.mark.slow("runs many examples")
@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_returns_a_value_or_raises_its_error(name: str) -> None:
    inputs, parser, errors = PARSERS[name]

    @settings(max_examples=examples(400), deadline=None)
    @given(inputs)
    def read(value: Any) -> None:
        with suppress(*errors):
            parser(value)

    read()
