"""Headers, names of files and beginnings of mails as foreign programs write them."""

import pytest

from tests.tickets.factories import TicketQueueFactory
from tests.tickets.mails import a_mail, answered, taken
from tickets import html
from tickets.file_storage import extension_of, type_of
from tickets.mail.parsing import Mail, parse
from tickets.models import ReceivedMail, StoredFile

pytestmark = pytest.mark.django_db

HEADERS = b"From: Jan <jan@c.example>\nSubject: Zam\xf3wienie\nTo: help@us.example\n\nbody\n"
CHINESE = "整体提升企业服务水平"


@pytest.mark.parametrize(
    ("before", "name"),
    [
        (b"", "From"),
        (b"", "Subject"),
        (b"", "To"),
        (b"", "Message-ID"),
        (b"", "In-Reply-To"),
        (b"", "Content-Disposition"),
        (b"Reply-To: eva@c.example\n", "From"),
        (b"Sender: eva@c.example\n", "From"),
        (b"Sender: robot@c.example\n", "Reply-To"),
    ],
)
def test_a_missing_header_is_read_like_an_empty_one(before, name):
    lines = [line for line in (before + HEADERS).splitlines(keepends=True) if not line.startswith(f"{name}:".encode())]

    missing, empty = parse(b"".join(lines)), parse(f"{name}:\n".encode() + b"".join(lines))

    assert (missing, missing.sender) == (empty, empty.sender)


def test_a_mail_without_a_from_is_answered_by_its_reply_to_and_quarantined_without_any_address():
    TicketQueueFactory()

    received = taken(b"Reply-To: Eva <eva@c.example>\nReturn-Path: <bounces@c.example>\nSubject: x\n\nbody")

    assert (received.message.ticket.sender, received.message.ticket.sender_name) == ("eva@c.example", "Eva")
    assert taken(b"Subject: x\nTo: help@us.example\n\nbody").outcome == ReceivedMail.Outcome.QUARANTINED


@pytest.mark.parametrize(
    "before",
    [
        b"\n",
        b"\r\n\r\n",
        b"  \n",
        b"stray\n",
        b"stray\n\n",
        b"\nstray\n\n",
        b"\xef\xbb\xbf",
        b"From jan@c.example Mon\n",
    ],
)
def test_lines_before_the_headers_are_skipped(before):
    mail = parse(before + HEADERS)

    assert (mail.sender, mail.subject, mail.body[0]) == ("jan@c.example", "Zamówienie", "body\n")


def raw_mail(charset: str, kind: str = "text/plain", **headers: str) -> Mail:
    """Return a mail with raw bytes of the character set in its headers."""
    lines = [f"{name.replace('_', '-')}: {value}\n" for name, value in {"From": "a@b.example", **headers}.items()]
    return parse(f"{''.join(lines)}Content-Type: {kind}\n\nx".encode(charset))


def test_raw_bytes_of_headers_are_decoded_as_the_mail_names_a_character_set():
    multipart = "multipart/mixed; boundary=b; charset=GB2312"
    assert raw_mail("gb18030", multipart, Subject=CHINESE).subject == CHINESE
    word = "=?gb2312?B?vKjQpw==?= <help@us.example>"
    assert raw_mail("gb18030", To=word, Subject=CHINESE).subject == CHINESE
    # A filter has put the mail into one of its own.
    around = f"From: a@b.example\nSubject: {CHINESE}\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
    around += "Content-Type: text/plain; charset=iso-8859-1\n\nSpam?\n--b\nContent-Type: message/rfc822\n\n"
    around += "Subject: x\nContent-Type: text/plain; charset=gb2312\n\nx\n--b--\n"
    assert parse(around.encode("gb18030")).subject == CHINESE
    # Programs name a set of seven bits, and write eight.
    japanese = raw_mail("cp932", To="=?ISO-2022-JP?B?iXeWa4z7IA==?= <help@us.example>", Subject="ツール")
    assert japanese.subject == "ツール"


def test_raw_bytes_of_file_names_are_decoded_likewise():
    part = f'Content-Type: application/pdf; name="{CHINESE}.pdf"\n\nx'
    raw = f"From: a@b.example\nContent-Type: multipart/mixed; boundary=b; charset=GB2312\n\n--b\n{part}\n--b--\n"

    assert [file.filename for file in parse(raw.encode("gb18030")).attachments] == [f"{CHINESE}.pdf"]


@pytest.mark.parametrize("meant", ["cp1250", "iso-8859-2"])
@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1252"])
def test_polish_that_is_declared_as_western_is_read_as_polish(meant, declared):
    text = "Zażółć gęślą jaźń. Proszę o fakturę: półka, ŁÓDŹ"
    start = f"From: a@b.example\nContent-Type: text/plain; charset={declared}\n\n".encode()

    assert parse(start + text.encode(meant)).body[0] == text


def test_western_text_with_symbols_stays_as_declared():
    text = "Größe 5 m², 3 m³, aujourd¹hui l´eau, ¿Qué tal? Señor Ñandú, Cœur, 3×4, ½ l, 20°C, £5, §3, µm, Microsoft®"
    start = b"From: a@b.example\nContent-Type: text/plain; charset=windows-1252\n\n"

    assert parse(start + text.encode("cp1252")).body[0] == text


# Type -> extension of a part without a name.
COMMON = {
    "application/pdf": ".pdf",
    "application/msword": ".doc",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/zip": ".zip",
    "application/json": ".json",
    "application/rtf": ".rtf",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "image/heic": ".heic",
    "image/jpeg": ".jpg",
    "image/tiff": ".tiff",
    "image/webp": ".webp",
    "text/calendar": ".ics",
    "text/csv": ".csv",
    "text/vcard": ".vcf",
    "video/mp4": ".mp4",
    "application/octet-stream": ".bin",
}


def test_a_part_without_a_name_keeps_its_type():
    parts = "".join(f"--b\nContent-Type: {kind}\nContent-Disposition: attachment\n\nx\n" for kind in COMMON)
    mail = parse(f"From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n".encode())

    assert [file.filename.partition(".")[2] for file in mail.attachments] == [each[1:] for each in COMMON.values()]
    assert [type_of("nameless", file.content_type) for file in mail.attachments] == list(COMMON)
    assert {kind: extension_of(kind) for kind in COMMON} == COMMON


def test_the_type_of_a_stored_file_is_the_declared_one_if_its_name_has_none():
    TicketQueueFactory()
    part = 'Content-Type: application/pdf; name="scan"\n\nx\n--b\nContent-Type: text/html; name=page\n\n<b>x'
    taken(f"From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n--b\n{part}\n--b--\n".encode())

    # HTML could run as our page.
    assert list(StoredFile.objects.values_list("filename", "content_type")) == [
        ("scan", "application/pdf"),
        ("page", "application/octet-stream"),
    ]


def test_a_foreign_mail_with_our_message_id_joins_the_ticket_of_that_mail():
    ticket, dispatch = answered()

    received = taken(a_mail("Thanks", From=ticket.sender, Message_ID=f"<{dispatch.header_id}>"))

    assert received.message.ticket == ticket


@pytest.mark.parametrize("bomb", ["<a " * 100_000, "<div title='<" * 50_000, "<!-- <b> " * 100_000, "<b" * 300_000])
def test_html_that_cannot_be_cleaned_leaves_no_markup(bomb):
    assert "&lt;" not in html.clean(f"<p>Hello</p>{bomb}")
