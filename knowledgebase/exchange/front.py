"""The head of a file: what an article has beside its text, as `name: value` lines between two lines of dashes."""

import re

_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_COMMENT = re.compile(r"\A\ufeff?\s*<!--[ \t]*\r?\n(.*?)\r?\n[ \t]*-->", re.DOTALL)
NAMES = ("id", "title", "author", "published")


def split(text: str) -> tuple[dict[str, str], str]:
    """The head's values by name, and the rest. An HTML file has its head in a comment."""
    found = _HEAD.match(text) or _COMMENT.match(text)
    if found is None:
        return {}, text.removeprefix("\ufeff")
    values = {}
    for line in found[1].splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip().lower() in NAMES:
            values[name.strip().lower()] = _plain(value.strip())
    if not values:
        return {}, text.removeprefix("\ufeff")
    return values, text[found.end() :]


def join(values: dict[str, str], text: str, *, is_html: bool) -> str:
    first, last = ("<!--", "-->") if is_html else ("---", "---")
    # Two dashes and a bracket would end the comment.
    lines = [f"{name}: {' '.join(value.split()).replace('-->', '--&gt;')}" for name, value in values.items()]
    return "\n".join([first, *lines, last, "", text.strip(), ""])


def _plain(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return value.replace("--&gt;", "-->")
