"""The parsing of incorrect mail: readable parts are read, and other parts become files."""

import struct
from contextlib import suppress
from email.message import EmailMessage

import pytest

from tickets.mail.mime_parts import MOST_FILES
from tickets.mail.parsing import Mail, Unreadable, parse


def read(headers: str | bytes = "", body: str | bytes = "x") -> Mail:
    start = headers.encode() if isinstance(headers, str) else headers
    return parse(start + b"\n\n" + (body.encode() if isinstance(body, str) else body))


def multipart(kind: str, *parts: str, boundary: str = "b") -> str:
    inner = "".join(f"--{boundary}\n{part}\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n{inner}--{boundary}--\n'


def of_parts(kind: str, *parts: str) -> Mail:
    return parse(f"From: a@b.example\n{multipart(kind, *parts)}".encode())


PLAIN = "Content-Type: text/plain\n\nplain"
RICH = "Content-Type: text/html\n\n<p>rich</p>"
IMAGE = "Content-Type: image/png\nContent-ID: <logo@x>\nContent-Transfer-Encoding: base64\n\niVBORw0K"


def test_a_mail_without_headers_is_unreadable():
    for raw in [b"", b"\r\n\r\n", b"\n\nno headers", b"   \n"]:
        with pytest.raises(Unreadable):
            parse(raw)


def test_the_sender_of_a_mail():
    for header, name, address in [
        ("From: Jan Kowalski <jan@c.example>", "Jan Kowalski", "jan@c.example"),
        ("From: =?utf-8?Q?Jan_=C5=BB=C3=B3=C5=82w?= <jan@c.example>", "Jan Żółw", "jan@c.example"),
        ("From: =?iso-8859-2?Q?=AF=F3=B3w=2C_Jan?= <jan@c.example>", "Żółw, Jan", "jan@c.example"),
        ("From: =?utf-8?B?SmFuIDxqYW5AYy5leGFtcGxlPg==?=", "Jan", "jan@c.example"),
        ("From: Jan Żółw <jan@c.example>", "Jan Żółw", "jan@c.example"),
        ("From: jan@c.example, eva@c.example", "", "jan@c.example"),
        ("From: Friends: jan@c.example, eva@c.example;", "", "jan@c.example"),
        ('From: "Kowalski, Jan" <jan@c.example>', "Kowalski, Jan", "jan@c.example"),
        ("From: <jan@c.example", "", "jan@c.example"),
        ("Sender: jan@c.example", "", "jan@c.example"),
        ("Return-Path: <jan@c.example>", "", "jan@c.example"),
        ("From:\nReturn-Path: <jan@c.example>", "", "jan@c.example"),
        ("From: nobody\nReturn-Path: <jan@c.example>", "", ""),
        ("From: nobody\nSender: jan@c.example", "", ""),
        ("From: Form <form@c.example>\nReply-To: jan@c.example", "Form", "form@c.example"),
        ("From: Anna anna@klient.example", "Anna", "anna@klient.example"),
        ('From: "Anna" anna@klient.example', "Anna", "anna@klient.example"),
        ("From: Anna M. anna@klient.example", "Anna M.", "anna@klient.example"),
        ("From: anna@klient.example Anna Nowak", "", "anna@klient.example"),
        ("From: anna@old.example anna@klient.example", "anna@old.example", "anna@klient.example"),
        ("From: Anna <anna @klient.example>", "Anna", "anna@klient.example"),
        ("From: =?utf-8?Q?=C5=BBaneta?= zaneta@klient.example", "Żaneta", "zaneta@klient.example"),
        ("From: anna at klient.example", "", ""),
        ("From: anna@", "", ""),
        ("From: nobody", "", ""),
        ("Subject: none", "", ""),
        ("From: " + "(" * 5000 + "jan@c.example", "", "jan@c.example"),
    ]:
        mail = read(header)

        assert (mail.sender_name, mail.sender) == (name, address)


def test_subjects_are_decoded():
    for header, subject in [
        (b"Subject: =?utf-8?B?WmHFvMOzxYLEhw==?= =?utf-8?Q?_g=C4?=\n =?utf-8?Q?=99=C5=9Bl=C4=85?=", "Zażółć gęślą"),
        (b"Subject: =?UTF-8?Q?a b?= c", "a b c"),
        (b"Subject: =?x-unknown?Q?=C5=BC?=", "ż"),
        (b"Subject: =?utf-8?B?WmHFvMOzxYL?=", "Zażół"),
        ("Subject: Zażółć".encode("cp1250"), "Zażółć"),
        (b"Subject: a\0b\n\tc", "ab c"),
        (b"Subject: " + b"x" * 1000, "x" * 500),
        (b"X: y", ""),
    ]:
        assert read(header).subject == subject


def test_wrong_character_sets_are_corrected():
    for declared, raw, text in [
        ("utf-8", "zażółć".encode(), "zażółć"),
        ("iso-8859-2", "zażółć śźą".encode("iso-8859-2"), "zażółć śźą"),
        ("iso-8859-2", "zażółć śźą".encode("cp1250"), "zażółć śźą"),
        ("iso-8859-1", "zażółć".encode(), "zażółć"),
        ("us-ascii", "zażółć".encode("cp1250"), "zażółć"),
        ("utf-8", "zażółć".encode("cp1250"), "zażółć"),
        ("windows-1252", "“a”".encode("cp1252"), "“a”"),
        ("iso-8859-1", "“a”".encode("cp1252"), "“a”"),
        ("utf-16", "zażółć".encode("utf-16"), "zażółć"),
        ("gb2312", "中文字".encode("gb18030"), "中文字"),
        ("no-such-charset", "zażółć".encode(), "zażółć"),
        ("base64", b"abc", "abc"),
        ("idna", b"abc", "abc"),
        ("utf-7", b"a +2AA- b", "a \ufffd\ufffd\ufffd b"),
        ("utf-8", b"a\0b\xff", "ab˙"),
        ("", "zażółć".encode(), "zażółć"),
    ]:
        assert read(f"From: a@b.example\nContent-Type: text/plain; charset={declared}", raw).body == (text, "PLAIN")


def test_of_alternatives_html_is_the_text_and_files_are_kept():
    invitation = "Content-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR"
    mail = of_parts("alternative", PLAIN, multipart("related", RICH, IMAGE, boundary="c"), invitation)

    assert mail.body == ("<p>rich</p>", "HTML")
    assert [(each.filename, each.content_id) for each in mail.attachments] == [
        ("part-1.png", "logo@x"),
        ("part-2.ics", ""),
    ]


def test_parts_that_follow_one_another_are_all_text():
    assert of_parts("mixed", PLAIN, IMAGE, PLAIN).body == ("plain\nplain", "PLAIN")
    assert of_parts("mixed", RICH, "Content-Type: text/plain\n\na < b").body == ("<p>rich</p><br>\na &lt; b", "HTML")
    # The HTML part has no word that the text part lacks.
    assert of_parts("alternative", PLAIN, "Content-Type: text/html\n\n<p>&nbsp;</p>").body == ("plain", "PLAIN")
    assert of_parts("alternative", "Content-Type: text/plain\n\n", RICH).body == ("<p>rich</p>", "HTML")


def test_file_names_are_decoded_and_cleaned():
    for part, filename in [
        ('Content-Disposition: attachment; filename="a.pdf"', "a.pdf"),
        ("Content-Disposition: attachment; filename*=utf-8''za%C5%BC%C3%B3%C5%82%C4%87.pdf", "zażółć.pdf"),
        ("Content-Disposition: attachment; filename*0*=utf-8''za%C5%BC; filename*1=x.pdf", "zażx.pdf"),
        ('Content-Disposition: attachment; filename="=?utf-8?B?emHFvMOzxYLEhy5wZGY=?="', "zażółć.pdf"),
        ('Content-Type: application/pdf; name="=?utf-8?Q?za=C5=BC.pdf?="', "zaż.pdf"),
        ('Content-Disposition: attachment; filename="zażółć.pdf"', "zażółć.pdf"),
        ('Content-Disposition: attachment; filename="../../etc/passwd"', "passwd"),
        ('Content-Disposition: attachment; filename="C:\\\\dir\\\\a.pdf"', "a.pdf"),
        ('Content-Disposition: attachment; filename="a\0b\x1b.pdf"', "ab.pdf"),
        ('Content-Disposition: attachment; filename="FV 17/2026.pdf"', "FV 17-2026.pdf"),
        ('Content-Disposition: attachment; filename=".."', "part-1.bin"),
        ("Content-Disposition: attachment; filename*=utf-8", "utf-8"),
        (f'Content-Disposition: attachment; filename="{"x" * 500}.pdf"', "x" * 247 + ".pdf"),
        ("Content-Disposition: attachment", "part-1.bin"),
    ]:
        (attachment,) = of_parts("mixed", PLAIN, f"{part}\n\nabc").attachments

        assert (attachment.filename, attachment.content) == (filename, b"abc")


def test_signed_and_encrypted_parts_are_kept_byte_for_byte():
    signature = 'Content-Type: application/pkcs7-signature; name="smime.p7s"\nContent-Transfer-Encoding: base64\n\nYWJj'
    signed = of_parts('signed; protocol="application/pkcs7-signature"; micalg=sha-256', PLAIN, signature)
    assert (signed.body[0], [each.filename for each in signed.attachments]) == ("plain", ["smime.p7s"])

    version = "Content-Type: application/pgp-encrypted\n\nVersion: 1"
    secret = "Content-Type: application/octet-stream; name=encrypted.asc\n\n-----BEGIN PGP MESSAGE-----"
    encrypted = of_parts("encrypted", version, secret)
    assert [each.filename for each in encrypted.attachments] == ["part-1.txt", "encrypted.asc"]

    opaque = read("From: a@b.example\nContent-Type: application/pkcs7-mime; name=smime.p7m", "abc")
    assert [(each.filename, each.content) for each in opaque.attachments] == [("smime.p7m", b"abc")]


def test_a_mail_inside_a_mail_is_a_file():
    inner = "Subject: =?utf-8?Q?za=C5=BC?=/x\nContent-Type: text/plain\n\ninner"
    mail = of_parts("mixed", PLAIN, f"Content-Type: message/rfc822\n\n{inner}")

    (attachment,) = mail.attachments
    assert (mail.body[0], attachment.filename) == ("plain", "zaż-x.eml")
    assert attachment.content.endswith(b"\n\ninner")


def tnef(*files: tuple[str, bytes]) -> bytes:
    """Return a winmail.dat as [MS-OXTNEF] describes it."""

    def attribute(level: int, identifier: int, data: bytes) -> bytes:
        return struct.pack("<BII", level, identifier, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)

    raw = b"\x78\x9f\x3e\x22\x01\x00" + attribute(1, 0x00089006, b"\0\0\1\0")
    for name, content in files:
        long_name = name.encode("utf-16-le") + b"\0\0"
        padding = b"\0" * (-len(long_name) % 4)
        properties = struct.pack("<I", 2) + struct.pack("<HHi", 3, 0x3705, 1)
        properties += struct.pack("<HHII", 0x1F, 0x3707, 1, len(long_name)) + long_name + padding
        raw += attribute(2, 0x00069002, b"\0" * 14) + attribute(2, 0x00018010, b"SHORT~1.TXT\0")
        raw += attribute(2, 0x0006800F, content) + attribute(2, 0x00069005, properties)
    return raw


def test_files_inside_a_winmail_dat_are_files_and_a_broken_one_is_kept():
    def with_tnef(content):
        message = EmailMessage()
        message["From"] = "a@b.example"
        message.set_content("plain")
        message.add_attachment(content, maintype="application", subtype="ms-tnef", filename="winmail.dat")
        return parse(message.as_bytes())

    whole = tnef(("umowa źródłowa.pdf", b"abc"), ("b.txt", b"def"))

    files = [(each.filename, each.content) for each in with_tnef(whole).attachments]
    assert files == [("umowa źródłowa.pdf", b"abc"), ("b.txt", b"def")]
    for broken in (whole[:-20], whole[:10], b"none", whole[:40] + b"\xff" * 50):
        assert [(each.filename, each.content) for each in with_tnef(broken).attachments] == [("winmail.dat", broken)]


def test_recipients_are_each_kept_once_and_never_made_of_a_name_and_an_address():
    mail = read("From: a@b.example\nTo: Jan jan@c.example, Eva <eva@c.example>; Ola ola@c.example Nowak")
    assert mail.recipients == ["jan@c.example", "eva@c.example", "ola@c.example"]

    to = ",\n ".join(f'"Person, {number}" <p{number}@C.example>' for number in range(1000))
    mail = read(f"From: a@b.example\nTo: {to}\nCc: p0@c.example, Undisclosed recipients:;")
    assert mail.recipients == [f"p{number}@c.example" for number in range(1000)]

    # Of many headers of one name the first are read.
    mail = parse(b"From: a@b.example\n" + b"To: c@d.example\n" * 50_000 + b"\nx")
    assert mail.recipients == ["c@d.example"]


def test_a_mail_of_too_many_parts_is_attached_whole():
    mail = of_parts("mixed", PLAIN, *[IMAGE] * (MOST_FILES + 2))

    assert (mail.body[0], [each.filename for each in mail.attachments]) == ("plain", ["mail.eml"])


def test_deeply_nested_parts_raise_only_unreadable():
    deep = "".join(f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n" for number in range(3000))
    deeper = f"From: a@b.example\n{deep}".encode()
    inside = b"From: a@b.example\n" + b"Content-Type: message/rfc822\n\n" * 3000

    for raw in (deeper, inside):
        with suppress(Unreadable):
            assert parse(raw).sender == "a@b.example"


def test_a_text_that_is_too_long_is_a_file_as_well():
    mail = read("From: a@b.example", "x" * 1_500_000)

    assert len(mail.body[0]) == 1_000_000
    assert [(each.filename, len(each.content)) for each in mail.attachments] == [("message.txt", 1_500_000)]


def test_mails_of_machines_are_recognised():
    for header in [
        "Auto-Submitted: auto-replied",
        "Auto-Submitted: auto-generated; owner=x",
        "Precedence: bulk",
        "X-Autoreply: yes",
        "X-Auto-Response-Suppress: DR, OOF, AutoReply",
        "Precedence: junk",
        "List-Id: <list.example>\nAuto-Submitted: auto-replied",
        "Return-Path: <>",
        "Subject: Automatic reply: holidays",
        "Subject: Autoodpowiedź: urlop",
        "Content-Type: multipart/report; report-type=disposition-notification; boundary=b",
    ]:
        mail = read(f"From: a@b.example\n{header}")

        assert (mail.is_automatic, mail.is_bounce) == (True, False)


def test_mails_of_people_are_recognised():
    for header in [
        "Auto-Submitted: no",
        "Precedence: normal",
        "Precedence: bulk\nList-Id: <list.example>",
        "List-Unsubscribe: <mailto:leave@list.example>",
        "Return-Path: <a@b.example>",
        "Subject: Re: Automatic reply",
    ]:
        assert not read(f"From: a@b.example\n{header}").is_automatic


MULTIPART = b"Content-Type: multipart/mixed; boundary=b\n\n"


def test_a_mail_of_too_much_work_is_unreadable():
    for raw in [
        b"\n" + b"\n" * 2_000_001,
        MULTIPART + b"--b\n" * 100_001,
        b"Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\n"
        + b"\n" * 100_002,
        MULTIPART * 300 + b"x\n" * 100_000,
        b"Content-Type: text/plain" + b"; a=b" * 25_000 + b"\n\nx",
        MULTIPART + b"--b\nContent-Disposition: attachment;\n" + b" a=b;\n" * 20_000 + b"\nx\n--b--\n",
    ]:
        with pytest.raises(Unreadable, match="more lines, parts or parameters"):
            parse(b"From: a@b.example\n" + raw)


@pytest.mark.slow("reads a large file")
def test_a_large_mail_of_a_person_is_read():
    for raw in [
        b"\nSELECT 1;\n" + b"-- a comment\n" * 150_000,
        MULTIPART + b"--b\n\nx\n" + b"QUJD\n" * 500_000 + b"--b--\n",
    ]:
        assert parse(b"From: a@b.example\n" + raw).sender == "a@b.example"


def test_a_number_of_thousands_of_digits_in_html_is_no_error():
    mail = parse(b"From: a@b.example\nContent-Type: text/html\n\n<p>&#" + b"9" * 4_900 + b";</p>")

    assert mail.body[1] == "HTML"
