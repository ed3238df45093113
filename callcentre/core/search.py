"""The text that a person searches for, and the functions of the indexes that find it (migrations/0001_initial.sql)."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Func, Model, TextField
from django.utils.text import smart_split

from callcentre.core.phone import PhoneError, normalise
from callcentre.core.scope import Scope

# The longest text that is searched, and the most words of it.
MAX_LENGTH = 200
MAX_WORDS = 5
# The candidates that each branch of a search of the box reads.
CANDIDATES = 50
CANDIDATES_OF_SCOPE = 500
# The candidates that each branch of the search of a list reads for a person with a scope; those outside drop out.
CANDIDATES_OF_LIST = 5_000
# The fewest digits that are searched as the end of a number.
FEWEST_DIGITS = 4
# The fewest letters that are searched as the beginning of a word in messages.
FEWEST_LETTERS = 4
# The longest text, and the most words of it, that a list of the admin takes: an identifier of a mail may be long.
MAX_LENGTH_OF_LIST = 1_000
MAX_WORDS_OF_LIST = 10
_WORD = re.compile(r"\w+")


class Name(Func):
    """A name, or a first name and a last name, without accents and capitals."""

    function = "callcentre_name"
    output_field = TextField()


class Words(Func):
    """The words of one text or of two, without accents."""

    function = "callcentre_words"


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that was found: its key, the line that people see, and what stands under it."""

    pk: Any
    title: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchText:
    """A text and its readings: as words, as a number, as the end of a number."""

    text: str
    # Patterns of LIKE for the words of a name.
    patterns: tuple[str, ...]
    # The text as a query of PostgreSQL's text search, and the same with the last word as a beginning, because a person
    # may still be typing it; "" if the text has no words.
    query: str
    begun: str
    # The normal form; "" if the text is no number.
    number: str
    # Patterns of LIKE for the digits of numbers in reverse.
    endings: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> "SearchText":
        text = " ".join(text.replace("\0", "").split())[:MAX_LENGTH].strip()
        number = _number(text)
        digits = "".join(str(unicodedata.decimal(sign)) for sign in text if sign.isdecimal()) if number else ""
        ends = [digits] if len(digits) >= FEWEST_DIGITS else []
        if ends and number[0] == "+" and not number.endswith(digits):
            ends.append(number[1:])
        patterns = tuple(map(_pattern, text.split()[:MAX_WORDS]))
        return cls(text, patterns, *_queries(text), number, tuple(f"{end[::-1]}%" for end in ends))

    @property
    def is_address(self) -> bool:
        return "@" in self.text

    @property
    def address(self) -> str:
        """The pattern of LIKE for the beginning of an address; "" if the text can begin none."""
        return "" if " " in self.text or (self.number and not self.is_address) else f"{like(self.text)}%"

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of statements: `text`, `address`, `number`, `query`, `begun`, `word0`… and `ending0`…"""
        return {
            "text": self.text,
            "address": self.address,
            "number": self.number,
            "query": self.query,
            "begun": self.begun,
            **{f"word{place}": pattern for place, pattern in enumerate(self.patterns)},
            **{f"ending{place}": pattern for place, pattern in enumerate(self.endings)},
        }

    def like_words(self, expression: str) -> str:
        """Return the condition that an expression of names has all the words."""
        return " AND ".join(f"{expression} LIKE callcentre_plain(%(word{n})s)" for n in range(len(self.patterns)))

    def with_endings(self, *branches: str) -> list[str]:
        """Return the branches of a UNION for each ending. `{ending}` stands for the pattern."""
        return [branch.format(ending=f"%(ending{n})s") for n in range(len(self.endings)) for branch in branches]


def text_of_list(text: str) -> str:
    """Return the text for which a list searches: each further word would be one more condition of its query."""
    text = text[:MAX_LENGTH_OF_LIST]
    words = list(smart_split(text))
    return text if len(words) <= MAX_WORDS_OF_LIST else " ".join(words[:MAX_WORDS_OF_LIST])


def candidates(scope: Scope) -> int:
    """Return the number of candidates of each branch. Those outside the scope drop out, so more are read with one."""
    return CANDIDATES if scope.is_all else CANDIDATES_OF_SCOPE


def read_by_list(most: int, model: type[Model], scope: Scope) -> int:
    """Return the number of candidates that the search of a list reads to find `most` rows inside the scope."""
    return CANDIDATES_OF_LIST if scope.columns_that_narrow(model) else most


def ids_inside(ids: list[Any], model: type[Model], scope: Scope) -> list[Any]:
    """Return the ids of rows inside the scope, in the same order."""
    if not (ids and scope.columns_that_narrow(model)):
        return ids
    inside = set(scope.within(model._base_manager.filter(pk__in=ids)).values_list("pk", flat=True))
    return [pk for pk in ids if pk in inside]


def union(branches: Iterable[str], most: int) -> str:
    """Return the UNION of SELECTs with `most` rows of each.

    The number is a constant: for a parameter the planner expects a tenth of the table, and reads all of it.
    """
    return " UNION ".join(f"({branch} LIMIT {most})" for branch in branches)


def like(text: str) -> str:
    """Return the text with the signs that LIKE reads escaped."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _number(text: str) -> str:
    try:
        return normalise(text)
    except PhoneError:
        return ""


def _pattern(word: str) -> str:
    """Return the pattern of a word inside a name, or at its beginning if the word is too short for the index."""
    return f"%{like(word)}%" if len(word) >= 3 else f"% {like(word)}%"


def _queries(text: str) -> tuple[str, str]:
    """Return the query of all words, and the one with the last word as a beginning."""
    words = _WORD.findall(text)[:MAX_WORDS]
    if not words or max(map(len, words)) < 2:
        return "", ""
    query = " & ".join(f"'{word}'" for word in words)
    return query, f"{query}:*" if len(words[-1]) >= FEWEST_LETTERS else query
