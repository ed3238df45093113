import re
from typing import Any

from django.urls import URLPattern, re_path

# Values of path parameters: ids contain dots; numbers contain blanks and slashes. Views answer 404 to other values.
_PARAMETER = re.compile(r":(\w+)")


def route(path: str, view: Any, name: str = "", **actions: str) -> URLPattern:
    """Return a route, spelled as in the interface: `outbounds/:code/records`, with the action of each method.

    One trailing slash is tolerated and never redirected. A phone number or an identifier at the end of a path may
    contain slashes. An identifier includes the last slash: its view decides whether that belongs to it.
    """
    pattern = _PARAMETER.sub(r"(?P<\1>[^/]+)", path)
    if path.endswith(("/:phone_number", "/:phone_number/why")):
        pattern = pattern.replace("(?P<phone_number>[^/]+)", "(?P<phone_number>.+?)")
    elif path.endswith("/:identifier"):
        pattern = pattern.removesuffix("[^/]+)") + ".+)"
    as_view = view.as_view(actions) if actions else view.as_view()
    routed: URLPattern = re_path(rf"^{pattern}/?\Z", as_view, name=name or _PARAMETER.sub(r"{\1}", path))
    return routed
