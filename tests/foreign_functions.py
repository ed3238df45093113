"""Functions that read texts of strangers, with texts that could take long."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO
from typing import Any

from django.core.exceptions import ValidationError

from callcentre.core.html_cleaning import Uncleanable, is_harmless, unescape
from callcentre.core.normal_forms import normalised
from callcentre.core.parsing import Reject, parse_date, parse_instant, parse_integer, parse_text
from callcentre.core.phone import PhoneError, normalise
from callcentre.core.spreadsheets import as_entered, harmless
from callcentre.monitoring.logging import censor
from callcentre.signin.browsers import in_words
from campaigns.importing.columns import simple_name
from campaigns.importing.formats import guess_format
from campaigns.importing.rows import Rows
from knowledgebase import exchange
from knowledgebase import html as articles
from knowledgebase.comparison import compare
from knowledgebase.exchange import _inside
from knowledgebase.search.highlight import Highlighter
from knowledgebase.search.query import parse as parse_query
from tickets import html
from tickets.addresses import is_address
from tickets.admin.ticket_page_thread import with_links
from tickets.mail import composition, server_verdicts, tnef
from tickets.mail.charsets import decoded, decoded_as_named
from tickets.mail.headers import without_words
from tickets.mail.parsing import Unreadable, parse, says_no_failure
from tickets.mail.plain_text import parted, reflowed
from tickets.mail.quotations import split_quotation
from tickets.mail_ids import ids_in
from tickets.placeholders import check_placeholders, fill
from tickets.verbs.notices import logins_in
from webhooks.transport.targets import TargetError, check_target

LENGTH = 30_000
MARKS = "\u0315\u0300"
# Rounds that are repeated.
ROUNDS = (
    *" \n\t<>&;,:(\"'=[{@.-/\\a0",
    *("<div ", "<div class=gmail_quot ", "class=gmail_quot ", "<div><b>", "</div>", "<p>On ", "<img src=", "<!--"),
    *("<![if", "<blockquote type=cite>", "<p style='color:red'>a</p>"),
    *("<script>", "<style>", "<title>", "<body>", "<a href='http://x'>", "&nbsp;", "&#", "&#9", "=?utf-8?q?", "=?a?b?"),
    *("{{ ", "{{ x", "On x wrote:\n", "> ", "From: a\n", "-----", "____", "password=", "Basic ", "a://b:", "a.", "a,"),
    *("(a", "<a@b", "a@b, ", '"a', 'a"b,"c\n', "a b, ", "1-", "+48 ", "\r\n\t", "\0", "\ud800", MARKS, "e\u0301", "ł"),
    *("https://", "http://.", "=E9", "re: ", "[#1] ", "cc.1.", "-reply-no-", "<p>a</p>", "<p>a</p><p>b</p>"),
)


def texts() -> Iterator[tuple[str, str]]:
    for number in ROUNDS:
        yield f"{number!r} again and again", number * (LENGTH // len(number))
    yield "a class again and again", "<div " + "class=gmail_quot " * 8_000
    yield "unlike attributes", "<p " + " ".join(f"a{number}" for number in range(30_000))
    yield "unlike tags", "".join(f"<t{number}>" for number in range(20_000))
    yield "a number", "&#" + "9" * LENGTH + ";"
    yield "many marks", "a" + "\u0315" * (LENGTH // 2) + "\u0300" * (LENGTH // 2)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _mail(headers: str = "", body: str = "", kind: str = "text/plain") -> bytes:
    head = f"From: a@b.example\nSubject: x\nContent-Type: {kind}; charset=utf-8\n{headers}\n"
    return f"{head}\n{body}".encode("utf-8", "replace")


def _parse(raw: bytes) -> None:
    with suppress(Unreadable):
        parse(raw)


HEADERS = (
    *("Subject", "From", "To", "Reply-To", "References", "Message-ID", "Delivered-To"),
    *("Precedence", "X-Failed-Recipients", "Auto-Submitted", "Authentication-Results"),
)
PART = "--b\nContent-Type: {kind}\nContent-Disposition: attachment; filename={name}\n\n{text}\n--b--\n"


def mails(text: str) -> Iterator[tuple[str, bytes]]:
    """Yield mails that have the text in each place."""
    line = text.replace("\n", " ").replace("\r", " ")
    for name in HEADERS:
        yield name, _mail(f"{name}: {line}")
        yield f"{name} of a machine", _mail(f"Precedence: bulk\n{name}: {line}")
    yield "Content-Type", _mail(f"MIME-Version: 1.0\nContent-Type: multipart/mixed; {line}")
    yield "headers", _mail(text)
    yield "headers that go on", _mail(f"{text}\nX-Last: x")
    yield "flowed text", _mail(body=text, kind="text/plain; format=flowed; delsp=yes")
    yield "text of a mail server", _mail("From: mailer-daemon@x.example", text)
    yield "plain text", _mail(body=text)
    yield "HTML", _mail(body=text, kind="text/html")
    yield "text of a machine", _mail("Auto-Submitted: auto-replied", text)
    for kind in ("text/plain", "message/rfc822", "message/delivery-status", "multipart/mixed", "application/x"):
        part = PART.format(kind=kind, name="x", text=text)
        yield f"part {kind}", _mail("X: x", part, 'multipart/report; boundary="b"')
    yield "filename", _mail("X: x", PART.format(kind="text/plain", name=line, text=""), 'multipart/mixed; boundary="b"')


def _rows(text: str) -> None:
    file = BytesIO(text.encode("utf-8", "surrogatepass"))
    with suppress(ValidationError), Rows(file, guess_format(file)) as rows:
        for _row in rows:
            pass


FUNCTIONS: dict[str, tuple[Callable[[str], object], tuple[type[Exception], ...]]] = {
    "quotation in text": (lambda text: split_quotation(text, "PLAIN"), ()),
    "quotation in HTML": (lambda text: split_quotation(text, "HTML"), ()),
    "as_text": (html.as_text, ()),
    "without_hidden": (html.without_hidden, ()),
    "mentions": (lambda text: [logins_in(text, "PLAIN"), logins_in(text, "HTML")], ()),
    "from_text": (html.from_text, ()),
    "is_harmless": (is_harmless, ()),
    "unescape": (unescape, ()),
    "clean an article": (articles.clean, (Uncleanable,)),
    "text_of": (articles.text_of, ()),
    "paragraphs_of": (articles.paragraphs_of, ()),
    "image_ids": (articles.image_ids, ()),
    "compare": (lambda text: compare(text[:255], text, text[-255:], text[::-1]), ()),
    "normalised": (lambda text: [normalised("NFC", text), normalised("NFKD", text)], ()),
    "parse_query": (lambda text: parse_query(text[:200]), ()),
    "mark": (lambda text: Highlighter(parse_query("a 0 on").wanted).mark(text[:255], text), ()),
    "front": (exchange.split, ()),
    "inside": (lambda text: [_inside(text, "body"), _inside(text, "title")], ()),
    "censor": (lambda text: censor({"event": text}), ()),
    "harmless cell": (lambda text: [harmless(text), as_entered(text), harmless(f"{text}=")], ()),
    "phone": (normalise, (PhoneError,)),
    "date": (parse_date, (Reject,)),
    "instant": (parse_instant, (Reject,)),
    "integer": (parse_integer, (Reject,)),
    "text": (parse_text, (Reject,)),
    "import": (_rows, ()),
    "column": (simple_name, ()),
    "address": (is_address, ()),
    "links": (with_links, ()),
    "fill": (lambda text: fill(text, {"x": "y"}), ()),
    "placeholders": (lambda text: check_placeholders(body=(text, ())), (ValidationError,)),
    "link addresses": (composition._with_addresses, ()),
    "tag of a subject": (composition.tickets_of_subject, ()),
    "answers": (lambda text: composition._ANSWER.sub("", text), ()),
    "encoded words": (without_words, ()),
    "ids": (ids_in, ()),
    "target": (check_target, (TargetError,)),
    "one subject": (lambda text: composition.are_of_one_subject(text, f"Re: {text}"), ()),
    "bytes of a header": (lambda text: decoded_as_named(_bytes(text), ["iso-2022-jp", "gb2312", "koi8-r"]), ()),
    "Japanese": (lambda text: decoded(b"\x1b$B-!" + _bytes(text), "iso-2022-jp"), ()),
    "escapes of Japanese": (lambda text: decoded(b"\x1b$B-!" + _bytes(text.replace("a", "\x1b$B!!")), "cp50220"), ()),
    "uuencoded": (
        lambda text: [parted(text), parted("begin 644 a\n" + text), parted(text.replace("a", "begin 644 a\n"))],
        (),
    ),
    "flowed": (
        lambda text: [reflowed(text, deletes_space=True), reflowed(text.replace("a", " \n"), deletes_space=False)],
        (),
    ),
    "browser": (in_words, ()),
    "notice": (lambda text: says_no_failure(text, text), ()),
    "verdicts": (lambda text: server_verdicts._without_comments(f"{text}\\"), ()),
    "spam": (lambda text: server_verdicts.is_called_spam(defaultdict(lambda: [text])), ()),
    "winmail.dat": (lambda text: tnef.files(b"\x78\x9f\x3e\x22\0\0" + text.encode("utf-8", "replace")), ()),
}


def _run(function: Callable[[Any], object], text: Any, refusals: tuple[type[Exception], ...]) -> None:
    with suppress(*refusals):
        function(text)


def cases() -> Iterator[tuple[str, str, Callable[[], object]]]:
    for described, text in texts():
        for name, (function, refusals) in FUNCTIONS.items():
            yield name, described, partial(_run, function, text, refusals)
        for place, raw in mails(text):
            yield f"mail: {place}", described, partial(_parse, raw)
