"""Differences between two versions of an article, as readers see them: by paragraph, then by word."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from itertools import takewhile
from typing import Any, Literal

from knowledgebase.html import paragraphs_of

Kind = Literal["same", "removed", "added"]
# Paragraphs around a change that are shown as well.
CONTEXT = 1
# Two paragraphs with a lower share of common words are shown as two, not as one that was changed.
ALIKE = 0.4
# For each old paragraph, this many new ones are compared with it.
LOOKED_AHEAD = 10
# Steps of one comparison: less than half a second. The rest is then shown as removed and added.
MOST_STEPS = 2_000_000
# Paragraphs on a page.
MOST_SHOWN = 2_000
# Words and signs, each with the blanks before it.
_WORDS = re.compile(r"(?:(?<!\s)\s+)?(?:\w+|[^\w\s])")


@dataclass(frozen=True, slots=True)
class Piece:
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Kept, removed and added pieces in order; or a number of `skipped` paragraphs that are the same."""

    pieces: tuple[Piece, ...] = ()
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Title and paragraphs of both versions, and the number of paragraphs that are not shown."""

    title: Paragraph
    paragraphs: list[Paragraph]
    more: int
    # Whether readers see other words. If not, the markup may have changed.
    is_text_changed: bool
    is_content_changed: bool


def compare(old_title: str, old_html: str, new_title: str, new_html: str) -> Comparison:
    """Return the differences. The time is bounded: very different long versions are compared less exactly."""
    old, new = paragraphs_of(old_html), paragraphs_of(new_html)
    work = _Work()
    title = work.merged(old_title, new_title)
    paragraphs = list(work.paragraphs(old, new))
    return Comparison(
        title=title or Paragraph((Piece("removed", old_title), Piece("added", new_title))),
        paragraphs=paragraphs[:MOST_SHOWN],
        more=max(len(paragraphs) - MOST_SHOWN, 0),
        is_text_changed=old != new,
        is_content_changed=old_html != new_html,
    )


class _TooMuch(Exception):
    """The comparison has taken all its steps."""


class _Matcher(SequenceMatcher[str]):
    """A matcher that counts its steps."""

    a: Sequence[str]
    b2j: dict[str, list[int]]

    def __init__(self, work: "_Work", old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._work = work

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        steps: list[int] = [1 + len(self.b2j.get(each, ())) for each in self.a[alo:ahi]]
        self._work.spend(sum(steps))
        return super().find_longest_match(alo, ahi, blo, bhi)


class _Work:
    """One comparison, with its remaining steps."""

    def __init__(self) -> None:
        self._left = MOST_STEPS
        self._words: dict[str, list[str]] = {}

    def spend(self, steps: int) -> None:
        """Count steps before they are taken. Raises _TooMuch if too few remain."""
        self._left -= steps
        if self._left < 0:
            raise _TooMuch

    def paragraphs(self, old: list[str], new: list[str]) -> Iterator[Paragraph]:
        """Yield the shown paragraphs of both versions, in order."""
        try:
            opcodes: list[Any] = _Matcher(self, old, new).get_opcodes()
        except _TooMuch:
            head = len([*takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))])
            opcodes = [("equal", 0, head, 0, head)] if head else []
            opcodes.append(("replace", head, len(old), head, len(new)))
        for tag, first, last, start, end in opcodes:
            if tag == "equal":
                yield from _around(new[start:end], is_first=not first, is_last=last == len(old) and end == len(new))
            else:
                yield from self._changed(old[first:last], new[start:end])

    def _changed(self, old: list[str], new: list[str]) -> Iterator[Paragraph]:
        """Yield similar paragraphs merged word by word, and the others whole, in the order of both versions."""
        begin = 0
        for text in old:
            alike = ((place, self.merged(text, new[place])) for place in range(begin, len(new))[:LOOKED_AHEAD])
            place, merged = next((pair for pair in alike if pair[1]), (begin, None))
            yield from (_whole("added", other) for other in new[begin:place])
            yield merged or _whole("removed", text)
            begin = place + 1 if merged else begin
        yield from (_whole("added", text) for text in new[begin:])

    def merged(self, old: str, new: str) -> Paragraph | None:
        """Return one paragraph that shows both texts, word by word; None if they have too little in common."""
        try:
            before, after = self._words_of(old), self._words_of(new)
            self.spend(len(before) + len(after))
            matcher = _Matcher(self, before, after)
            if matcher.quick_ratio() < ALIKE or matcher.ratio() < ALIKE:
                return None
            opcodes = matcher.get_opcodes()
        except _TooMuch:
            return None
        pieces: list[Piece] = []
        for tag, first, last, start, end in opcodes:
            if tag == "equal":
                pieces.append(Piece("same", "".join(after[start:end])))
                continue
            if last > first:
                pieces.append(Piece("removed", "".join(before[first:last])))
            if end > start:
                pieces.append(Piece("added", "".join(after[start:end])))
        return Paragraph(tuple(pieces))

    def _words_of(self, text: str) -> list[str]:
        if self._left < 0:
            raise _TooMuch
        if text not in self._words:
            self._words[text] = _WORDS.findall(text)
        return self._words[text]


def _around(kept: list[str], *, is_first: bool, is_last: bool) -> Iterator[Paragraph]:
    """Yield the equal paragraphs next to a change, and one that stands for the skipped ones."""
    head = [] if is_first else kept[:CONTEXT]
    tail = [] if is_last else kept[max(len(head), len(kept) - CONTEXT) :]
    yield from (_whole("same", text) for text in head)
    if skipped := len(kept) - len(head) - len(tail):
        yield Paragraph(skipped=skipped)
    yield from (_whole("same", text) for text in tail)


def _whole(kind: Kind, text: str) -> Paragraph:
    return Paragraph((Piece(kind, text),))
