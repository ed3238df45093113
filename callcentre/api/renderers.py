from codecs import BOM_UTF8
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any

import orjson
from django.conf import settings
from django.utils.functional import Promise
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from callcentre.api.exceptions import Refusal
from callcentre.core.errors import ErrorCode, Fault, Invalid


class JSONParser(BaseParser):
    """UTF-8 JSON, with or without a byte order mark.

    A too large body is refused by its Content-Length, before it is read.
    """

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        request = (parser_context or {})["request"]
        if int(request.META.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise Refusal(413)
        body = stream.read().removeprefix(BOM_UTF8)
        try:
            return orjson.loads(body) if body.strip() else {}
        except orjson.JSONDecodeError as error:
            raise Invalid([Fault(ErrorCode.NOT_JSON, params={"reason": str(error)})]) from error


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
