"""The fragment of an article that shows why it was found: plain text, escaped, with the matches in <em>."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from html import escape
from itertools import islice

from knowledgebase.search.query import Term, fold

# Where a word is, and which.
Span = tuple[int, int, str]
LENGTH = 220
# Of a long text with the word all over, these are enough to choose from.
_LOOKED_AT = 24
_BEFORE = 60


class Highlighter:
    """Marks the terms of one query, whatever accents and case the text has.

    `forms` are words that are marked as well: other forms of the terms, in a language with inflections.
    """

    def __init__(self, terms: Iterable[Term], forms: Iterable[str] = ()) -> None:
        phrases: dict[tuple[str, ...], bool] = {(fold(form),): False for form in forms}
        for term in terms:
            words = tuple(map(fold, term.words))
            phrases[words] = phrases.get(words, False) or term.is_prefix
        self._phrases = [
            (words, r"\w*" if is_prefix else r"(?![^\W_])", words[0][:4]) for words, is_prefix in phrases.items()
        ]

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """One for each word or phrase; those that begin alike, as forms of one word do, count as one."""
        return [(_begun(words, rest, _letter), word) for words, rest, word in self._phrases]

    @cached_property
    def _plain_patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """The same for texts without accents in small letters: compiled in a fifth of the time, which is what counts
        where few texts are found."""
        return [(_begun(words, rest, re.escape), word) for words, rest, word in self._phrases]

    def _reading(self, text: str) -> tuple[str, list[tuple[re.Pattern[str], str]]]:
        """The text with the same letters at the same places, and what to look for in it."""
        return (text.lower(), self._plain_patterns) if text.isascii() else (text, self._patterns)

    def matches(self, text: str) -> bool:
        text, patterns = self._reading(text)
        return any(pattern.search(text) for pattern, _word in patterns)

    def mark(self, title: str, text: str) -> str:
        """The best fragment of the text; where only the title matches, the title, and how the text begins."""
        if spans := self._spans(text):
            return self._fragment(text, spans)
        beginning = escape(_cut(text, 0, LENGTH))
        if titled := self._spans(title):
            marked = _marked(title, 0, len(title), titled)
            return f"{marked} – {beginning}" if beginning else marked
        return beginning or escape(title)

    def _spans(self, text: str) -> list[Span]:
        """Where the words are, in order; of those that overlap, the longest."""
        text, patterns = self._reading(text)
        found = [
            (*match.span(), word) for pattern, word in patterns for match in islice(pattern.finditer(text), _LOOKED_AT)
        ]
        if len(patterns) == 1:
            return found
        spans: list[Span] = []
        for span in sorted(found, key=lambda span: (span[0], -span[1])):
            if not spans or span[0] >= spans[-1][1]:
                spans.append(span)
        return spans

    def _fragment(self, text: str, spans: list[Span]) -> str:
        """Around the match with the most different words in reach, then the most matches; the first of equal ones."""
        best, best_score = spans[0][0], (0, 0)
        beyond = 0
        for position, (start, _end, _word) in enumerate(spans):
            while beyond < len(spans) and spans[beyond][1] <= start + LENGTH - _BEFORE:
                beyond += 1
            score = (len({word for _start, _end, word in spans[position:beyond]}), beyond - position)
            if score > best_score:
                best, best_score = start, score
        start = _word_boundary(text, max(best - _BEFORE, 0))
        # A word longer than a fragment is no reason to lose the match.
        start = min(start, best)
        end = min(start + LENGTH, len(text))
        if end < len(text) and (blank := text.rfind(" ", best, end)) > best:
            end = blank
        marked = _marked(text, start, end, [span for span in spans if start <= span[0] < end])
        return f"{'… ' if start else ''}{marked}{' …' if end < len(text) else ''}"


def _marked(text: str, start: int, end: int, spans: list[Span]) -> str:
    parts = []
    at = start
    for first, last, _word in spans:
        last = min(last, end)
        parts += [escape(text[at:first]), "<em>", escape(text[first:last]), "</em>"]
        at = last
    return "".join([*parts, escape(text[at:end])])


def _cut(text: str, start: int, end: int) -> str:
    if end >= len(text):
        return text[start:]
    blank = text.rfind(" ", start, end)
    return f"{text[start : blank if blank > start else end]} …"


def _word_boundary(text: str, at: int) -> int:
    """Where the next word begins, at or after this place."""
    if at == 0:
        return 0
    blank = text.find(" ", at - 1)
    return at if blank < 0 else blank + 1


def like(stems: Iterable[str], text: str) -> set[str]:
    """The text's words that begin as a stem does, or nearly: which of them are its forms, the database knows."""
    found: set[str] = set()
    for stem in stems:
        pattern = _begun([stem[:-1] if len(stem) > 3 else stem], r"\w*", _letter)
        found |= {match[0].lower() for match in islice(pattern.finditer(text), _LOOKED_AT)}
    return found


@cache
def _variants() -> dict[str, str]:
    """Letter -> all letters that are the same without accents; only those that have such."""
    found: dict[str, list[str]] = {}
    for code in range(0xC0, 0x2000):
        char = chr(code)
        if unicodedata.category(char).startswith("L") and len(base := fold(char)) == 1:
            found.setdefault(base, []).append(char)
    return {base: "".join(chars) for base, chars in found.items()}


@cache
def _letter(char: str) -> str:
    letters = {char, *(char.upper() if len(char.upper()) == 1 else ""), *_variants().get(char, "")}
    return f"[{re.escape(''.join(sorted(letters)))}]"


def _begun(words: Sequence[str], rest: str, letter: Callable[[str], str]) -> re.Pattern[str]:
    """The beginning of a word, or words in their order, each letter as `letter` reads it; and what follows.

    It begins with the letters and no condition, so that a text is looked through in microseconds: what is before the
    first word is looked at after it.
    """
    first, *others = ("".join(map(letter, word)) for word in words)
    before = rf"(?<![^\W_].{{{len(words[0])}}})"
    return re.compile(r"[\W_]+".join([first + before, *others]) + rest, re.DOTALL)
