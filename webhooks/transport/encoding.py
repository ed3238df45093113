"""The encoding of payloads: the bytes that are signed and sent."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import orjson


def encode(payload: Mapping[str, Any], body_format: str) -> tuple[str, bytes]:
    """Return content type and body, as `json` or as `form`."""
    if body_format == "json":
        return "application/json", orjson.dumps(payload)
    if body_format == "form":
        pairs = [pair for name, value in payload.items() for pair in _pairs(name, value)]
        return "application/x-www-form-urlencoded", urlencode(pairs).encode()
    raise ValueError(f"{body_format!r} is neither json nor form.")


def _pairs(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _pairs(f"{name}[{key}]", item)
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from _pairs(f"{name}[{position}]", item)
    elif value is None:
        yield name, "null"
    elif isinstance(value, bool):
        yield name, "true" if value else "false"
    else:
        yield name, str(value)
