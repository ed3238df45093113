"""The Polish dictionary: the lemmas of a word, and all forms of a lemma.

Only workers that index articles load it (Morfeusz 2, a C library: 40 MB, 0.2 s), once for each pool of processes. They
store lemmas and forms in the database (models/lemma.py), where searches read them.
"""

import itertools
import math
import threading
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from knowledgebase.search.query import fold

try:
    import morfeusz2
except ImportError:  # Linux on ARM has no wheel.
    morfeusz2 = None

# A text is Polish if the dictionary has this share of its words. For other languages the share is up to 0.4.
POLISH_SHARE = 0.6
LONGEST_WORD = 40
# Most accented spellings that are tried for one word, and most words of one text for which they are tried.
MAX_READINGS = 4096
MAX_GUESSED_WORDS = 100
_ACCENTED = {"a": "ą", "c": "ć", "e": "ę", "l": "ł", "n": "ń", "o": "ó", "s": "ś", "z": "źż"}
# Tags that are no words: unknown, punctuation, digits, endings of verbs.
_NO_WORDS = {"ign", "interp", "dig", "aglt"}
_NAMES = {"imię", "nazwisko"}
# The dictionary lists the endings of persons and conditionals separately from the past form of a verb.
_PAST_ENDINGS = {
    "ł": ("em", "eś", "by", "bym", "byś"),
    "ła": ("m", "ś", "by", "bym", "byś"),
    "ło": ("by",),
    "li": ("śmy", "ście", "by", "byśmy", "byście"),
    "ły": ("śmy", "ście", "by", "byśmy", "byście"),
}
# The beginning of the lemma of a negated participle: "niezapłacony" is no form of "zapłacić".
_NOT = "nie+"
# Threads may not share an instance of Morfeusz at the same time.
_lock = threading.Lock()


def is_installed() -> bool:
    return morfeusz2 is not None


def load() -> None:
    """Load the dictionary, so that processes which are forked afterwards share it."""
    if is_installed():
        _analyser()
        _generator()


def lemmas_by_word(words: Iterable[str], *, is_polish: bool) -> dict[str, set[str]]:
    """Return the lemmas of each word that the dictionary has; words are folded as in the index.

    Return nothing if the text neither is known to be Polish nor looks Polish. An unaccented word that the dictionary
    lacks gets the lemmas of all its accented spellings.
    """
    given = {word for word in words if len(word) <= LONGEST_WORD and word.isalpha()}
    known = {word: found for word in given if (found := _lemmas(word))}
    if not is_polish and len(known) < POLISH_SHARE * len(given):
        return {}
    unknown = sorted(word for word in given - known.keys() if word.isascii())
    known |= {word: found for word in unknown[:MAX_GUESSED_WORDS] if (found := _guessed_lemmas(word.lower()))}
    lemmas: dict[str, set[str]] = {}
    for word, found in known.items():
        lemmas.setdefault(fold(word), set()).update(found)
    return lemmas


def forms_of(lemma: str) -> set[str]:
    """Return all forms of a lemma, folded as in the index. The lemma is a lemma of each form."""
    base = lemma.removeprefix(_NOT)
    with _lock:
        found = [row for spelled in {base, base.capitalize(), base.upper()} for row in _generator().generate(spelled)]
    forms = {base}
    for form, _lemma, tag, *_rest in found:
        forms.add(form)
        if tag.startswith("praet"):
            forms.update(_past_forms(form))
    return {fold(form) for form in forms if form.isalpha() and lemma in _lemmas(form)}


@lru_cache(maxsize=50_000)
def _lemmas(word: str) -> frozenset[str]:
    """Return the lemmas of a word as it is written, or capitalised if only a name is spelled so."""
    readings = _analyse(word) or _analyse(word.capitalize())
    common = [reading for reading in readings if not _NAMES.intersection(reading[3])]
    return frozenset(_key(lemma, tag) for _form, lemma, tag, *_rest in common or readings)


@lru_cache(maxsize=2_000)
def _guessed_lemmas(word: str) -> frozenset[str]:
    letters = [letter + _ACCENTED.get(letter, "") for letter in word]
    if math.prod(map(len, letters)) > MAX_READINGS:
        return frozenset()
    return frozenset(itertools.chain.from_iterable(_lemmas_of_spelling(letters)))


def _lemmas_of_spelling(letters: list[str]) -> Iterator[frozenset[str]]:
    for spelled in itertools.product(*letters):
        readings = _analyse("".join(spelled))
        yield frozenset(_key(lemma, tag) for _form, lemma, tag, *_rest in readings)


def _analyse(word: str) -> list[Any]:
    """Return the readings of a word. If the dictionary splits it, return those of the first part."""
    with _lock:
        found = _analyser().analyse(word)
    return [
        reading
        for start, _end, reading in found
        if start == 0 and reading[2].split(":")[0] not in _NO_WORDS and _plain(reading[1]).isalpha()
    ]


def _key(lemma: str, tag: str) -> str:
    return (_NOT if "neg" in tag.split(":") else "") + _plain(lemma)


def _plain(lemma: str) -> str:
    """Return a lemma without the mark that tells apart words with one spelling."""
    return str(lemma).partition(":")[0].lower()


def _past_forms(form: str) -> Iterator[str]:
    for last, endings in _PAST_ENDINGS.items():
        if form.endswith(last):
            yield from (form + ending for ending in endings)


@cache
def _analyser() -> Any:
    return morfeusz2.Morfeusz(generate=False)


@cache
def _generator() -> Any:
    return morfeusz2.Morfeusz(analyse=False)
