"""What is different between two versions of an article, as readers would see it: by paragraphs, and by their words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from knowledgebase.html import paragraphs_of

Kind = Literal["same", "removed", "added"]
# Paragraphs around a change that are shown as well.
CONTEXT = 1
# Paragraphs that have less in common than this are two, not one that was changed.
ALIKE = 0.4
# So many of the new ones may be the one that an old one has become.
LOOKED_AHEAD = 10
# To compare longer ones word by word would take seconds.
MOST_PAIRS = 1_000_000
# Words and signs, each with the blanks before it.
_WORDS = re.compile(r"\s*(?:\w+|[^\w\s])")


@dataclass(frozen=True, slots=True)
class Piece:
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """What was kept, taken out and put in, in order; `skipped` stands for so many paragraphs that are the same."""

    pieces: tuple[Piece, ...] = ()
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    title: Paragraph
    paragraphs: list[Paragraph]
    # Whether readers see other words; if not, only what surrounds them may be different.
    is_text_changed: bool
    is_content_changed: bool


def compare(old_title: str, old_html: str, new_title: str, new_html: str) -> Comparison:
    old, new = paragraphs_of(old_html), paragraphs_of(new_html)
    return Comparison(
        title=_merged(old_title, new_title) or Paragraph((Piece("removed", old_title), Piece("added", new_title))),
        paragraphs=list(_paragraphs(old, new)),
        is_text_changed=old != new,
        is_content_changed=old_html != new_html,
    )


def _paragraphs(old: list[str], new: list[str]) -> Iterator[Paragraph]:
    for tag, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            kept = new[start:end]
            head = kept[:CONTEXT] if first else []
            tail = kept[max(len(head), len(kept) - CONTEXT) :] if last < len(old) or end < len(new) else []
            yield from (_whole("same", text) for text in head)
            if skipped := len(kept) - len(head) - len(tail):
                yield Paragraph(skipped=skipped)
            yield from (_whole("same", text) for text in tail)
        else:
            yield from _changed(old[first:last], new[start:end])


def _changed(old: list[str], new: list[str]) -> Iterator[Paragraph]:
    """Those that are alike are shown as one, word by word, in the order of both."""
    for text in old:
        alike = ((place, _merged(text, other)) for place, other in enumerate(new[:LOOKED_AHEAD]))
        place, merged = next((pair for pair in alike if pair[1]), (0, None))
        yield from (_whole("added", other) for other in new[:place])
        yield merged or _whole("removed", text)
        new = new[place + 1 :] if merged else new
    yield from (_whole("added", text) for text in new)


def _merged(old: str, new: str) -> Paragraph | None:
    """One paragraph that shows both, word by word; None where they have too little in common."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if len(before) * len(after) > MOST_PAIRS:
        return None
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < ALIKE:
        return None
    pieces: list[Piece] = []
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(after[start:end])))
            continue
        if last > first:
            pieces.append(Piece("removed", "".join(before[first:last])))
        if end > start:
            pieces.append(Piece("added", "".join(after[start:end])))
    return Paragraph(tuple(pieces))


def _whole(kind: Kind, text: str) -> Paragraph:
    return Paragraph((Piece(kind, text),))
