"""Mail of old and odd programs: bytes in headers, broken header lines, Japanese, uuencoded files, flowed text."""

import binascii

import pytest

from tests.tickets.test_parsing import multipart, of_parts, read
from tickets.mail.charsets import decoded
from tickets.mail.headers import without_words
from tickets.mail.parsing import parse
from tickets.mail.plain_text import parted, reflowed

PLAIN = "Content-Type: text/plain\n\nplain"


def test_bytes_of_headers_are_in_the_character_set_of_the_text():
    for charset, text in [
        ("koi8-r", "Привет мир"),
        ("windows-1250", "Zażółć gęślą jaźń"),
        ("big5", "訂單問題"),
        ("euc-jp", "注文について"),
    ]:
        raw = text.encode(charset)
        headers = b"From: " + raw + b" <a@b.example>\nSubject: " + raw

        mail = read(headers + f"\nContent-Type: text/plain; charset={charset}".encode(), raw)

        assert (mail.subject, mail.sender_name, mail.sender, mail.body[0]) == (text, text, "a@b.example", text)


def test_bytes_of_headers_are_in_the_character_set_of_any_part():
    raw = "Привет".encode("koi8-r")
    part = b'Content-Type: text/html; charset="koi8-r"\n\n' + raw
    file = b'Content-Disposition: attachment; filename="' + raw + b'.txt"\n\nx'
    start = b"From: a@b.example\nSubject: " + raw + b"\nContent-Type: multipart/mixed; boundary=b\n\n"

    ascii_part = b"Content-Type: text/plain; charset=us-ascii\n\nHi"
    mail = parse(start + b"".join(b"--b\n" + each + b"\n" for each in (ascii_part, part, file)) + b"--b--\n")

    assert (mail.subject, [each.filename for each in mail.attachments]) == ("Привет", ["Привет.txt"])


@pytest.mark.parametrize("encoding", ["8bit", "base64"])
@pytest.mark.parametrize(
    "meta", ['<meta charset="{}">', '<meta http-equiv=Content-Type content="text/html; charset={}">']
)
@pytest.mark.parametrize(("charset", "text"), [("koi8-r", "Привет мир"), ("shift_jis", "注文について")])
def test_bytes_of_headers_are_in_the_character_set_that_the_html_names(charset, text, meta, encoding):
    raw = text.encode(charset)
    page = b"<head>" + meta.format(charset).encode() + b"</head><p>" + raw + b"</p>"
    headers = b"From: a@b.example\nContent-Type: text/html\nContent-Transfer-Encoding: " + encoding.encode()

    mail = read(headers + b"\nSubject: " + raw, binascii.b2a_base64(page) if encoding == "base64" else page)

    assert (mail.subject, f"<p>{text}</p>" in mail.body[0]) == (text, True)


def test_the_type_of_a_part_counts_before_its_html():
    raw = "Привет".encode("koi8-r")
    headers = b"From: a@b.example\nSubject: " + raw + b"\nContent-Type: text/html; charset=koi8-r"

    assert read(headers, b"<meta charset=windows-1251>" + raw).subject == "Привет"


def test_bytes_of_headers_are_guessed_if_no_part_has_their_character_set():
    for charset in ["us-ascii", "no-such-charset", "utf-8"]:
        raw = b"From: a@b.example\nSubject: " + "Zażółć".encode("cp1250")

        assert read(raw + f"\nContent-Type: text/plain; charset={charset}".encode(), "x").subject == "Zażółć"


@pytest.mark.parametrize(
    "broken",
    [
        "This is no header",
        ">From jan Mon Jan  5 10:00:00 2026",
        "Two words: x",
        "Ż: x",
        "no header\nand another\n with a second line",
        ": no name",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_a_broken_header_line_is_lost(broken, end):
    headers = f"Received: by mx\n{broken}\nFrom: Jan <jan@c.example>\nSubject: Broken"

    mail = read(headers.replace("\n", end), f"{end}Hello: you")

    assert (mail.sender, mail.subject, mail.body[0].strip()) == ("jan@c.example", "Broken", "Hello: you")


def test_only_a_broken_first_line_or_line_of_a_part_is_lost_and_a_blank_before_a_colon_is_read():
    assert read("HELO mx\nFrom: jan@c.example\nSubject: Broken").subject == "Broken"
    mail = read("From : jan@c.example\nSubject\t: Broken")
    assert (mail.sender, mail.subject) == ("jan@c.example", "Broken")
    (file,) = of_parts("mixed", PLAIN, "Content-Type: image/png\nbroken\nContent-ID: <logo>\n\nabc").attachments
    assert (file.filename, file.content, file.content_id) == ("part-1.png", b"abc", "logo")


def test_a_text_without_an_empty_line_above_it_is_the_text():
    mail = read("From: jan@c.example\nSubject: Broken\nHello there,\nnote: it does not boil", "Subject: x")

    assert mail.body[0].startswith("Hello there,\nnote: it does not boil")
    assert of_parts("mixed", "no header at all\n\nplain", PLAIN).body[0].startswith("no header at all")


# Characters of NEC (①㈱), of IBM as NEC chose them (髙), of JIS X 0212 (丂), and halves (ｱ).
@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("日本語".encode("iso-2022-jp"), "日本語"),
        (b"\x1b$BF|K\\8l-!-j|b\x1b(B x", "日本語①㈱髙 x"),
        (b"\x1b$B-!\x1b$(D0!\x1b(I1\x1b(J y", "①丂ｱ y"),
        (b"a \x1b$B-!\nb", "a ①\nb"),
        (b"\x1b$B-!\xff", "①"),
    ],
)
@pytest.mark.parametrize("charset", ["ISO-2022-JP", "iso-2022-jp-ms", "cp50220"])
def test_japanese_with_characters_of_vendors_is_read(raw, text, charset):
    assert decoded(raw, charset).rstrip("\ufffd") == text
    assert read(f"From: a@b.example\nContent-Type: text/plain; charset={charset}", raw).body[0].startswith(text)


def test_japanese_is_decoded_as_the_standard_codec_does():
    """Each character of JIS X 0208, beside one that makes the codec fail."""
    differ = {}
    for row in range(0x21, 0x75):
        for cell in range(0x21, 0x7F):
            raw = b"\x1b$B" + bytes([row, cell]) + b"\x1b(B"
            try:
                wanted = raw.decode("iso2022_jp")
            except UnicodeDecodeError:
                continue
            found = decoded(b"\x1b$B-!\x1b(B" + raw, "iso-2022-jp")
            if found != f"①{wanted}":
                differ[wanted] = found[1:]

    # Signs for which Microsoft has others that look alike.
    assert differ == dict(zip("〜‖−¢£¬—＼", "～∥－￠￡￢―＼", strict=True)) or set(differ) <= set("〜‖−¢£¬—＼")


def test_characters_that_vendors_added_are_read():
    for charset, raw, text in [
        ("euc-jp", b"\xad\xa1", "①"),
        ("euc-kr", "뷁".encode("cp949"), "뷁"),
        ("gb2312", "朱镕基".encode("gb18030"), "朱镕基"),
        ("big5", "€".encode("cp950"), "€"),
    ]:
        assert decoded(raw, charset) == text


def test_encoded_words_of_a_file_name_are_joined_without_a_blank():
    for blank in [" ", "\n ", "\r\n\t", "   ", ""]:
        words = blank.join(("=?utf-8?Q?za=C5=BC=C3=B3?=", "=?utf-8?B?xYLEhy5wZGY=?="))

        (file,) = of_parts("mixed", PLAIN, f'Content-Disposition: attachment; filename="{words}"\n\nx').attachments

        assert file.filename == without_words(words) == "zażółć.pdf"


INNER = (
    b"From:  Jan   Kowal <jan@c.example>\r\nSubject:a subject  without blank and longer than any line that a program "
    b"would fold by itself\r\nX-Raw: za\xbf\xf3\xb3\xe6\r\nto: x\r\n\tfolded by a tab\r\n\r\nbody \r\n.\r\n-- \r\n"
)


def test_a_mail_inside_a_mail_is_kept_byte_for_byte():
    for inner in [INNER, INNER.replace(b"\r\n", b"\n"), b"X: y\r\n\r\n", INNER + b"no end of line"]:
        start = b"From: a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nplain\r\n"
        around = b"--b\r\nContent-Type: message/rfc822\r\n\r\n" + inner + b"\r\n"

        mail = parse(start + around * 2 + b"--b--\r\n")

        assert [each.content for each in mail.attachments] == [inner, inner]


def test_a_mail_inside_a_mail_inside_a_mail_is_kept_byte_for_byte():
    first = b"Subject: first\nContent-Type: message/rfc822\n\n" + INNER
    inner = b"Subject: second\nContent-Type: multipart/mixed; boundary=c\n\n--c\nContent-Type: message/rfc822\n\n"
    inner += first + b"\n--c--\nepilogue\n"

    start = b"From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\n\n"
    mail = parse(start + inner + b"\n--b--\n")

    assert [(each.filename, each.content) for each in mail.attachments] == [("second.eml", inner)]


def test_a_mail_inside_a_mail_that_is_encoded_is_decoded():
    for encoding in ["base64", "quoted-printable"]:
        encode = binascii.b2a_base64 if encoding == "base64" else binascii.b2a_qp
        inner = b"Subject: inner\r\n\r\n" + "zażółć".encode() + b"\r\n"
        start = b"From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\n"

        mail = parse(start + f"Content-Transfer-Encoding: {encoding}\n\n".encode() + encode(inner) + b"\n--b--\n")

        (file,) = mail.attachments
        assert (file.filename, file.content.strip()) == ("inner.eml", inner.strip())


def uuencoded(name: str, data: bytes) -> str:
    lines = (binascii.b2a_uu(data[at : at + 45]).decode() for at in range(0, len(data), 45))
    return f"begin 644 {name}\n{''.join(lines)}`\nend\n"


def test_a_mail_of_too_many_files_is_attached_byte_for_byte():
    for content in [
        f"\n{uuencoded('a', b'x') * 300}",
        multipart("mixed", *["Content-Type: image/png\n\nx"] * 210),
    ]:
        raw = f"From:a@b.example\n{content}".encode()

        assert [(each.filename, each.content) for each in parse(raw).attachments] == [("mail.eml", raw)]


DATA = bytes(range(256)) * 3


def test_a_uuencoded_file_in_the_text_is_a_file():
    for end in ["\n", "\r\n"]:
        text = f"See this:\n{uuencoded('a b.bin', DATA)}and this:\n{uuencoded('c.bin', b'abc')}Jan\n"

        mail = read("From: a@b.example", text.replace("\n", end))

        assert mail.body == ("See this:\nand this:\nJan\n", "PLAIN")
        assert [(each.filename, each.content) for each in mail.attachments] == [("a b.bin", DATA), ("c.bin", b"abc")]
        headers = "Content-Disposition: attachment; filename=a.bin\nContent-Transfer-Encoding: x-uuencode"
        (file,) = of_parts("mixed", PLAIN, f"{headers}\n\n{uuencoded('a', DATA)}").attachments
        assert (file.filename, file.content) == ("a.bin", DATA)


def test_text_that_only_looks_uuencoded_stays_text():
    for text in [
        "begin 644 a.bin\nno data here, but words that are long\nend\n",
        "begin 644 a.bin\n#86)C\n",
        "begin 9 a.bin\n#86)C\n`\nend\n",
        "begin 644 a.bin\n`\nend\n",
        "begin 644 steps today\n\nFirst do this.\nend\n",
    ]:
        assert parted(text) == (text, [])


def test_flowed_text_is_joined():
    for text, deletes_space, wanted in [
        ("Hello \nworld\nnext\n", False, "Hello world\nnext\n"),
        ("Hel \nlo \nworld\n", True, "Hello world\n".replace("o w", "ow")),
        ("日本 \n語\n", True, "日本語\n"),
        ("> quoted \n> more\n> \n>> deeper \nmine\n", False, "> quoted more\n> \n>> deeper \nmine\n"),
        ("Bye \n-- \nJan \nKowal\n", False, "Bye \n-- \nJan Kowal\n"),
        (" From here\n >no quotation\n", False, "From here\n>no quotation\n"),
        ("end ", False, "end "),
        ("", True, ""),
    ]:
        assert reflowed(text, deletes_space=deletes_space) == wanted


def test_only_text_that_is_declared_as_flowed_is_joined():
    for parameters, wanted in [
        ("; format=flowed; delsp=yes", "a longline\n"),
        ('; Format="Flowed"; DelSp=YES', "a longline\n"),
        ("; format=flowed", "a long line\n"),
        ("; format=fixed; delsp=yes", "a long \nline\n"),
        ("", "a long \nline\n"),
    ]:
        assert read(f"From: a@b.example\nContent-Type: text/plain{parameters}", "a long \nline\n").body[0] == wanted
