"""The OpenAPI document as tests read it: its operations, its schemas, and the faults of a value in a schema."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from drf_spectacular.generators import SchemaGenerator


@lru_cache(maxsize=1)
def document() -> Any:
    return SchemaGenerator().get_schema(request=None, public=True)


def operations() -> Iterator[tuple[str, str, Any]]:
    """Return (path, method, operation) of the whole document."""
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def resolved(node: Any) -> Any:
    """Return the object that a reference refers to."""
    while "$ref" in node:
        *_, kind, name = node["$ref"].split("/")
        node = document()["components"][kind][name]
    return node


def json_schema(node: Any) -> Any:
    """Return a schema of OpenAPI 3.0 as JSON Schema, which spells "or null" differently."""
    if isinstance(node, list):
        return [json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {key: json_schema(value) for key, value in node.items() if key not in ("nullable", "example")}
    if "properties" in node:  # names of the service, which include `example`
        schema["properties"] = {name: json_schema(value) for name, value in node["properties"].items()}
    if node.get("nullable") is True:
        schema["type"] = [node["type"], "null"]
    return schema


def faults(value: Any, schema: Any) -> list[str]:
    """Return the faults of a value in its schema."""
    whole = json_schema(schema) | {"components": components()}
    return [
        f"{error.json_path}: {error.message}" for error in jsonschema.Draft202012Validator(whole).iter_errors(value)
    ]


@lru_cache(maxsize=1)
def components() -> Any:
    return json_schema(document()["components"])


def media_of(node: Any) -> tuple[str, Any]:
    """Return the one content type of a body, and its media type object."""
    ((content_type, media),) = node["content"].items()
    return content_type, media
