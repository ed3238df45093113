"""Unicode's normal forms of texts that others wrote.

Python sorts the marks on a character in a time that grows with the square of their number: 100,000 of them take ten
seconds. No script needs more than a few; Unicode's own limit is 30 (UAX 15, stream-safe text).
"""

import re
import unicodedata
from typing import Literal

_MOST_MARKS = 30
# None of them has a meaning in a pattern. Beyond the last plane searched there is none.
_MARKS = "".join(filter(unicodedata.combining, map(chr, range(0x300, 0x20000))))
_MANY_MARKS = re.compile(f"([{_MARKS}]{{{_MOST_MARKS}}})[{_MARKS}]+")
# What most texts have none of, and is found at once: only there marks are looked for.
_FAR_FROM_LATIN = re.compile("[^\0-\u02ff]{31,}")


def normalised(form: Literal["NFC", "NFD", "NFKD"], text: str) -> str:
    """Return the text in this form, with at most 30 marks on a character."""
    if text.isascii():
        return text
    bounded = _FAR_FROM_LATIN.sub(lambda found: _MANY_MARKS.sub(r"\1", found[0]), text)
    return unicodedata.normalize(form, bounded)
