import re
from typing import Any

from django.urls import URLPattern, re_path

# Values of path parameters: ids hold dots, numbers hold blanks and slashes; a view that wants less says 404.
_PARAMETER = re.compile(r":(\w+)")


def route(path: str, view: Any, name: str = "", **actions: str) -> URLPattern:
    """A route spelled as the interface spells it: `outbounds/:code/records`, with the action of each method.

    There is no trailing slash; one is tolerated and never redirected. The last parameter of a path takes slashes too,
    as a phone number may have them.
    """
    pattern = _PARAMETER.sub(r"(?P<\1>[^/]+)", path)
    if path.endswith(("/:phone_number", "/:identifier")):
        pattern = pattern.removesuffix("[^/]+)") + ".+?)"
    as_view = view.as_view(actions) if actions else view.as_view()
    routed: URLPattern = re_path(rf"^{pattern}/?\Z", as_view, name=name or _PARAMETER.sub(r"{\1}", path))
    return routed
