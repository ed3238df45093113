"""HTML that came from outside: what of it is kept, and how it reads as text.

It is cleaned in this process where even the worst that could be in it takes about a second. Tags can be piled up
so that a browser's rules make gigabytes of a few kilobytes, or take hours; no count of them tells in advance. So what
is not plainly harmless is cleaned in a process of its own, whose time and memory the system limits. What does not come
out of that is kept as the text that it says.
"""

import html
import re
import subprocess
import sys
from pathlib import Path

import nh3

# What mail programs and editors use to say something; nothing that runs, loads, or lies over the rest of the page.
_TAG_NAMES = (
    "a abbr b blockquote br caption center cite code col colgroup dd del div dl dt em font h1 h2 h3 h4 h5 h6 hr i img"
    " ins li ol p pre q s small span strike strong sub sup table tbody td tfoot th thead tr tt u ul"
)
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
# Whole addresses only: what is relative would lead into our own pages.
_LINK = re.compile(r"(?i)(?:https?://|mailto:|tel:)[^\s]")
# Those of the mail itself, and from elsewhere: whoever shows a mail asks its reader before he loads these.
_IMAGE = re.compile(r"(?i)(?:cid:|https?://)[^\s\"'<>]+\Z")
_HIDDEN = ("script", "style", "title", "head")
_HIDING = re.compile(rf"(?i)<(/?)({'|'.join(_HIDDEN)})\b[^<>]*>?")
_BLOCK_END = re.compile(r"(?i)<br\s*/?>|</(?:p|div|h[1-6]|li|tr|blockquote|pre|table|ul|ol)>")
_TAG = re.compile(r"<[^<>]*>")
_BLANKS = re.compile(r"[ \t\r\f\v]+")
_LINES = re.compile(r"\n{3,}")
# Elements that a browser opens again in each block after the one in which nobody has closed them.
_REOPENED = re.compile(r"(?i)<(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)\b")

# Characters of HTML that is cleaned at all, and that may come out of it.
LONGEST = 2_000_000
# Up to these it is cleaned here: characters, tags, and tags times those that are opened again.
_LONGEST_HERE = 500_000
_MOST_TAGS_HERE = 10_000
_MOST_OPENED_HERE = 2_000_000
# Of the process that cleans the rest. What people write takes it half a second and 200 MB.
_CPU_SECONDS = 3
_MEMORY = 1 << 30
# Of a machine that has no processor for it.
_PATIENCE_SECONDS = 60


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "src":
        return value if _IMAGE.match(value) else None
    if name == "href":
        return value if _LINK.match(value) else None
    return value


_CLEANER = nh3.Cleaner(
    tags=set(_TAG_NAMES.split()),
    attributes=_ATTRIBUTES,
    clean_content_tags=set(_HIDDEN),
    url_schemes={"http", "https", "mailto", "tel", "cid"},
    link_rel="noopener noreferrer nofollow",
    attribute_filter=_attribute,
    strip_comments=True,
)


def clean(text: str) -> str:
    """Without whatever could run, or pretend to be part of the page around it."""
    if _is_harmless(text):
        return _CLEANER.clean(text).strip()
    cleaned = _clean_apart(text) if len(text) <= LONGEST else None
    return from_text(_seen(text[:LONGEST])[: LONGEST // 8]) if cleaned is None or len(cleaned) > LONGEST else cleaned


def _is_harmless(text: str) -> bool:
    tags = text.count("<")
    if len(text) > _LONGEST_HERE or tags > _MOST_TAGS_HERE:
        return False
    return tags * tags <= _MOST_OPENED_HERE or tags * len(_REOPENED.findall(text)) <= _MOST_OPENED_HERE


def _clean_apart(text: str) -> str | None:
    """By the limited process; None where it did not come to an end."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tickets.html"],
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).resolve().parent.parent,
            timeout=_PATIENCE_SECONDS,
            check=True,
        )
    except subprocess.SubprocessError:
        return None
    return done.stdout.decode()


def _clean_input() -> None:
    """What that process does."""
    import resource  # noqa: PLC0415  (nothing else here wants it)

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.buffer.write(_CLEANER.clean(sys.stdin.buffer.read().decode()).strip().encode())


def as_text(markup: str) -> str:
    """What HTML says, in lines."""
    lines = _TAG.sub("", _BLOCK_END.sub("\n", _BLANKS.sub(" ", markup.replace("\n", " "))))
    return _LINES.sub("\n\n", "\n".join(line.strip() for line in html.unescape(lines).split("\n"))).strip()


def _seen(markup: str) -> str:
    """What HTML that was not cleaned says, in lines: in one pass, however broken it is."""
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
    return as_text("".join(parts))


def from_text(text: str) -> str:
    """Plain text as HTML that looks the same."""
    return html.escape(text).replace("\n", "<br>\n")


def says_nothing(markup: str) -> bool:
    return not as_text(markup) and "<img" not in markup


if __name__ == "__main__":
    _clean_input()
