from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import IO, Any

import orjson
from django.conf import settings
from rest_framework.parsers import BaseParser

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
