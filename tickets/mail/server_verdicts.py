"""The verdicts of our own receiving server about a mail: whether the sender is confirmed (RFC 8601), and spam.

Only headers of servers count that the settings name. A server removes headers that carry its name when a mail comes in
(RFC 8601, 5), so no sender can have written them.
"""

import re
from collections.abc import Mapping, Sequence

from django.conf import settings

METHODS = ("spf", "dkim", "dmarc")
# Headers without the name of a server, as Microsoft 365 writes them.
NAMELESS = "-"
# One that is not closed goes to the end.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)')
_RESULT = re.compile(r"\A\s*+([a-z-]{1,20})(?:/\d{1,3})?\s*+=\s*+([a-z]{1,20})")
_PARTS = re.compile(r"[\s;,]+")
_YES = ("yes", "true", "spam")


def verdicts_of(texts: Mapping[str, Sequence[str]]) -> str:
    """Return the results of the trusted servers as "spf=pass dkim=pass dmarc=pass"; "" for none.

    The first result of a method counts, as the last server writes above the others. Of several signatures (DKIM) in one
    header one that passes is enough.
    """
    trusted = {name.lower() for name in settings.AUTHENTICATION_SERVERS}
    found: dict[str, str] = {}
    for value in texts["authentication-results"] if trusted else ():
        first, *parts = _without_comments(value).lower().split(";")
        name = next(iter(first.split()), "")
        if _RESULT.match(first):
            name, parts = NAMELESS, [first, *parts]
        if name not in trusted:
            continue
        results: dict[str, str] = {}
        for method, result in (match.groups() for part in parts if (match := _RESULT.match(part))):
            if method in METHODS and results.get(method) != "pass":
                results[method] = result
        found = results | found
    return " ".join(f"{method}={found[method]}" for method in METHODS if method in found)[:60]


def is_failing(verdicts: str) -> bool:
    """Return whether the verdicts say that the sender is perhaps another one: DMARC failed; or, where the domain has no
    DMARC, SPF failed and no signature passed.
    """
    results = dict(each.split("=", 1) for each in verdicts.split())
    if results.get("dmarc") in ("pass", "fail"):
        return results["dmarc"] == "fail"
    return results.get("spf") in ("fail", "softfail") and results.get("dkim") != "pass"


def is_called_spam(texts: Mapping[str, Sequence[str]]) -> bool:
    """Return whether one of the headers of the setting calls the mail spam."""
    for entry in settings.SPAM_HEADERS:
        name, _equals, wanted = entry.lower().partition("=")
        for value in texts[name.strip()]:
            words = [word for word in _PARTS.split(value.lower()) if word]
            if (wanted.strip() in words) if wanted else any(word in _YES for word in words[:1]):
                return True
    return False


def _without_comments(value: str) -> str:
    """Return the value without comments, which are in brackets and may be nested, and without quoted strings."""
    kept, depth = [], 0
    for piece in re.split(r"([()])", _QUOTED.sub("", value)):
        if piece == "(":
            depth += 1
        elif piece == ")":
            depth = max(depth - 1, 0)
        elif not depth:
            kept.append(piece)
    return "".join(kept)
