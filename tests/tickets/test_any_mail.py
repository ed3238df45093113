"""Arbitrary mails: the intake raises nothing, loses none, and stores or quarantines each."""

import random
import sysconfig
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.tickets.factories import TicketQueueFactory
from tests.tickets.mails import a_mail
from tickets.mail.intake import take_in
from tickets.mail.parsing import Unreadable, parse
from tickets.models import Message, ReceivedMail

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]

# The mails of CPython's own tests, if the interpreter has them.
FOLDER = Path(sysconfig.get_path("stdlib"), "test", "test_email", "data")
MAILS = sorted(FOLDER.glob("msg_*.txt")) if FOLDER.is_dir() else []


def check(received: ReceivedMail, raw: bytes) -> None:
    """The mail has a valid outcome, and its raw mail is saved."""
    received.refresh_from_db()
    with received.open_raw() as kept:
        assert kept.read() == raw
    assert received.outcome in ("stored", "quarantined", "ignored")
    # A mail that came before by another way names its message.
    assert (received.message is None) == (received.outcome == "quarantined")
    assert bool(received.reason) == (received.outcome != "stored")
    assert "not understood" not in received.reason


@pytest.mark.skipif(not MAILS, reason="this interpreter comes without the mails of CPython's test.test_email")
def test_every_mail_of_cpythons_own_tests_becomes_a_message_or_is_quarantined() -> None:
    TicketQueueFactory()

    for path in MAILS:
        raw = path.read_bytes()
        check(take_in(BytesIO(raw)), raw)

    assert len(MAILS) > 40
    assert Message.objects.count() > 33


def sample() -> bytes:
    """A mail with most features of mails."""
    return (
        b"Return-Path: <jan@c.example>\nReceived: from a by b; Mon, 2 Nov 2026 10:11:12 +0100\n"
        b"From: =?utf-8?Q?Jan_=C5=BB=C3=B3=C5=82w?= <jan@c.example>\nTo: Us: help@us.example, x@us.example;\n"
        b"Subject: =?iso-8859-2?B?r/Oztw==?= [#12]\nMessage-ID: <1@c.example>\n"
        b"References: <0@us.example> <2@us.example>\n"
        b"In-Reply-To: <0@us.example>\nDate: Mon, 2 Nov 2026 10:11:12 +0100\nMIME-Version: 1.0\n"
        b'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: multipart/alternative; boundary=c\n\n'
        b"--c\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nza=C5=BC\n> x\n"
        b"--c\nContent-Type: text/html; charset=iso-8859-2\nContent-Transfer-Encoding: base64\n\n"
        b"PGh0bWw+PGI+emG/PC9iPjxpbWcgc3JjPSJjaWQ6bG9nbyI+PC9odG1sPg==\n--c--\n"
        b"--b\nContent-Type: image/png; name*0*=utf-8''za%C5; name*1*=%BC.png\nContent-ID: <logo>\n"
        b"Content-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--b\n"
        b"Content-Type: message/rfc822\n\nSubject: inner\n\ninner\n"
        b"--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\nAction: failed\nStatus: 5.1.1\n--b--\n"
    )


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """The mail with pieces of it removed, doubled, moved, or changed."""
    raw = bytearray(sample())
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, len(raw)))
        end = min(len(raw), start + draw(st.integers(0, 80)))
        match draw(st.integers(0, 3)):
            case 0:
                del raw[start:end]
            case 1:
                raw[start:start] = raw[start:end] * draw(st.integers(1, 20))
            case 2:
                raw[start:end] = draw(st.binary(max_size=20))
            case _:
                raw[start:start] = draw(
                    st.sampled_from(
                        [b"\n", b"\r", b"\0", b"=?", b"?=", b"--b", b"--c--\n", b";", b'"', b"<", b"\xff\xfe", b"*0*="]
                    )
                )
    return bytes(raw)


@pytest.mark.slow("runs many examples")
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.one_of(mutated(), st.binary(max_size=300)))
@example(b"")
@example(b":")
@example(b"From: a@b.example\nContent-Type: multipart/mixed\n\n--\n")
@example(b"From: a@b.example\nContent-Type: text/plain; charset*=utf-8'x\n\nx")
@example(b"From: a@b.example\nContent-Type: message/rfc822\n\n")
@example(b"From: a@b.example\nContent-Disposition: attachment; filename*0*=x'y'%zz\n\nx")
@example(b"From: a@b.example\nContent-Transfer-Encoding: uuencode\n\nbegin 666 x\n\xff")
@example(b"\xff: \xff\n\n\xff")
def test_any_bytes_are_saved_with_an_outcome(raw: bytes) -> None:
    if not Message.objects.exists():
        TicketQueueFactory()
    ReceivedMail.objects.all().delete()

    check(take_in(BytesIO(raw)), raw)


@pytest.mark.slow("runs many examples")
@settings(max_examples=600)
@given(st.one_of(mutated(), st.binary(max_size=2000), st.text(max_size=500).map(str.encode)))
def test_parsing_any_bytes_raises_only_unreadable(raw: bytes) -> None:
    try:
        mail = parse(raw)
    except Unreadable:
        return
    # PostgreSQL can store all of it.
    for text in (
        mail.body[0],
        mail.subject,
        mail.sender,
        mail.sender_name,
        *(each.filename for each in mail.attachments),
    ):
        assert "\0" not in text
        text.encode()


@pytest.mark.slow("runs many examples")
def test_a_hundred_mutations_beside_good_mail_lose_none_of_it() -> None:
    TicketQueueFactory()
    randomness = random.Random(5)

    for number in range(50):
        raw = bytearray(sample())
        for _ in range(40):
            raw[randomness.randrange(len(raw))] = randomness.randrange(256)
        check(take_in(BytesIO(bytes(raw))), bytes(raw))
        good = a_mail(f"Help {number}", From=f"c{number}@client.example")
        assert take_in(BytesIO(good)).outcome == "stored"
