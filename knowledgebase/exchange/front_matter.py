"""The head of a file (front matter): YAML between two lines of dashes, with id, title, author and state.

The library python-frontmatter reads no head inside an HTML comment and leaves YAML to PyYAML, so it would not shorten
this module.
"""

import json
import re
from contextlib import suppress
from typing import Any

import yaml
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

NAMES = ("id", "title", "author", "published")
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_COMMENT = re.compile(r"\A\ufeff?\s*<!--[ \t]*\r?\n(.*?)\r?\n[ \t]*-->", re.DOTALL)
_NAMED = rf"^[\"']?(?:{'|'.join(NAMES)})[\"']?[ \t]*:"
_IS_OURS = re.compile(_NAMED, re.IGNORECASE | re.MULTILINE)
# A plain value: it begins with none of the characters that have a meaning in YAML.
_AS_IT_STANDS = re.compile(rf"({_NAMED}[ \t]+)([^\s\"'\[\]{{}}>|*&!%#`@,?:-].*)$", re.IGNORECASE | re.MULTILINE)
# Longer heads take seconds to parse.
_LONGEST_HEAD = 20_000


def split(text: str) -> tuple[dict[str, str], str]:
    """Return the values of the head by name, and the text. An HTML file has its head in a comment."""
    found = _HEAD.match(text) or _COMMENT.match(text)
    if found is not None and _IS_OURS.search(found[1]):
        values = _values(found[1].replace("\r", ""))
        if values:
            return values, text[found.end() :]
    return {}, text.removeprefix("\ufeff")


def join(values: dict[str, str | bool], text: str, *, is_html: bool) -> str:
    first, last = ("<!--", "-->") if is_html else ("---", "---")
    # Two dashes and a bracket would end the comment.
    safe = {name: value.replace("-->", "--&gt;") if isinstance(value, str) else value for name, value in values.items()}
    head = yaml.safe_dump(safe, allow_unicode=True, sort_keys=False, width=float("inf"))
    return "\n".join([first, head.rstrip("\n"), last, "", text.strip(), ""])


def _values(head: str) -> dict[str, str]:
    values = {}
    read = _read(head)
    for name, value in read.items() if isinstance(read, dict) else ():
        known = name.strip().lower()
        if known not in NAMES:
            continue
        if not isinstance(value, str):
            raise ValidationError(_("The head of the file has no text as its %(name)s."), params={"name": known})
        values[known] = " ".join(value.split()).replace("--&gt;", "-->")
    return values


def _read(head: str) -> Any:
    if len(head) > _LONGEST_HEAD:
        raise ValidationError(
            _("The head of the file has more than %(limit)s characters."), params={"limit": _LONGEST_HEAD}
        )
    # A colon in a plain value (`title: Returns: how they work`) is no valid YAML. Quote such values and parse again.
    quoted = _AS_IT_STANDS.sub(lambda line: line[1] + json.dumps(line[2].rstrip(), ensure_ascii=False), head)
    try:
        with suppress(yaml.MarkedYAMLError):
            return _parsed(head)
        return _parsed(quoted)
    except (yaml.YAMLError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise ValidationError(_("The head of the file is no YAML: %(problem)s"), params={"problem": problem}) from error


def _parsed(head: str) -> Any:
    """Return the content of the YAML with each value as text, because a title may be 2026, or "no"."""
    return yaml.load(head, Loader=yaml.BaseLoader)  # noqa: S506  (it makes texts, lists and mappings only)
