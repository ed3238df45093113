"""Parse the text of a search: words, quoted phrases and -words. No text is an error."""

import re
import unicodedata
from dataclasses import dataclass, replace

from callcentre.core.normal_forms import normalised

# A phrase in quotation marks of any kind, or characters without blanks and such marks; both may follow a minus.
# A phrase without a closing mark ends with the text.
_PART = re.compile(r'(?P<minus>(?<!\S)-)?(?:["“”„«»](?P<phrase>[^"“”„«»]*)["“”„«»]?|(?P<word>[^\s"“”„«»]+))')
# Letters, digits and combining marks, in any alphabet.
WORD = re.compile(r"(?:[^\W_][\u0300-\u036f]*)+")
# A Polish ending after an abbreviation, as in PIN-u. It is dropped.
_ENDING = re.compile(r"(?<![^\W_])([^\W\d_a-ząćęłńóśźż]{2,})[-’'](?:a|u|y|e|i|em|ie|iem|om|ów|owi|ami|ach)(?![\w-])")
# Letters that Unicode does not decompose.
_LETTERS = str.maketrans(
    {"ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ø": "o", "Ø": "O", "ı": "i", "ħ": "h", "Ħ": "H", "ŧ": "t", "Ŧ": "T"}
)
# Further words narrow nothing down, and each takes time.
MAX_TERMS = 40


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or a phrase of several words. A prefix stands for all words that begin like its last word."""

    words: tuple[str, ...]
    is_negative: bool = False
    is_prefix: bool = False

    def tsquery(self) -> str:
        """Return the text for to_tsquery. Words have only letters and digits, so nothing needs escaping."""
        *first, last = (f"'{word}'" for word in self.words)
        phrase = " <-> ".join([*first, f"{last}:*" if self.is_prefix else last])
        return f"!({phrase})" if self.is_negative else f"({phrase})"


@dataclass(frozen=True, slots=True)
class Query:
    terms: tuple[Term, ...]

    @property
    def wanted(self) -> tuple[Term, ...]:
        return tuple(term for term in self.terms if not term.is_negative)

    def tsquery(self) -> str:
        return " & ".join(term.tsquery() for term in self.terms)


def parse(text: str) -> Query:
    """Return the terms of a query; none if it has no wanted word.

    Words that punctuation joins (`e-mail`, `os.path`) are a phrase. The last word is a prefix, because the reader may
    still be typing it, unless it is in quotation marks or unwanted.
    """
    terms: list[Term] = []
    is_last_quoted = False
    for part in _PART.finditer(_ENDING.sub(r"\1", normalised("NFC", text))):
        is_quoted = part["phrase"] is not None
        words = tuple(WORD.findall(part["phrase"] if is_quoted else part["word"]))
        if words:
            terms.append(Term(words, is_negative=part["minus"] is not None))
            is_last_quoted = is_quoted
    terms = terms[:MAX_TERMS]
    if not any(not term.is_negative for term in terms):
        return Query(())
    if not is_last_quoted and not terms[-1].is_negative:
        terms[-1] = replace(terms[-1], is_prefix=True)
    return Query(tuple(dict.fromkeys(terms)))


def fold(word: str) -> str:
    """Return a word without accents and in lower case, like the index."""
    decomposed = normalised("NFD", word.translate(_LETTERS))
    return "".join(char for char in decomposed if not unicodedata.combining(char)).lower()
