"""The lines of a mail, with the marks of the mail program that wrote it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from callcentre.core.html_cleaning import unescape
from tickets import html

# Elements that stand on lines of their own.
_BLOCKS = {
    *("blockquote", "br", "caption", "center", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li"),
    *("ol", "p", "pre", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
}
_VOID = {"br", "col", "hr", "img"}
# Marks of elements that contain the quotation, and of those that stand above it.
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
_TOKEN = re.compile(r"<(?P<end>/?)(?P<tag>[a-z][a-z0-9]*+)(?P<attributes>[^<>]*+)>|(?P<text>[^<]++)")
_FONT_COLOUR = re.compile(r' color="([^"]{1,40})"')
_HEX = re.compile(r"#(?:([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})|([0-9a-f])([0-9a-f])([0-9a-f]))(?![0-9a-f])")
_RGB = re.compile(r"rgba?\(\s{0,5}(\d{1,3})[\s,]{1,5}(\d{1,3})[\s,]{1,5}(\d{1,3})")
_COLOUR_NAME = re.compile(r"\A[a-z]{3,20}\Z")
_GREY_NAME = re.compile(r"\A(?:black|gr[ae]y|white|silver|dark|dim|windowtext|inherit|initial|unset|auto|current)")
# Two of the three parts of a colour differ by more than this; less looks like grey.
_LEAST_CHROMA = 60
_INVISIBLE = str.maketrans("", "", "\ufeff\u200b\u200e\u200f")


class Line(NamedTuple):
    """A line that is not blank."""

    # Where it begins in the text, or in the HTML with its tags.
    start: int
    text: str
    # How many quotations it is in.
    depth: int = 0
    # The mail program says that a quotation begins here.
    is_marked: bool = False
    # A line is drawn above it. Outlook does that above the headers of the quoted mail, and authors do it too.
    is_ruled: bool = False
    # It is in an element that contains nothing but the quotation.
    is_contained: bool = False
    # The mail program says that its user wrote it: Outlook on the web.
    is_own: bool = False
    # It was typed in Outlook, by the author of this mail or of another.
    is_typed: bool = False
    is_coloured: bool = False
    is_signature: bool = False


def lines_of_text(body: str) -> list[Line]:
    """Return the lines of a plain text. Quoted lines that follow one another are one line."""
    found: list[Line] = []
    start, was_quoted = 0, False
    for raw in body.splitlines(keepends=True):
        depth = int(raw.startswith(">"))
        text = _squeezed(raw.lstrip("> ") if depth else raw)
        if text and not (depth and was_quoted):
            found.append(Line(start, text, depth, is_marked=bool(depth)))
        was_quoted = bool(depth) or (was_quoted and not text)
        start += len(raw)
    return found


def _squeezed(text: str) -> str:
    return " ".join(text.translate(_INVISIBLE).split())


def lines_of_html(marked: str) -> list[Line]:
    """Return the lines of cleaned HTML that has the marks of mail programs."""
    return list(_HtmlLines().read(marked))


@dataclass(slots=True)
class _Element:
    tag: str
    marks: list[str]
    is_coloured: bool


@dataclass(slots=True)
class _HtmlLines:
    """A reader of HTML: the elements that are open, and the line that has begun."""

    open: list[_Element] = field(default_factory=list)
    depth: int = 0
    contained: int = 0
    own: int = 0
    typed: int = 0
    coloured: int = 0
    signatures: int = 0
    links: int = 0
    # Where the next line begins, and where a quotation begins whose first line is still to come.
    place: int = 0
    waiting: int | None = None
    waiting_element: _Element | None = None
    is_ruled: bool = False
    parts: list[str] = field(default_factory=list)
    # The line that has begun: nothing is known of it before its first letter.
    line: Line | None = None

    def read(self, marked: str) -> Iterator[Line]:
        for token in _TOKEN.finditer(marked):
            tag = token["tag"]
            if not tag:
                self._add_text(token["text"])
                continue
            if tag in _BLOCKS and (line := self._ended_line()):
                self.place = token.start()
                yield line
            if token["end"]:
                self._close(tag)
            else:
                self._open(tag, token["attributes"])
            if self.line is None and (token["end"] or tag in _VOID):
                self.place = token.end()
        if line := self._ended_line():
            yield line

    def _add_text(self, raw: str) -> None:
        text = unescape(raw).translate(_INVISIBLE)
        self.parts.append(text)
        if not text.strip():
            return
        is_coloured = self.coloured > 0 and not self.links
        if self.line is None:
            self.line = Line(
                self.place if self.waiting is None else self.waiting,
                "",
                self.depth,
                is_marked=self.waiting is not None,
                is_ruled=self.is_ruled,
                is_contained=self.contained > 0,
                is_own=self.own > 0,
                is_typed=self.typed > 0,
                is_coloured=is_coloured,
                is_signature=self.signatures > 0,
            )
            self.waiting, self.waiting_element, self.is_ruled = None, None, False
        elif self.line.is_coloured and not is_coloured:
            self.line = self.line._replace(is_coloured=False)

    def _ended_line(self) -> Line | None:
        line = self.line and self.line._replace(text=_squeezed("".join(self.parts)))
        self.line = None
        self.parts.clear()
        return line

    def _open(self, tag: str, attributes: str) -> None:
        if tag == "img":
            # A picture of the mail itself is something that the author says.
            if 'src="cid:' in attributes:
                self._add_text("\ufffc")
            return
        marks = html.marks_in(attributes)
        element = _Element(tag, marks, _is_coloured(marks, attributes))
        is_around = "cite" in marks or not _CONTAINERS.isdisjoint(marks)
        if self.waiting is None and (is_around or not _ABOVE.isdisjoint(marks)):
            self.waiting, self.waiting_element = self.place, element if is_around else None
        self.is_ruled = self.is_ruled or any(mark.startswith("border-top") for mark in marks)
        if tag not in _VOID:
            self.open.append(element)
            self._count(element, 1)

    def _close(self, tag: str) -> None:
        if not self.open or self.open[-1].tag != tag:
            return
        element = self.open.pop()
        self._count(element, -1)
        if element is self.waiting_element:
            # It was empty.
            self.waiting = self.waiting_element = None

    def _count(self, element: _Element, step: int) -> None:
        is_indented = any(mark.startswith("border:") for mark in element.marks)
        is_quotation = element.tag == "blockquote" and not is_indented
        self.depth += step * is_quotation
        self.contained += step * (not is_quotation and not _CONTAINERS.isdisjoint(element.marks))
        self.own += step * ("elementtoproof" in element.marks)
        self.typed += step * ("mso-fareast-language" in element.marks)
        self.signatures += step * (not _SIGNATURES.isdisjoint(element.marks))
        self.coloured += step * element.is_coloured
        self.links += step * (element.tag == "a")


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
