"""HTML of articles: sanitised when it is saved, with a list of the removed parts, and read as plain text."""

import re
from dataclasses import dataclass
from itertools import islice

from callcentre.core import html_cleaning
from callcentre.core.html_cleaning import Cleaned as Counted
from callcentre.core.html_cleaning import Policy, unescape
from callcentre.core.normal_forms import normalised

# The path of images of articles. Other images are removed, because loading them would tell another server who reads.
IMAGES_PATH = "/knowledge-base/images/"
IMAGE_SOURCE = re.compile(rf"(?:https?://[^/]+)?{IMAGES_PATH}([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})")

_EVERYWHERE = ("title", "lang", "dir")
_ATTRIBUTES = {
    "a": ("href",),
    "img": ("src", "alt", "width", "height"),
    "ol": ("start",),
    "td": ("colspan", "rowspan"),
    "th": ("colspan", "rowspan", "scope"),
    "details": ("open",),
}
_TAGS = set(
    re.findall(
        r"\S+",
        """
        a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6
        hr i img ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u
        ul var
        """,
    )
)
_POLICY = Policy(
    tags=sorted(_TAGS),
    attributes={"*": _EVERYWHERE, **_ATTRIBUTES},
    # The content of these tags is no text of the article, and is removed with them.
    hidden=("script", "style", "template", "noscript", "iframe", "object", "title"),
    schemes=("http", "https", "mailto", "tel"),
    rel="noopener noreferrer",
    values={
        "img src": rf"\A\s*(?:https?://[^/]+)?({IMAGES_PATH}[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})\s*",
        "img width": "[0-9]+",
        "img height": "[0-9]+",
    },
)
# Tags that the HTML parser adds or drops by itself.
_STRUCTURE = {"html", "head", "body", "tbody"}
# Attributes that the sanitiser adds to each link.
_ADDED = {("a", "rel")}
_IMAGE = re.compile(r'<img((?:\s+[\w-]+="[^"]*")*)\s*>')
# Tags that separate no words; all others do.
_INLINE = {"a", "abbr", "b", "code", "del", "em", "i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span"}
_INLINE |= {"strong", "sub", "sup", "u", "var", "img"}
_BLOCKS = _TAGS - _INLINE
# Tags of cleaned HTML, in which no attribute has a "<" or ">".
_TAG = re.compile(r"<(/?)([a-zA-Z0-9]*+)([^<>]*+)>")
_DESCRIPTION = re.compile(r"\salt=\"([^\"]*)\"")
# Removed parts that a version lists.
_MOST_NAMED = 50


@dataclass(frozen=True, slots=True)
class Cleaned:
    html: str
    # Removed parts, such as "<script>" or "onclick <p>" -> how often.
    removed: dict[str, int]


def clean(html: str) -> Cleaned:
    """Return the HTML without scripts, foreign addresses and deceptive styles. Raises Uncleanable."""
    found = html_cleaning.clean_and_count(possible(html), _POLICY)
    cleaned = _IMAGE.sub(lambda image: image[0] if ' src="' in image[1] else "", found.html).strip()
    return Cleaned(cleaned, _removed(found, html_cleaning.counted(cleaned)))


def possible(text: str) -> str:
    return normalised("NFC", html_cleaning.possible(text))


def text_of(html: str) -> str:
    """Return the text that a reader sees, in one line, with a blank between blocks."""
    return " ".join(unescape(_TAG.sub(lambda tag: " " if tag[2].lower() in _BLOCKS else "", html)).split())


def paragraphs_of(html: str) -> list[str]:
    """Return the text that a reader sees, block by block; an image is its description in brackets."""

    def parted(tag: re.Match[str]) -> str:
        name = tag[2].lower()
        if name == "img":
            found = _DESCRIPTION.search(tag[3])
            return f" [{found[1] if found and found[1] else '…'}] "
        return "\n" if name in _BLOCKS else ""

    # Line breaks of the source count as blanks.
    lines = _TAG.sub(parted, html.replace("\n", " ")).split("\n")
    return [line for line in (" ".join(unescape(line).split()) for line in lines) if line]


def image_ids(html: str) -> set[str]:
    """Return the ids of the images that the HTML shows."""
    return set(IMAGE_SOURCE.findall(html))


def with_absolute_images(html: str, base: str) -> str:
    """Return the HTML with absolute addresses of images. `base` has no slash at its end."""
    return html.replace(f'src="{IMAGES_PATH}', f'src="{base}{IMAGES_PATH}')


def _removed(before: Counted, after: Counted) -> dict[str, int]:
    tags = before.tags - after.tags
    removed = {f"<{tag}>": count for tag, count in sorted(tags.items()) if tag not in _STRUCTURE}
    for (tag, name), count in sorted((before.attributes - after.attributes).items()):
        if tag not in _TAGS or (tag, name) in _ADDED:
            continue
        # Permitted attributes that went with their tag need no line of their own.
        is_known = name in (*_EVERYWHERE, *_ATTRIBUTES.get(tag, ()))
        if (rest := count - tags[tag] if is_known else count) > 0:
            removed[f"{name} <{tag}>"] = rest
    return dict(islice(removed.items(), _MOST_NAMED))
