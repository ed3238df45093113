"""The fragment of an article that shows why it was found: plain text, escaped, with the matches in <em>."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from html import escape
from itertools import islice
from os.path import commonprefix

from knowledgebase.search.query import Term, fold

# Where a word is, and which.
Span = tuple[int, int, str]
LENGTH = 220
# Of a long text with the word all over, these are enough to choose from.
_LOOKED_AT = 24
_BEFORE = 60


class Highlighter:
    """Marks the terms of one query, whatever accents and case the text has.

    `stemmed` are words that are marked as well: other forms of the terms that a stemmer has found in the texts. `forms`
    are all forms of a word of the query, where the dictionary has it.
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
        """The same for texts without accents in small letters: compiled in a fifth of the time, which is what counts
        where few texts are found."""
        return [(pattern, phrase) for phrase in self._phrases for pattern in phrase.patterns(re.escape)]

    def matches(self, text: str) -> bool:
        return any(True for _match in self._matches(text))

    def _matches(self, text: str) -> Iterator[Span]:
        """Yield the matches of each phrase, the first ones only, with the letters that tell it from the others."""
        # The small letters of a plain text are at the same places.
        text, patterns = (text.lower(), self._plain_patterns) if text.isascii() else (text, self._patterns)
        for pattern, phrase in patterns:
            found = filter(phrase.is_in, pattern.finditer(text))
            yield from ((*match.span(), phrase.beginning) for match in islice(found, _LOOKED_AT))

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
        """Return where the words are, in order; of those that overlap, the longest."""
        spans: list[Span] = []
        for span in sorted(self._matches(text), key=lambda span: (span[0], -span[1])):
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
        pattern = re.compile(_begun(stem[:-1] if len(stem) > 3 else stem, _letter) + r"\w*", re.DOTALL)
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


class _Phrase:
    """A word of a query, or several words in their order, as patterns that find them in a text."""

    def __init__(self, words: tuple[str, ...], *, is_prefix: bool, forms: Mapping[str, set[str]]) -> None:
        # Phrases that begin alike, as forms of one word do, count as one.
        self.beginning = words[0][:4]
        self._words = words
        self._prefix = words[-1] if is_prefix else None
        # All forms of the words that have others, by their place in the phrase.
        self._forms = {place: {word, *forms[word]} for place, word in enumerate(words) if word in forms}

    def patterns(self, letter: Callable[[str], str]) -> Iterator[re.Pattern[str]]:
        """Yield the patterns, with each letter as `letter` reads it: several if forms of the first word differ early.

        The words that have other forms are groups: a match is one only if `is_in` says so.
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
    """Return with what these words begin: a few strings, one for all words with the same first three letters."""
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(word[:3], []).append(word)
    return [commonprefix(group) for group in groups.values()]  # noqa: RUF071  (they are words, not paths)


def _begun(word: str, letter: Callable[[str], str]) -> str:
    """Return a pattern for the beginning of a word, each letter as `letter` reads it.

    It begins with the letters and no condition, so that a text is looked through in microseconds: what is before the
    word is looked at after it.
    """
    return "".join(map(letter, word)) + rf"(?<![^\W_].{{{len(word)}}})"
