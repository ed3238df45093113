"""What of a mail its author wrote, and what he quoted: parted, not cut off."""

import re

# Above a quotation, in a line of its own (or two, where the mail program broke it).
_HEADERS = [
    r"On\b.{4,200}\bwrote:",
    r"W dniu\b.{4,200}\b(?:pisze|napisał(?:\(a\)|a)?|napisał/a):",
    r"Dnia\b.{4,200}\b(?:pisze|napisał(?:\(a\)|a)?|napisał/a):?",
    r"(?:pon|wt|śr|czw|pt|sob|niedz)\.?,? .{4,200}\b(?:pisze|napisał(?:\(a\)|a)?):",
    r"Am\b.{4,200}\bschrieb\b.{0,200}:",
    r"Le\b.{4,200}\ba écrit\s?:",
    r"El\b.{4,200}\bescribió:",
    r"-{2,}\s?(?:Original Message|Oryginalna wiadomość|Wiadomość oryginalna|Ursprüngliche Nachricht)\s?-{2,}",
    r"_{20,}",
]
_TEXT_HEADER = re.compile(rf"(?ims)^[ \t]*(?:{'|'.join(_HEADERS).replace('.{', '[^>]{')})[ \t]*$")
_OUTLOOK = re.compile(
    r"(?im)^(?:From|Od|Von): .+\n(?:Sent|Date|Wysłano|Data|Gesendet): .+\n(?:(?:To|Do|An|Cc|DW): .+\n)*"
)
_HTML = [
    re.compile(r"(?i)<div[^>]*\bclass=[\"']?[^\"'>]*\bgmail_quote\b"),
    re.compile(r"(?i)<blockquote[^>]*\btype=[\"']?cite\b"),
    re.compile(r"(?i)<div[^>]*\bclass=[\"']?moz-cite-prefix\b"),
    re.compile(r"(?i)<div[^>]*\bid=[\"']?(?:divRplyFwdMsg|appendonsend|mail-editor-reference-message-container)\b"),
    re.compile(r"(?i)<div[^>]*style=[\"'][^\"']*border-top:\s?solid #[0-9a-f]{6} 1\.0pt"),
]


def fold(body: str, body_type: str) -> tuple[str, str]:
    """(what was written, what was quoted below it). All of it is written where nothing else would be left."""
    place = _place_in_html(body) if body_type == "HTML" else _place_in_text(body)
    if place is None or not _says_something(body[:place]):
        return body, ""
    return body[:place], body[place:]


def _says_something(text: str) -> bool:
    return bool(re.sub(r"<[^>]*>|&nbsp;|\s", "", text))


def _place_in_html(body: str) -> int | None:
    places = [found.start() for pattern in _HTML if (found := pattern.search(body))]
    return min(places, default=None)


def _place_in_text(body: str) -> int | None:
    places = [found.start() for pattern in (_TEXT_HEADER, _OUTLOOK) if (found := pattern.search(body))]
    lines = body.splitlines(keepends=True)
    # A tail of nothing but quotation marks.
    end = len(lines)
    while end and (lines[end - 1].startswith(">") or not lines[end - 1].strip()):
        end -= 1
    if end < len(lines) and any(line.startswith(">") for line in lines[end:]):
        places.append(sum(len(line) for line in lines[:end]))
    return min(places, default=None)
