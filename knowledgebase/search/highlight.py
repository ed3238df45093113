"""The fragment of an article that shows why a search found it: escaped text with the matches in <em>."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from html import escape
from itertools import islice
from os.path import commonprefix

from knowledgebase.search.query import Term, fold

# The start and end of a match, and the beginning of its word.
Span = tuple[int, int, str]
LENGTH = 220
# Matches of one word that are considered in a text.
_LOOKED_AT = 24
_BEFORE = 60


class Highlighter:
    """Marks the terms of one query in texts; accents and case do not matter.

    It also marks the words in `stemmed`, which a stemmer found in the texts, and the `forms` of the query's words that
    the dictionary has.
    """

    def __init__(
        self, terms: Iterable[Term], stemmed: Iterable[str] = (), forms: Mapping[str, set[str]] | None = None
    ) -> None:
        phrases: dict[tuple[str, ...], bool] = {(fold(word),): False for word in stemmed}
        for term in terms:
            words = tuple(map(fold, term.words))
            phrases[words] = phrases.get(words, False) or term.is_prefix
        self._phrases = [_Phrase(words, is_prefix=is_prefix, forms=forms or {}) for words, is_prefix in phrases.items()]

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], "_Phrase"]]:
        return [(pattern, phrase) for phrase in self._phrases for pattern in phrase.patterns(_letter)]

    @cached_property
    def _plain_patterns(self) -> list[tuple[re.Pattern[str], "_Phrase"]]:
        """Patterns for texts in small letters without accents. They compile in a fifth of the time."""
        return [(pattern, phrase) for phrase in self._phrases for pattern in phrase.patterns(re.escape)]

    def matches(self, text: str) -> bool:
        return any(True for _match in self._matches(text))

    def _matches(self, text: str) -> Iterator[Span]:
        """Yield the first matches of each phrase."""
        # In ASCII, small letters have the same positions as the original ones.
        text, patterns = (text.lower(), self._plain_patterns) if text.isascii() else (text, self._patterns)
        for pattern, phrase in patterns:
            found = filter(phrase.is_in, pattern.finditer(text))
            yield from ((*match.span(), phrase.beginning) for match in islice(found, _LOOKED_AT))

    def mark(self, title: str, text: str) -> str:
        """Return the best fragment of the text. If only the title matches, return title and beginning of the text."""
        if spans := self._spans(text):
            return self._fragment(text, spans)
        beginning = escape(_cut(text, 0, LENGTH))
        if titled := self._spans(title):
            marked = _marked(title, 0, len(title), titled)
            return f"{marked} – {beginning}" if beginning else marked
        return beginning or escape(title)

    def _spans(self, text: str) -> list[Span]:
        """Return the spans of the matches in order; of overlapping ones, the first and longest."""
        spans: list[Span] = []
        for span in sorted(self._matches(text), key=lambda span: (span[0], -span[1])):
            if not spans or span[0] >= spans[-1][1]:
                spans.append(span)
        return spans

    def _fragment(self, text: str, spans: list[Span]) -> str:
        """Return the fragment with the most different words, then the most matches, then the first one."""
        best, best_score = spans[0][0], (0, 0)
        beyond = 0
        for position, (start, _end, _word) in enumerate(spans):
            while beyond < len(spans) and spans[beyond][1] <= start + LENGTH - _BEFORE:
                beyond += 1
            score = (len({word for _start, _end, word in spans[position:beyond]}), beyond - position)
            if score > best_score:
                best, best_score = start, score
        start = _word_boundary(text, max(best - _BEFORE, 0))
        # A very long word before the match must not push the match out.
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
    """Return the position of the next beginning of a word."""
    if at == 0:
        return 0
    blank = text.find(" ", at - 1)
    return at if blank < 0 else blank + 1


def words_like(stems: Iterable[str], text: str) -> set[str]:
    """Return the words of a text that begin like a stem. The database decides which are its forms."""
    found: set[str] = set()
    for stem in stems:
        pattern = re.compile(_begun(stem[:-1] if len(stem) > 3 else stem, _letter) + r"\w*", re.DOTALL)
        found |= {match[0].lower() for match in islice(pattern.finditer(text), _LOOKED_AT)}
    return found


@cache
def _variants() -> dict[str, str]:
    """Return the accented variants of each letter that has some."""
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


class _Phrase:
    """A word or phrase of a query, as patterns that find it in a text."""

    def __init__(self, words: tuple[str, ...], *, is_prefix: bool, forms: Mapping[str, set[str]]) -> None:
        # Phrases with one beginning, such as forms of one word, count as one.
        self.beginning = words[0][:4]
        self._words = words
        self._prefix = words[-1] if is_prefix else None
        # All forms of the words that have others, by their place in the phrase.
        self._forms = {place: {word, *forms[word]} for place, word in enumerate(words) if word in forms}

    def patterns(self, letter: Callable[[str], str]) -> Iterator[re.Pattern[str]]:
        """Yield the patterns: several if the forms of the first word begin differently.

        `letter` returns the pattern of a letter. Words with other forms are groups, which `is_in` checks.
        """
        last = len(self._words) - 1
        others = [self._word(place, letter) for place in range(1, last + 1)]
        rest = "" if last in self._forms else r"\w*" if self._prefix else r"(?![^\W_])"
        for beginning in _beginnings(self._forms.get(0, {self._words[0]})):
            first = _begun(beginning, letter)
            yield re.compile(
                r"[\W_]+".join([rf"({first}\w*)" if 0 in self._forms else first, *others]) + rest, re.DOTALL
            )

    def is_in(self, match: re.Match[str]) -> bool:
        """Return whether the words of a match are forms of the words of this phrase."""
        last = len(self._words) - 1
        for place, word in zip(self._forms, map(fold, match.groups()), strict=True):
            is_begun = place == last and self._prefix is not None and word.startswith(self._prefix)
            if not is_begun and word not in self._forms[place]:
                return False
        return True

    def _word(self, place: int, letter: Callable[[str], str]) -> str:
        if place not in self._forms:
            return "".join(map(letter, self._words[place]))
        beginnings = ("".join(map(letter, beginning)) for beginning in _beginnings(self._forms[place]))
        return rf"((?:{'|'.join(beginnings)})\w*)"


def _beginnings(words: set[str]) -> list[str]:
    """Return the common beginning of each group of words with the same first three letters."""
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(word[:3], []).append(word)
    return [commonprefix(group) for group in groups.values()]  # noqa: RUF071  (they are words, not paths)


def _begun(word: str, letter: Callable[[str], str]) -> str:
    """Return a pattern for the beginning of a word. `letter` returns the pattern of a letter.

    The condition on the text before the word comes last: a pattern that begins with letters is many times faster.
    """
    return "".join(map(letter, word)) + rf"(?<![^\W_].{{{len(word)}}})"
