from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson
from django.utils.functional import Promise
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer

CONTENT_TYPE = "application/json; charset=utf-8"


def _plain(value: Any) -> Any:
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def to_json(data: Any) -> bytes:
    return orjson.dumps(data, default=_plain)


class JSONRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = "utf-8"
    render_style = "binary"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"" if data is None else to_json(data)


class AlwaysJSON(BaseContentNegotiation):
    """The choice of JSON for every answer, also to clients that accept no JSON, and for bodies declared as JSON."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        kind = request.content_type.split(";")[0].strip().lower()
        return next((parser for parser in parsers if kind == parser.media_type or kind.endswith("+json")), None)

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type
