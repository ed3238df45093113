"""Which articles of those that match a common word to rank: docs/decisions/0010."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

# Matches that are ranked one by one: about a microsecond each.
ALL_RANKED = 3000
# Candidates where there are more; for one word, and for several together.
CANDIDATES = 1500
CANDIDATES_TOGETHER = 2000


@dataclass(slots=True)
class Frequency:
    """How common a word of a query is in the catalog, and where it stands out: level -> lexeme -> articles."""

    articles: int = 0
    peaks: dict[int, dict[str, int]] = field(default_factory=dict)
    # '=' and the beginning of a word of four letters or more: one key for all the words that begin so.
    beginning: str = ""

    def add(self, term: str, articles: int, levels: Sequence[int], counts: Sequence[int]) -> None:
        if any(term in terms for terms in self.peaks.values()):
            return  # a word that is its own stem
        self.articles += articles
        for level, count in zip(levels, counts, strict=True):
            self.peaks.setdefault(level, {})[term] = count

    def best(self, wanted: float) -> str:
        """A query of peaks that finds about so many articles, or some more: those where the word stands out most."""
        chosen: list[int] = []
        for level in sorted(self.peaks, reverse=True):
            chosen = self._from(level)
            if sum(sum(self.peaks[one].values()) for one in chosen) >= wanted:
                break
        lexemes = dict.fromkeys(self._lexeme(level, term) for level in chosen for term in self.peaks[level])
        return f"({' | '.join(lexemes)})"

    def _from(self, level: int) -> list[int]:
        """The levels that together mean this one and all above it (knowledgebase_peaks says how they are numbered)."""
        if any(term.startswith("^") for term in self.peaks[level]):
            return [level]
        return [level, *(title for title in (10, 20, 30) if title > level and title in self.peaks)]

    def _lexeme(self, level: int, term: str) -> str:
        if self.beginning and term.startswith(self.beginning):
            return f"'{level:02}{self.beginning}':*"
        return f"'{level:02}{term}'"


def candidates(words: Sequence[Frequency], total: int) -> str:
    """A query of peaks for the articles worth ranking; "" where all matches are, as they are few.

    For several words: the articles in which all of them stand out, and those in which one of them does most.
    """
    if not words or not total:
        return ""
    shares = [min(word.articles / total, 1.0) for word in words]
    if total * math.prod(shares) <= ALL_RANKED or not all(word.peaks for word in words):
        return ""
    if len(words) == 1:
        return words[0].best(CANDIDATES)
    share = (CANDIDATES_TOGETHER / total) ** (1 / len(words))
    groups = [" & ".join(word.best(share * total) for word in words)]
    for position, word in enumerate(words):
        of_others = math.prod(shares[:position] + shares[position + 1 :])
        groups.append(word.best(CANDIDATES_TOGETHER / 3 / len(words) / of_others))
    return " | ".join(f"({group})" for group in groups)
