"""The text of a mail, parted into what its author wrote and what is quoted in it. Nothing is cut off."""

import re
from itertools import islice

from callcentre.html_cleaning import unescape
from tickets import html

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
# The tags that can begin the line above a quotation in HTML, and how far above it.
_LINE_TAG = re.compile(r"<(div|p|span|br)\b[^<>]*>")
_TAG = re.compile(r"<[^<>]*>")
_BEFORE = 1000
_LONGEST_HEADER = 600
_WROTE_AT_END = re.compile(rf"(?i)(?<!\w){_WROTE}\s{{0,20}}:?\Z")


def fold(body: str, body_type: str) -> tuple[str, str]:
    """Return what was written, and what was quoted below it: HTML cleaned, then parted.

    All of it was written where nothing else would be left.
    """
    if body_type == "HTML":
        return _fold_html(body)
    place = _place_in_text(body)
    if place is None or not body[:place].strip():
        return body, ""
    return body[:place], body[place:]


def _fold_html(body: str) -> tuple[str, str]:
    whole, above, below = html.clean_parts(body)
    if not below:
        return whole, ""
    start = _header_in_html(above)
    written = html.clean(above[:start])
    return (whole, "") if html.says_nothing(written) else (written, html.clean(above[start:] + below))


def _header_in_html(above: str) -> int:
    """Return where the line begins that ends what stands above a quotation, if it says who wrote it; else the end."""
    begin = max(len(above) - _BEFORE, 0)
    end, header = len(above), ""
    for tag in reversed([*_LINE_TAG.finditer(above, begin)]):
        said = " ".join(unescape(_TAG.sub("", above[tag.start() :])).split())
        if header and said != header:
            break
        if said and _BEGINNING.match(said) and _WROTE_AT_END.search(said) and len(said) <= _LONGEST_HEADER:
            end, header = tag.start(), said
        elif said and tag[1] in ("div", "p"):
            break
    return end


def _place_in_text(body: str) -> int | None:
    places = [found.start() for pattern in (_RULE, _OUTLOOK) if (found := pattern.search(body))]
    headers = (_header_before(body, found) for found in _VERB.finditer(body))
    places += islice((place for place in headers if place is not None), 1)
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
