"""What of a mail its author wrote, and what he quoted: parted, not cut off."""

import re

# What mail programs put above a quotation, by their language: a line of its own, or two where it was broken. It begins
# with one of these words or a date, has a date in it, and ends with this verb.
_BEGINS = r"(?:On|W dniu|Dnia|Am|Le|El|Il giorno|Il|Wiadomość|(?:pon|wt|śr|czw|pt|sob|niedz|ndz)\b|\d{1,4}[-./]\d)"
_WROTE = (
    r"(?:(?:pisze|napisał(?:\(a\)|/a|a)?|wrote|schrieb\b[^\n:<>]{0,100}(?:<[^\n<>]{0,100}>)?|a écrit|escribió"
    r"|ha scritto|написал(?:\(а\)|а)?)\s?:|napisał(?:\(a\)|/a|a)?)"
)
_BEGINNING = re.compile(rf"(?i)[ \t]{{0,20}}{_BEGINS}")
_VERB = re.compile(rf"(?im)(?<!\w){_WROTE}[ \t]*$")
_LONGEST_LINE = 300
_RULE = re.compile(
    r"(?im)^(?:-{2,} ?(?:Original Message|Oryginalna wiadomość|Wiadomość oryginalna|Treść oryginalnej wiadomości"
    r"|Wiadomość przekazana|Forwarded message|Ursprüngliche Nachricht|Message d'origine|Mensaje original) ?-{2,}"
    r"|_{20,})[ \t]*$"
)
# Outlook's: lines of the quoted mail's headers.
_FROM, _SENT = r"(?:From|Od|Von|De)", r"(?:Sent|Date|Wysłano|Wysłane|Data|Gesendet|Datum|Envoyé|Enviado)"
_OUTLOOK = re.compile(
    rf"(?im)^[ \t*]{{0,5}}{_FROM}: ?\*? ?.{{1,300}}\n"
    rf"(?:[ \t*]{{0,5}}(?:To|Do|An|À|Para|Cc|DW|UDW): ?.{{0,1000}}\n)?[ \t*]{{0,5}}{_SENT}: ?\*? ?.{{1,200}}$"
)
_HTML = [
    re.compile(rf"(?i){start}")
    for start in (
        r"<div\b[^<>]*\bclass=[\"']?[^\"'<>]*\b(?:gmail_quote|yahoo_quoted|protonmail_quote|moz-cite-prefix)\b",
        r"<div\b[^<>]*\bid=[\"']?(?:divRplyFwdMsg|appendonsend|mail-editor-reference-message-container)\b",
        r"<div\b[^<>]*\bid=[\"']?(?:ms-outlook-mobile-reference-message|OLK_SRC_BODY_SECTION|reply-intro)\b",
        r"<blockquote\b[^<>]*\b(?:type=[\"']?cite|class=[\"']?[^\"'<>]*\bgmail_quote)\b",
        # Outlook's line above the headers of the quoted mail.
        r"<div\b[^<>]*\bstyle=[\"'][^\"'<>]*border-top:\s?solid #[0-9a-f]{6} 1(?:\.0)?pt",
        r"<hr\b[^<>]*\bid=[\"']?(?:stopSpelling|zwchr)\b",
    )
]
# The line above a quotation, in HTML: from the tag that begins it.
_HTML_HEADER = re.compile(
    rf"(?is)<(?:div|p|span|br)\b[^<>]*>(?:\s|&nbsp;|<(?!div\b|p\b|br\b|blockquote\b)[^<>]*>)*"
    rf"{_BEGINS}(?:(?!<(?:div|p)\b).){{4,600}}?{_WROTE}(?:\s|&nbsp;|<[^<>]*>)*:?(?:\s|&nbsp;|<[^<>]*>)*\Z"
)
_BEFORE = 1000
_MARKUP = re.compile(r"<(?:style|title)\b[^<>]*>[^<]*|<[^<>]*>|&nbsp;|&#160;|\s")


def fold(body: str, body_type: str) -> tuple[str, str]:
    """(what was written, what was quoted below it). All of it is written where nothing else would be left."""
    place = _place_in_html(body) if body_type == "HTML" else _place_in_text(body)
    if place is None or not _says_something(body[:place], body_type):
        return body, ""
    return body[:place], body[place:]


def _says_something(text: str, body_type: str) -> bool:
    return bool(_MARKUP.sub("", text) if body_type == "HTML" else text.strip()) or "<img" in text


def _place_in_html(body: str) -> int | None:
    places = [found.start() for pattern in _HTML if (found := pattern.search(body))]
    if not places:
        return None
    place = min(places)
    above = max(place - _BEFORE, 0)
    header = _HTML_HEADER.search(body[above:place])
    return place if header is None else above + header.start()


def _place_in_text(body: str) -> int | None:
    places = [found.start() for pattern in (_RULE, _OUTLOOK) if (found := pattern.search(body))]
    places += [place for found in _VERB.finditer(body) if (place := _header_before(body, found)) is not None][:1]
    # A tail of nothing but quotation marks.
    lines = body.splitlines(keepends=True)
    end = len(lines)
    while end and (lines[end - 1].startswith(">") or not lines[end - 1].strip()):
        end -= 1
    while end < len(lines) and not lines[end].startswith(">"):
        end += 1
    if end < len(lines):
        places.append(sum(len(line) for line in lines[:end]))
    return min(places, default=None)


def _header_before(body: str, verb: re.Match[str]) -> int | None:
    """Where the line begins that ends with the verb, or the one before it, if that is the line above a quotation."""
    start = verb.start()
    for _line in range(2):
        start = body.rfind("\n", max(start - _LONGEST_LINE, 0), start) + 1
        line = body[start : verb.end()]
        if len(line) > 2 * _LONGEST_LINE or line.startswith((">", "\n")):
            return None
        if _BEGINNING.match(line) and any(character.isdigit() for character in line):
            return start
        start -= 1
    return None
