"""HTML of mails and editors: the policies by which it is cleaned, and its conversion from and to plain text."""

import html
import re
from typing import Any

from callcentre.core.html_cleaning import LONGEST, MARK, CleanHtml, Policy, Uncleanable, unescape
from callcentre.core.html_cleaning import clean as clean_by

# The elements that mail programs and editors use for content. None can run, load, or cover the rest of the page.
_TAG_NAMES = (
    "a abbr b blockquote br caption center cite code col colgroup dd del div dl dt em font h1 h2 h3 h4 h5 h6 hr i img"
    " ins li ol p pre q s small span strike strong sub sup table tbody td tfoot th thead tr tt u ul"
)
_ATTRIBUTES = {
    "*": ("align", "dir", "lang", "title"),
    "a": ("href",),
    "col": ("span", "width"),
    "colgroup": ("span", "width"),
    "font": ("color", "size"),
    "img": ("alt", "height", "src", "width"),
    "ol": ("start",),
    "table": ("border", "cellpadding", "cellspacing", "width"),
    "td": ("colspan", "rowspan", "valign", "width"),
    "th": ("colspan", "rowspan", "valign", "width"),
}
_VALUES = {
    # Absolute addresses only: a relative one would lead to our own pages.
    "href": r"(?i)(?:https?://|mailto:|tel:)\S[\s\S]*",
    # Images of the mail itself, and from elsewhere; the reader is asked before the latter are loaded.
    "src": r"(?i)(?:cid:|https?://)[^\s\"'<>]+",
}
_HIDDEN = ("script", "style", "title", "head")
# The names with which mail programs mark quotations, signatures, and the author's text and its colour.
_CLASSES = r"(gmail_quote|yahoo_quoted|protonmail_quote|moz-cite-prefix|elementToProof|gmail_signature|moz-signature)"
_IDS = (
    r"(divRplyFwdMsg|appendonsend|mail-editor-reference-message-container|ms-outlook-mobile-reference-message"
    r"|OLK_SRC_BODY_SECTION|reply-intro|Signature|ms-outlook-mobile-signature|composer_signature|AppleMailSignature)"
)
_COLOUR = r"(?<![\w-])color:\s{0,5}[#\w][^;]{0,40}"
_MARKS = {
    "div class": rf"(?i)(?:^|\s){_CLASSES}(?=\s|$)",
    "p class": r"(?i)(?:^|\s)(elementToProof)(?=\s|$)",
    "pre class": r"(?i)(?:^|\s)(moz-signature)(?=\s|$)",
    "div id": rf"(?i)^{_IDS}$",
    "p id": r"(?i)^(reply-intro)$",
    # Outlook's line above the headers of the quoted mail.
    "div style": rf"(?i)(border-top:\s?solid (?:#[0-9a-f]{{6}}|windowtext) 1(?:\.0)?pt|{_COLOUR})",
    "p style": f"(?i)({_COLOUR})",
    "span style": f"(?i)({_COLOUR}|mso-fareast-language)",
    "blockquote type": r"(?i)^(cite)",
    "blockquote class": r"(?i)(?:^|\s)(gmail_quote)(?=\s|$)",
    # A paragraph that the author has indented.
    "blockquote style": r"(?i)(?:^|;)\s{0,5}(border:\s?none)",
    "hr id": r"(?i)^(stopSpelling|zwchr)$",
}
# The styles that texts of our own mails may have.
_STYLE_NAMES = (
    "background-color border border-bottom border-collapse border-color border-left border-radius border-right"
    " border-spacing border-style border-top border-width color font font-family font-size font-style font-weight"
    " height letter-spacing line-height list-style-type margin margin-bottom margin-left margin-right margin-top"
    " max-height max-width min-width padding padding-bottom padding-left padding-right padding-top text-align"
    " text-decoration text-indent text-transform vertical-align white-space width word-spacing"
)


def _policy(attributes: dict[str, tuple[str, ...]], **others: Any) -> Policy:
    return Policy(
        tags=_TAG_NAMES.split(),
        attributes={tag: (*_ATTRIBUTES.get(tag, ()), *attributes.get(tag, ())) for tag in {*_ATTRIBUTES, *attributes}},
        hidden=_HIDDEN,
        schemes=("http", "https", "mailto", "tel", "cid"),
        rel="noopener noreferrer nofollow",
        values=_VALUES,
        **others,
    )


_MESSAGE = _policy({})
_MARKED = _policy(
    {
        "blockquote": ("class", "style", "type"),
        "div": ("class", "id", "style"),
        "hr": ("id",),
        "p": ("class", "id", "style"),
        "pre": ("class",),
        "span": ("style",),
    },
    marks=_MARKS,
)
OWN_TEXT = _policy({"*": ("style",)}, styles=_STYLE_NAMES.split())

_MARKED_ATTRIBUTE = re.compile(rf' (?:class|id|style|type)="{MARK} ([^"]*)"')
_HIDING = re.compile(rf"(?i)<(/?)({'|'.join(_HIDDEN)})\b[^<>]*>?")
_BLOCK_END = re.compile(r"(?i)<br\s*/?>|</(?:p|div|h[1-6]|li|tr|blockquote|pre|table|ul|ol)>")
_TAG = re.compile(r"<[^<>]*>")
# A tag without an end, which a browser would read on, and a comment.
_BROKEN_TAG = re.compile(r"(?i)<!--(?:[^-]++|-(?!->))*+(?:-->)?|<[a-z/!?][^<>]*+(?=<|\Z)")
_BLANKS = re.compile(r"[ \t\r\f\v]+")
_LINES = re.compile(r"\n{3,}")


def clean(text: str) -> CleanHtml:
    """Return the HTML without elements that could run, or imitate the page around it.

    HTML that cannot be cleaned becomes plain text.
    """
    return clean_or_text(text, _MESSAGE)


def clean_marked(text: str) -> tuple[CleanHtml, str]:
    """Return the cleaned HTML, and the same HTML with the marks of mail programs, which must be cleaned again."""
    marked = clean_or_text(text, _MARKED)
    return CleanHtml(_MARKED_ATTRIBUTE.sub("", marked), _MESSAGE), marked


def marks_in(attributes: str) -> list[str]:
    """Return the marks of mail programs among the attributes of a tag, in lower case."""
    return [mark.lower() for mark in _MARKED_ATTRIBUTE.findall(attributes)]


def clean_or_text(text: str, policy: Policy) -> CleanHtml:
    """Return the HTML cleaned by a policy. HTML that cannot be cleaned becomes plain text."""
    try:
        return clean_by(text, policy)
    except Uncleanable:
        whole = _BROKEN_TAG.sub("", without_hidden(text[:LONGEST]))
        return CleanHtml(from_text(as_text(whole)[: LONGEST // 8]), policy)


def as_text(markup: str) -> str:
    """Return the text of HTML, in lines."""
    lines = _TAG.sub("", _BLOCK_END.sub("\n", _BLANKS.sub(" ", markup.replace("\n", " "))))
    return _LINES.sub("\n\n", "\n".join(line.strip() for line in unescape(lines).split("\n"))).strip()


def without_hidden(markup: str) -> str:
    """Return the HTML without the elements that a browser hides, in one pass, however broken it is."""
    parts, hidden, end = [], "", 0
    for found in _HIDING.finditer(markup):
        is_end, tag = bool(found[1]), found[2].lower()
        if not hidden and not is_end:
            parts.append(markup[end : found.start()])
            hidden = tag
        elif is_end and tag == hidden:
            hidden, end = "", found.end()
    if not hidden:
        parts.append(markup[end:])
    return "".join(parts)


def from_text(text: str) -> str:
    """Return plain text as HTML that looks the same."""
    return html.escape(text).replace("\n", "<br>\n")


def says_nothing(markup: str) -> bool:
    return not as_text(markup) and "<img" not in markup
