"""Candidates: of the many articles with common words, those that are worth ranking (docs/decisions/0012)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

# Up to this many matches, all are ranked.
ALL_RANKED = 5000
# Candidates for one word or the beginning of words, if more match.
CANDIDATES = 100
# Candidates for a longer beginning, with several such words in the title.
MOST_SEVERAL = 400
# Candidates for several words.
CANDIDATES_TOGETHER = 3000
# Titles with all of several words rank best. With more than FIRST_TITLES of them, fewer others are ranked. TITLES fill
# a page, so no others are.
FIRST_TITLES, TITLES, MOST_TITLES = 8, 80, 1500


@dataclass(slots=True)
class Frequency:
    """How common a word of a query is in the catalog, and in how many articles it stands out."""

    articles: int = 0
    # Level -> lexeme -> articles.
    peaks: dict[int, dict[str, int]] = field(default_factory=dict)
    terms: set[str] = field(default_factory=set)
    # '=' and a beginning of four letters or more: one key for all words with this beginning.
    beginning: str = ""
    # The query for articles with several words of this beginning in their title.
    several: str = ""

    def add(self, term: str, articles: int, levels: Sequence[int], counts: Sequence[int]) -> None:
        if term in self.terms:
            return  # The word is its own stem.
        self.terms.add(term)
        if self.beginning and term.startswith("^"):
            few = [level for level, count in zip(levels, counts, strict=True) if count <= MOST_SEVERAL]
            self.several = f"'{min(few)}{term}'" if few else ""
            return
        self.articles += articles
        for level, count in zip(levels, counts, strict=True):
            self.peaks.setdefault(level, {})[term] = count

    def best(self, wanted: float) -> str:
        """Return a query of peaks for about `wanted` articles or more: those in which the word stands out most."""
        chosen: list[int] = []
        for level in sorted(self.peaks, reverse=True):
            chosen = self._from(level)
            if sum(sum(self.peaks[one].values()) for one in chosen) >= 0.7 * wanted:
                break
        return self._query(chosen)

    @property
    def is_beginning(self) -> bool:
        return any(term.startswith("^") for terms in self.peaks.values() for term in terms)

    @property
    def title_levels(self) -> list[int]:
        return [level for level in ((14,) if self.is_beginning else (10, 20, 30)) if level in self.peaks]

    @property
    def titles(self) -> int:
        """The number of articles with the word in their title; for a beginning, also those that repeat it."""
        return sum(sum(self.peaks[level].values()) for level in self.title_levels)

    def in_titles(self) -> str:
        return self._query(self.title_levels)

    def _query(self, levels: Iterable[int]) -> str:
        lexemes = dict.fromkeys(self._lexeme(level, term) for level in levels for term in self.peaks[level])
        if self.several:
            lexemes[self.several] = None
        return f"({' | '.join(lexemes)})"

    def _from(self, level: int) -> list[int]:
        """Return the levels that together mean this level and all above it; knowledgebase_peaks numbers them."""
        if self.is_beginning:
            return [level]
        return [level, *(title for title in (10, 20, 30) if title > level and title in self.peaks)]

    def _lexeme(self, level: int, term: str) -> str:
        if self.beginning and term.startswith(self.beginning):
            return f"'{level:02}{self.beginning}':*"
        return f"'{level:02}{term}'"


def candidates(words: Sequence[Frequency], written: Sequence[Frequency], total: int) -> tuple[str, bool]:
    """Return a query of peaks for the articles to rank; "" if few match, so that all are ranked.

    `words` are the words in all their forms, `written` the words as they are written, which rank best. The second value
    is True if few articles have the written words: then all of these are ranked too.
    """
    if [*words] == [*written]:
        return _standing_out(words, total, CANDIDATES_TOGETHER), False
    inflected, exact = (_standing_out(one, total, CANDIDATES_TOGETHER / 2) for one in (words, written))
    if not inflected:
        return "", False
    return (f"{inflected} | {exact}", False) if exact else (inflected, True)


def _standing_out(words: Sequence[Frequency], total: int, together: float) -> str:
    """Return a query for the articles in which these words stand out; "" if few articles have them.

    Several words: the articles with all of them in the title. If these are too few or too many, add the articles in
    which all of the words stand out, and those in which one word stands out most.
    """
    if not words or not total:
        return ""
    shares = [min(word.articles / total, 1.0) for word in words]
    if total * math.prod(shares) <= ALL_RANKED or not all(word.peaks for word in words):
        return ""
    if len(words) == 1:
        return words[0].best(CANDIDATES)
    titles = total * math.prod(word.titles / total for word in words)
    in_titles = " & ".join(word.in_titles() for word in words)
    if TITLES <= titles <= MOST_TITLES:
        return in_titles
    groups = []
    if 0 < titles < TITLES:
        groups.append(in_titles)
        together *= min(FIRST_TITLES / titles, 1) ** 2
    share = (together / total) ** (1 / len(words))
    groups.append(" & ".join(word.best(share * total) for word in words))
    for position, word in enumerate(words):
        of_others = math.prod(shares[:position] + shares[position + 1 :])
        groups.append(word.best(together / 3 / len(words) / of_others))
    return " | ".join(f"({group})" for group in groups)
