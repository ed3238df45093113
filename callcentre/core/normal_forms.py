"""Unicode normal forms of texts from strangers.

Python's time to sort the marks on a character grows with the square of their number: 100,000 marks take ten seconds.
Unicode itself limits them to 30 (UAX 15, stream-safe text).
"""

import re
import unicodedata
from typing import Literal

_MOST_MARKS = 30
# The marks have no meaning in a pattern. There are none beyond the last plane searched.
_MARKS = "".join(filter(unicodedata.combining, map(chr, range(0x300, 0x20000))))
_MANY_MARKS = re.compile(f"([{_MARKS}]{{{_MOST_MARKS}}})[{_MARKS}]+")
# Most texts contain no such character, so the search for marks can be skipped.
_FAR_FROM_LATIN = re.compile("[^\0-\u02ff]{31,}")


def normalised(form: Literal["NFC", "NFD", "NFKD"], text: str) -> str:
    """Return the text in this form, with at most 30 marks on each character."""
    if text.isascii():
        return text
    bounded = _FAR_FROM_LATIN.sub(lambda found: _MANY_MARKS.sub(r"\1", found[0]), text)
    return unicodedata.normalize(form, bounded)
