"""Which articles of those that match a common word to rank: docs/decisions/0010."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

# Matches that are ranked one by one: about a microsecond each.
ALL_RANKED = 3000
# Candidates where there are more; for one word, and for several together.
CANDIDATES = 1000
CANDIDATES_TOGETHER = 1500


@dataclass(slots=True)
class Frequency:
    """How common a word of a query is in the catalog, and where it stands out: (class, lexeme) -> articles."""

    articles: int = 0
    peaks: dict[tuple[int, str], int] = field(default_factory=dict)
    is_prefix: bool = False

    def best(self, wanted: float) -> str:
        """A query of peaks that finds about so many articles, those in which the word stands out most."""
        lexemes = []
        total = 0
        for (level, lexeme), articles in sorted(self.peaks.items(), key=lambda peak: (-peak[0][0], peak[0][1])):
            if lexemes and total + articles > 1.5 * wanted:
                break
            # A prefix of four letters or more: the words that begin so, each with its own peaks.
            star = ":*" if self.is_prefix and lexeme[0] == "=" else ""
            lexemes.append(f"'{level:02}{lexeme}'{star}")
            total += articles
            if total >= wanted:
                break
        return f"({' | '.join(dict.fromkeys(lexemes))})"


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
        groups.append(word.best(CANDIDATES_TOGETHER / len(words) / of_others))
    return " | ".join(f"({group})" for group in groups)
