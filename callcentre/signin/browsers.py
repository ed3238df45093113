"""The name of a browser in words, from what it says about itself."""

# The first text that occurs decides: Edge and Opera also say Chrome, and Chrome says Safari.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
# More of the header is not stored.
LONGEST = 300


def in_words(user_agent: str) -> str:
    """Return "Firefox, Linux"; the beginning of the text if the browser is unknown."""
    names = [_first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent)]
    return ", ".join(name for name in names if name) or user_agent[:40]


def _first(names: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for part, name in names if part in text), "")
