"""The lines of a mail's text, with the marks of the mail program that wrote it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from callcentre.core.html_cleaning import MARK, unescape
from tickets import html

# Elements that stand on lines of their own.
_BLOCKS = {
    *("blockquote", "br", "caption", "center", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li"),
    *("ol", "p", "pre", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
}
_VOID = {"br", "col", "hr", "img"}
# Marks of elements that contain a quotation, and of elements above one.
_CONTAINERS = {
    "gmail_quote",
    "mail-editor-reference-message-container",
    "ms-outlook-mobile-reference-message",
    "olk_src_body_section",
    "protonmail_quote",
    "yahoo_quoted",
}
_ABOVE = {"appendonsend", "divrplyfwdmsg", "moz-cite-prefix", "reply-intro", "stopspelling", "zwchr"}
_SIGNATURES = {
    "applemailsignature",
    "composer_signature",
    "gmail_signature",
    "moz-signature",
    "ms-outlook-mobile-signature",
    "signature",
}
# Cleaned HTML has no other "<" and ">".
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*+)([^<>]*+)>")
_FONT_COLOUR = re.compile(r' color="([^"]{1,40})"')
_HEX = re.compile(r"#(?:([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})|([0-9a-f])([0-9a-f])([0-9a-f]))(?![0-9a-f])")
_RGB = re.compile(r"rgba?\(\s{0,5}(\d{1,3})[\s,]{1,5}(\d{1,3})[\s,]{1,5}(\d{1,3})")
_COLOUR_NAME = re.compile(r"\A[a-z]{3,20}\Z")
_GREY_NAME = re.compile(r"\A(?:black|gr[ae]y|white|silver|dark|dim|windowtext|inherit|initial|unset|auto|current)")
# The least difference between two of the three parts of a colour; with less it looks grey.
_LEAST_CHROMA = 60
_INVISIBLE = re.compile("[\ufeff\u200b\u200e\u200f]")
# Kinds of elements that count for the text in them.
_KINDS = ("a", "quotation", "container", "own", "typed", "signature", "coloured")
_VISIBLE = re.compile(r"[^\s\ufeff\u200b\u200e\u200f]")


@dataclass(slots=True)
class MailLine:
    """A line that is not blank."""

    # The place in the text, or in the HTML, where the line begins; its tags belong to it.
    start: int
    text: str
    # The number of quotations around it.
    depth: int = 0
    # A blank line stands above it, or nothing.
    is_apart: bool = False
    # A mark of the mail program says that a quotation begins here.
    is_marked: bool = False
    # A rule is drawn above it, by Outlook above the headers of the quoted mail, or by the author.
    is_ruled: bool = False
    # It is in an element that contains only the quotation.
    is_contained: bool = False
    # Outlook on the web marks it as written by its user.
    is_own: bool = False
    # It was typed in Outlook, by the author of this mail or of a quoted one.
    is_typed: bool = False
    is_coloured: bool = False
    is_signature: bool = False


def lines_of_text(body: str) -> list[MailLine]:
    """Return the lines of a plain text. Adjacent quoted lines count as one."""
    found: list[MailLine] = []
    start, was_quoted, is_apart = 0, False, True
    for raw in body.splitlines(keepends=True):
        # Some programs quote so. A row of a table ends with a bar, too.
        is_barred = raw.strip() == "|" or (raw.startswith("| ") and not raw.rstrip().endswith("|"))
        depth = int(is_barred or raw.startswith(">"))
        text = _squeezed(raw.lstrip("> ") if depth else raw)
        if text and not (depth and was_quoted):
            # A bar may also begin the author's own lines.
            found.append(MailLine(start, text, depth, is_apart, is_marked=bool(depth and not is_barred)))
        was_quoted = bool(depth) or (was_quoted and not text)
        is_apart = not text
        start += len(raw)
    return found


def _squeezed(text: str) -> str:
    return " ".join((text if text.isascii() else _INVISIBLE.sub("", text)).split())


def without_tags(marked: str) -> str:
    """Return the text of cleaned HTML in one piece, with its character references as they are."""
    return _INVISIBLE.sub("", _TAG.sub("", marked))


def lines_of_html(marked: str) -> list[MailLine]:
    """Return the lines of cleaned HTML that has the marks of mail programs."""
    reader, end = _HtmlLines(), 0
    pieces = iter(_TAG.split(marked))
    for text, slash, tag, attributes in zip_longest(pieces, pieces, pieces, pieces, fillvalue=""):
        if text:
            reader.add_text(text)
        start = end + len(text)
        end = start + len(slash) + len(tag) + len(attributes) + len("<>")
        if tag in _BLOCKS:
            reader.end_line(start)
        if slash:
            reader.close(tag)
        else:
            reader.open(tag, attributes)
        if reader.line is None and (slash or tag in _VOID):
            reader.place = end
    reader.end_line(end)
    return reader.lines


@dataclass(slots=True)
class _HtmlLines:
    """The state of reading HTML: the lines that have ended, the line that has begun, and the elements that are open."""

    lines: list[MailLine] = field(default_factory=list)
    # Where the next line begins.
    place: int = 0
    # The line that has begun, and the pieces of its text.
    parts: list[str] = field(default_factory=list)
    line: MailLine | None = None
    # The tag of each open element with its kinds, and the number of open elements of each kind.
    elements: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    inside: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_KINDS, 0))
    # The place of a marked quotation whose first line is still to come, and the number of elements around it.
    waiting: int | None = None
    waiting_level: int | None = None
    is_ruled: bool = False

    def add_text(self, raw: str) -> None:
        text = unescape(raw) if "&" in raw else raw
        if not _VISIBLE.search(text):
            if self.line is not None:
                self.parts.append(text)
            return
        inside = self.inside
        is_coloured = inside["coloured"] > 0 and not inside["a"]
        if self.line is None:
            self.line = MailLine(
                self.place if self.waiting is None else self.waiting,
                "",
                inside["quotation"],
                is_marked=self.waiting is not None,
                is_ruled=self.is_ruled,
                is_contained=inside["container"] > 0,
                is_own=inside["own"] > 0,
                is_typed=inside["typed"] > 0,
                is_coloured=is_coloured,
                is_signature=inside["signature"] > 0,
            )
            self.waiting, self.waiting_level, self.is_ruled = None, None, False
        elif not is_coloured:
            self.line.is_coloured = False
        self.parts.append(text)

    def end_line(self, place: int) -> None:
        if self.line is not None:
            self.line.text = _squeezed("".join(self.parts))
            self.lines.append(self.line)
            self.line, self.place = None, place
            self.parts.clear()

    def open(self, tag: str, attributes: str) -> None:
        if tag == "img":
            # An image inside the mail is part of what the author says.
            if 'src="cid:' in attributes:
                self.add_text("\ufffc")
            return
        marks = html.marks_in(attributes) if MARK in attributes else []
        if marks:
            is_around = "cite" in marks or not _CONTAINERS.isdisjoint(marks)
            if self.waiting is None and (is_around or not _ABOVE.isdisjoint(marks)):
                self.waiting, self.waiting_level = self.place, len(self.elements) if is_around else None
            self.is_ruled = self.is_ruled or any(mark.startswith("border-top") for mark in marks)
        if tag not in _VOID:
            kinds = tuple(_kinds(tag, marks, attributes)) if attributes or tag in ("a", "blockquote") else ()
            self.elements.append((tag, kinds))
            for kind in kinds:
                self.inside[kind] += 1

    def close(self, tag: str) -> None:
        if not self.elements or self.elements[-1][0] != tag:
            return
        for kind in self.elements.pop()[1]:
            self.inside[kind] -= 1
        if len(self.elements) == self.waiting_level:
            # The container was empty.
            self.waiting = self.waiting_level = None


def _kinds(tag: str, marks: list[str], attributes: str) -> Iterator[str]:
    """Yield the kinds of this element that its text inherits."""
    if tag == "a":
        yield "a"
    is_quotation = tag == "blockquote" and not any(mark.startswith("border:") for mark in marks)
    if is_quotation:
        yield "quotation"
    elif not _CONTAINERS.isdisjoint(marks):
        yield "container"
    if "elementtoproof" in marks:
        yield "own"
    if "mso-fareast-language" in marks:
        yield "typed"
    if not _SIGNATURES.isdisjoint(marks):
        yield "signature"
    if _is_coloured(marks, attributes):
        yield "coloured"


def _is_coloured(marks: list[str], attributes: str) -> bool:
    colours = [mark.partition(":")[2] for mark in marks if mark.startswith("color:")]
    colours += _FONT_COLOUR.findall(attributes)
    return any(_is_colour(unescape(colour).strip().lower()) for colour in colours)


def _is_colour(value: str) -> bool:
    """Return whether this is a colour, and not black, white or grey."""
    if found := _HEX.match(value):
        parts = [int(part, 16) * (17 if len(part) == 1 else 1) for part in found.groups() if part]
    elif found := _RGB.match(value):
        parts = [int(part) for part in found.groups()]
    else:
        return bool(_COLOUR_NAME.match(value)) and not _GREY_NAME.match(value)
    return max(parts) - min(parts) > _LEAST_CHROMA
