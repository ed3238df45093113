"""The cleaning of foreign HTML by a policy, within limits of time and memory.

The rules of HTML can turn a few kilobytes of tags into gigabytes, or hours of work, and no count of tags predicts it.
So this process cleans only HTML that is plainly harmless: short texts, and texts whose elements are closed in the order
in which they were opened. A process with limits of time and memory cleans all other HTML (`limited_process`); it loads
this file, which therefore imports nothing that is slow to import.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import unescape as _unescape
from typing import Any, NamedTuple, Self

import nh3

from callcentre.core.limited_process import BeyondLimits, run_limited

# The most characters that HTML may have before and after it is cleaned.
LONGEST = 2_000_000
# The limits of harmless texts: characters, tags, open elements, characters of a tag's attributes, and the sum over all
# tags of the formatting that is open there, in bytes.
_SHORT = 1_000
_LONGEST_HERE = 200_000
_MOST_TAGS_HERE = 10_000
_DEEPEST_HERE = 200
_LONGEST_ATTRIBUTES_HERE = 4_000
_MOST_FORMATTING_HERE = 5_000_000
# PostgreSQL cannot store NUL, and half a surrogate pair is no character.
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")
# Python refuses to read such numbers; no character has them.
_HUGE_NUMBER = re.compile(r"&#(?:[0-9]{8,}+|[xX][0-9a-fA-F]{8,}+);?")
# The value of a marked attribute. It is random for each process, so that texts cannot contain it.
MARK = f"mark-{os.urandom(8).hex()}"
# The most characters of the text after it.
_LONGEST_MARKED = 50


class Uncleanable(Exception):
    """The HTML cannot be cleaned within the limits."""


class Policy:
    """The rules for HTML that is kept. Names are in lower case; an attribute is "name", or "tag name" in one element.

    `hidden`: elements that are removed with their content. `values`: attribute -> the pattern that its whole value must
    match; if the pattern has a group, the group becomes the value. `marks`: attribute -> the pattern whose match turns
    the value into MARK, followed by a blank and the group, if there is one; other values are removed. `styles`: the
    properties that a `style` may have.
    """

    def __init__(
        self,
        *,
        tags: Sequence[str],
        attributes: Mapping[str, Sequence[str]],
        hidden: Sequence[str],
        schemes: Sequence[str],
        rel: str,
        values: Mapping[str, str],
        marks: Mapping[str, str] | None = None,
        styles: Sequence[str] = (),
        mark: str = MARK,
    ) -> None:
        # The other process builds the same policy from this.
        self.described: dict[str, Any] = {
            "tags": [*tags],
            "attributes": {tag: [*names] for tag, names in attributes.items()},
            "hidden": [*hidden],
            "schemes": [*schemes],
            "rel": rel,
            "values": {**values},
            "marks": {**(marks or {})},
            "styles": [*styles],
            "mark": mark,
        }
        self._values = {name: re.compile(pattern) for name, pattern in values.items()}
        self._marks = {name: re.compile(pattern) for name, pattern in (marks or {}).items()}
        self._cleaner = nh3.Cleaner(
            tags=set(tags),
            attributes={tag: set(names) for tag, names in attributes.items()},
            clean_content_tags=set(hidden),
            url_schemes=set(schemes),
            link_rel=rel,
            attribute_filter=_filter_of(self._values, self._marks, styles, mark),
            strip_comments=True,
        )

    def apply(self, text: str) -> str:
        """Return the cleaned HTML, without a limit of the cost."""
        return self._cleaner.clean(text).strip()


# Plain values: nothing that loads, computes, or moves an element over others.
_STYLE_VALUE = re.compile(r"(?:[\w#%.,'\"/! ]|(?<=[a-zA-Z])-(?=[a-zA-Z])){1,200}|rgba?\([0-9 ,.%]{1,50}\)")


def _filter_of(
    patterns: Mapping[str, re.Pattern[str]], marking: Mapping[str, re.Pattern[str]], styles: Sequence[str], mark: str
) -> Callable[[str, str, str], str | None]:
    """Return the function that returns the new value of an attribute, or None to remove it."""

    def decide(tag: str, name: str, value: str) -> str | None:
        full_name = f"{tag} {name}"
        if full_name in marking:
            if (marked := marking[full_name].search(value)) is None:
                return None
            return f"{mark} {marked[1][:_LONGEST_MARKED]}" if marking[full_name].groups else mark
        if name == "style":
            return _style(value)
        pattern = patterns.get(full_name) or patterns.get(name)
        if pattern is None:
            return value
        found = pattern.fullmatch(value)
        return None if found is None else found[1] if pattern.groups else value

    def _style(value: str) -> str | None:
        declarations = [declaration.partition(":") for declaration in value.split(";")[:100]]
        kept = [
            f"{name.strip().lower()}: {text.strip()}"
            for name, _colon, text in declarations
            if name.strip().lower() in styles and _STYLE_VALUE.fullmatch(text.strip())
        ]
        return "; ".join(kept) or None

    def keep(tag: str, name: str, value: str) -> str | None:
        try:
            return decide(tag, name, value)
        except Exception:  # noqa: BLE001  (nh3 would keep the value as it is)
            return None

    return keep


class Cleaned(NamedTuple):
    """Cleaned HTML, with the number of each tag, and of each attribute of a tag, before."""

    html: str
    tags: Counter[str]
    attributes: Counter[tuple[str, str]]


class CleanHtml(str):
    """HTML that a policy has cleaned. Its slices, copies and combinations are plain texts again."""

    __slots__ = ("policy",)
    policy: Policy

    def __new__(cls, html: str, policy: Policy) -> Self:
        """Mark the HTML as cleaned by this policy."""
        self = super().__new__(cls, html)
        self.policy = policy
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def clean(text: str, policy: Policy) -> CleanHtml:
    """Return the HTML cleaned by the policy; unchanged if it was cleaned before. Raises Uncleanable."""
    if isinstance(text, CleanHtml) and text.policy is policy:
        return text
    return CleanHtml(_cleaned(text, policy, is_counting=False).html, policy)


def clean_and_count(text: str, policy: Policy) -> Cleaned:
    """Return the cleaned HTML, with the tags and attributes that the text had before. Raises Uncleanable."""
    return _cleaned(text, policy, is_counting=True)


def unescape(text: str) -> str:
    """Return the text with its character references replaced, however large their numbers are."""
    return _unescape(_HUGE_NUMBER.sub("\ufffd", text))


def possible(text: str) -> str:
    """Return the text without characters that PostgreSQL cannot store."""
    try:
        # This is ten times as fast as a search for them.
        text.encode()
    except UnicodeEncodeError:
        return _IMPOSSIBLE.sub("", text)
    return text.replace("\0", "")


def _cleaned(text: str, policy: Policy, *, is_counting: bool) -> Cleaned:
    if len(text) > LONGEST:
        raise Uncleanable
    text = _HUGE_NUMBER.sub("\ufffd", possible(text))
    if is_harmless(text):
        return _count(text, is_counting)._replace(html=policy.apply(text))
    return _clean_apart(text, policy, is_counting)


def _clean_apart(text: str, policy: Policy, is_counting: bool) -> Cleaned:
    """Clean the text in the limited process. Raises Uncleanable."""
    given = {"policy": policy.described, "text": text, "is_counting": is_counting}
    try:
        html, tags, attributes = json.loads(run_limited(clean_limited, json.dumps(given).encode()))
    except BeyondLimits as error:
        raise Uncleanable from error
    return Cleaned(html, Counter(tags), Counter({(tag, name): count for tag, name, count in attributes}))


def clean_limited(content: bytes) -> bytes:
    """Do the work of the limited process."""
    given = json.loads(content)
    html = Policy(**given["policy"]).apply(given["text"])
    if len(html) > LONGEST:
        sys.exit(1)
    found = _count(given["text"], given["is_counting"])
    attributes = [(tag, name, count) for (tag, name), count in found.attributes.items()]
    return json.dumps([html, found.tags, attributes]).encode()


def _count(text: str, is_counting: bool) -> Cleaned:
    return counted(text if is_counting else "")


# The tags of HTML as browsers see them, as long as it has no mistakes.
_BLANK = r"[ \t\n\f\r]"
_NAME = r"[^ \t\n\f\r\"'<>/=]++"
_VALUE = rf"(?:{_BLANK}*+={_BLANK}*+(?:\"[^\"]*+\"|'[^']*+'|[^ \t\n\f\r\"'<>=`]++))?+"
_ATTRIBUTES = rf"(?:(?:{_BLANK}|/)++{_NAME}{_VALUE})*+(?:{_BLANK}|/)*+"
_TOKEN = re.compile(
    rf"<(?P<raw>style|title)(?:{_ATTRIBUTES})>(?:[^<]++|<(?!/(?P=raw)))*+</(?P=raw){_BLANK}*+>"
    rf"|<(?P<end>/?)(?P<name>(?!style\b|title\b)[a-z][a-z0-9:]*+)(?P<attributes>{_ATTRIBUTES})>"
    r"|<!--(?!-?>)(?:[^-]++|-(?!-))*+-->|<!(?!-)[^<>]*+>|<\?[^<>]*+>"
    # A "<" that begins no tag; and a mistake, after which the rest is skipped.
    r"|<(?![a-z/!?])|(?P<mistake><)[\s\S]*+",
    re.IGNORECASE,
)
_VOID = {"br", "hr", "img", "meta", "link", "col", "wbr"}
# Elements that a browser reopens in each following block if they were not closed.
_FORMATTING = {"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}
# Elements that need no end tag, and the elements that end them.
_OPTIONAL = {"p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "html", "head", "body"}
_ENDED_BY = {
    "p": {"p"},
    "li": {"li", "p"},
    "dt": {"dt", "dd", "p"},
    "dd": {"dt", "dd", "p"},
    "td": {"td", "th", "p"},
    "th": {"td", "th", "p"},
    "tr": {"tr", "td", "th", "p"},
}
# A second one would add its attributes to the first.
_ONCE = {"html", "head", "body"}
_PLAIN = set(
    """
    div span table caption h1 h2 h3 h4 h5 h6 ul ol dl blockquote pre center sub sup abbr cite q del ins address section
    article header footer main nav aside figure figcaption details summary kbd mark samp var dfn label
    """.split()  # noqa: SIM905
)


def is_harmless(text: str) -> bool:
    """Return whether the text is plainly no more work than its length suggests."""
    if len(text) <= _SHORT:
        return True
    if len(text) > _LONGEST_HERE or text.count("<") > _MOST_TAGS_HERE:
        return False
    elements, cost = _Elements(), 0
    for _raw, end, name, attributes, mistake in _TOKEN.findall(text):
        if mistake or len(attributes) > _LONGEST_ATTRIBUTES_HERE:
            return False
        # A browser may reopen all formatting at each tag.
        cost += elements.formatting
        if name and not (elements.close(name.lower()) if end else elements.open(name.lower(), len(attributes))):
            return False
    return cost <= _MOST_FORMATTING_HERE


class _Elements:
    """The elements that are open at a place of a text. Its methods return False if the text may not be harmless."""

    def __init__(self) -> None:
        # Their names, and their bytes if they are formatting.
        self._open: list[tuple[str, int]] = []
        self._seen: set[str] = set()
        self.formatting = 0

    def open(self, name: str, length: int) -> bool:
        """Open an element with attributes of this length."""
        if name in _VOID:
            return True
        is_formatting = name in _FORMATTING
        # Elements of word processors have a colon, and no special rules.
        if not (is_formatting or name in _PLAIN or name in _OPTIONAL or ":" in name):
            return False
        if name in _ONCE:
            if name in self._seen:
                return False
            self._seen.add(name)
        ended = _ENDED_BY.get(name)
        while ended and self._open and self._open[-1][0] in ended:
            self._open.pop()
        size = length + 100 if is_formatting else 0
        self.formatting += size
        self._open.append((name, size))
        return len(self._open) <= _DEEPEST_HERE

    def close(self, name: str) -> bool:
        """Close the element that was opened last. A block also closes the elements in it that need no end tag."""
        if name in _VOID:
            return True
        opened = self._open
        if opened and opened[-1][0] != name and name not in _FORMATTING:
            while opened and opened[-1][0] != name and opened[-1][0] in _OPTIONAL:
                opened.pop()
        if not opened or opened[-1][0] != name:
            return False
        self.formatting -= opened.pop()[1]
        return True


# Tags, even with mistakes. Comments, and the content of these elements, have no tags.
_COUNTED = re.compile(
    rf"<!--(?:[^-]++|-(?!->))*+"
    rf"|<(?P<raw>script|style|title|textarea|iframe|noembed|noframes|xmp)(?P<given>{_ATTRIBUTES})>"
    r"(?:[^<]++|<(?!/(?P=raw)))*+"
    rf"|<(?P<name>[a-z][^ \t\n\f\r/<>]*+)(?P<attributes>{_ATTRIBUTES})",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(rf"(?<![ \t\n\f\r/])(?:{_BLANK}|/)++({_NAME}){_VALUE}")
_LONGEST_NAME = 40


def counted(text: str) -> Cleaned:
    """Return the text with the numbers of its tags and their attributes."""
    tags: Counter[str] = Counter()
    attributes: Counter[tuple[str, str]] = Counter()
    for found in _COUNTED.finditer(text):
        tag = (found["raw"] or found["name"] or "").lower()[:_LONGEST_NAME]
        if tag:
            tags[tag] += 1
            given = _ATTRIBUTE.findall(found["given"] or found["attributes"] or "")
            attributes.update({(tag, name.lower()[:_LONGEST_NAME]) for name in given})
    return Cleaned(text, tags, attributes)
