"""HTML of articles: made safe when it is saved, with a list of what was taken out, and read as plain text."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from html.parser import HTMLParser

import nh3

# Where images of articles are; no other image stays in an article, so that reading one tells nobody else.
IMAGES_PATH = "/knowledge-base/images/"
IMAGE_SOURCE = re.compile(rf"(?:https?://[^/]+)?{IMAGES_PATH}([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})")

_EVERYWHERE = {"title", "lang", "dir"}
_ATTRIBUTES = {
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "details": {"open"},
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
# What these hold is no text of the article: it goes with them.
_WITH_CONTENT = {"script", "style", "template", "noscript", "iframe", "object", "title"}
# What the parser of HTML adds or drops by itself, and nobody misses.
_STRUCTURE = {"html", "head", "body", "tbody"}
# Added to every link: it is not the author's.
_ADDED = {("a", "rel")}
_IMAGE = re.compile(r'<img((?:\s+[\w-]+="[^"]*")*)\s*>')
# Between these there are no words without a blank.
_INLINE = {"a", "abbr", "b", "code", "del", "em", "i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span"}
_INLINE |= {"strong", "sub", "sup", "u", "var", "img"}
_BLOCKS = _TAGS - _INLINE
# PostgreSQL has no text with NUL; half a surrogate pair is no character.
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Cleaned:
    html: str
    # What was taken out: "<script>", "onclick" or "src of <img>" -> how often.
    removed: dict[str, int]


def clean(html: str) -> Cleaned:
    """The HTML without whatever could run, reach out or dress up as something else."""
    html = possible(html)
    cleaned = nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags=_WITH_CONTENT,
        attributes={"*": _EVERYWHERE, **_ATTRIBUTES},
        attribute_filter=_filter,
        url_schemes={"http", "https", "mailto", "tel"},
        link_rel="noopener noreferrer",
        strip_comments=True,
    )
    cleaned = _IMAGE.sub(lambda image: image[0] if ' src="' in image[1] else "", cleaned)
    return Cleaned(cleaned.strip(), _removed(html, cleaned))


def possible(text: str) -> str:
    return unicodedata.normalize("NFC", _IMPOSSIBLE.sub("", text))


def text_of(html: str) -> str:
    """What a reader reads, in one line: blocks are parted by a blank."""
    reader = _Text()
    reader.feed(html)
    reader.close()
    return " ".join("".join(reader.parts).split())


def paragraphs_of(html: str) -> list[str]:
    """What a reader reads, block by block; a picture is its description in brackets."""
    reader = _Text(parting="\n", with_images=True)
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return [line for line in lines if line]


def image_ids(html: str) -> set[str]:
    """Ids of the images that the HTML shows."""
    return set(IMAGE_SOURCE.findall(html))


def with_absolute_images(html: str, base: str) -> str:
    """For readers elsewhere: images with the whole address. `base` has no slash at its end."""
    return html.replace(f'src="{IMAGES_PATH}', f'src="{base}{IMAGES_PATH}')


def _filter(tag: str, name: str, value: str) -> str | None:
    if tag == "img" and name == "src":
        found = IMAGE_SOURCE.fullmatch(value.strip())
        return f"{IMAGES_PATH}{found[1]}" if found else None
    if tag == "img" and name in ("width", "height"):
        return value if value.isascii() and value.isdecimal() else None
    return value


class _Text(HTMLParser):
    def __init__(self, parting: str = " ", *, with_images: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._parting = parting
        self._with_images = with_images

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.parts.append(self._parting)
        if tag == "img" and self._with_images:
            self.parts.append(f" [{dict(attributes).get('alt') or '…'}] ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.parts.append(self._parting)

    def handle_data(self, data: str) -> None:
        # Line breaks of the source are blanks.
        self.parts.append(data.replace("\n", " "))


class _Inventory(HTMLParser):
    """Tags and attributes of a text, counted."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.attributes: Counter[tuple[str, str]] = Counter()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in _STRUCTURE:
            self.tags[tag] += 1
            self.attributes.update({(tag, name) for name, _value in attributes})


def _removed(given: str, cleaned: str) -> dict[str, int]:
    before, after = _Inventory(given), _Inventory(cleaned)
    tags = before.tags - after.tags
    removed = {f"<{tag}>": count for tag, count in sorted(tags.items())}
    for (tag, name), count in sorted((before.attributes - after.attributes).items()):
        if tag not in _TAGS or (tag, name) in _ADDED:
            continue
        # What its tag may have and went with it needs no line of its own.
        is_known = name in _EVERYWHERE | _ATTRIBUTES.get(tag, set())
        if (rest := count - tags[tag] if is_known else count) > 0:
            removed[f"{name} <{tag}>"] = rest
    return removed
