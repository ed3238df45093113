"""HTML that came from outside: what of it is kept, and how it reads as text."""

import html
import re

import nh3

# What mail programs and editors use to say something; nothing that runs, loads, or lies over the rest of the page.
_TAGS = {
    *("a", "abbr", "b", "blockquote", "br", "caption", "center", "cite", "code", "col", "colgroup", "dd", "del", "div"),
    *("dl", "dt", "em", "font", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "li", "ol", "p", "pre"),
    *(
        "q",
        "s",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
    ),
    *("tt", "u", "ul"),
}
_ATTRIBUTES = {
    "*": {"align", "dir", "lang", "title"},
    "a": {"href"},
    "col": {"span", "width"},
    "colgroup": {"span", "width"},
    "font": {"color", "size"},
    "img": {"alt", "height", "src", "width"},
    "ol": {"start"},
    "table": {"border", "cellpadding", "cellspacing", "width"},
    "td": {"colspan", "rowspan", "valign", "width"},
    "th": {"colspan", "rowspan", "valign", "width"},
}
# Images of the mail itself only: one from elsewhere tells its sender who reads the mail, when and where.
_IMAGE = re.compile(r"cid:[^\s\"'<>]+\Z")
_BLOCK_END = re.compile(r"(?i)<br\s*/?>|</(?:p|div|h[1-6]|li|tr|blockquote|pre|table|ul|ol)>")
_TAG = re.compile(r"<[^>]*>")
_BLANKS = re.compile(r"[ \t\r\f\v]+")
_LINES = re.compile(r"\n{3,}")


def _attribute(tag: str, name: str, value: str) -> str | None:
    if tag == "img" and name == "src" and not _IMAGE.match(value):
        return None
    return value


_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    attributes=_ATTRIBUTES,
    clean_content_tags={"script", "style", "title", "head"},
    url_schemes={"http", "https", "mailto", "tel", "cid"},
    link_rel="noopener noreferrer nofollow",
    attribute_filter=_attribute,
    strip_comments=True,
)


def clean(text: str) -> str:
    """Without whatever could run, load from elsewhere, or pretend to be part of the page around it."""
    return _CLEANER.clean(text).strip()


def as_text(markup: str) -> str:
    """What HTML says, in lines."""
    lines = _TAG.sub("", _BLOCK_END.sub("\n", _BLANKS.sub(" ", markup.replace("\n", " "))))
    return _LINES.sub("\n\n", "\n".join(line.strip() for line in html.unescape(lines).split("\n"))).strip()


def from_text(text: str) -> str:
    """Plain text as HTML that looks the same."""
    return html.escape(text).replace("\n", "<br>\n")


def says_nothing(markup: str) -> bool:
    return not as_text(markup) and "<img" not in markup
