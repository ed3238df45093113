"""The language of the apps' contracts (`tests/<app>/contract.py`): operations, and the shapes of their answers."""

from dataclasses import dataclass, field
from typing import Any

from callcentre.api.renderers import to_json
from tests.conftest import ApiClient

JSON = "application/json; charset=utf-8"


class Each:
    """An object whose values all have one shape: {name: shape}."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


# Shapes: a type; a set of alternatives; a dict for exactly these keys; [shape] for an array of at least one, [] for one
# of none; a tuple for any of some shapes; Each; bytes for an answer that is no JSON; None for an empty answer.
INTEGER_OR_NULL = frozenset({int, type(None)})
NUMBER = frozenset({int, float})
GROUP = {"id": int, "name": str}


@dataclass(frozen=True, eq=False)
class Operation:
    method: str
    path: str
    right: str
    status: int
    answer: Any
    # The usual number of statements, including that of authentication.
    queries: int
    body: Any = None
    # The same operation of an unknown object.
    unknown: str = ""
    is_extension: bool = field(default=False, kw_only=True)
    # Content types of the request and of the answer.
    content_type: str = field(default="application/json", kw_only=True)
    answer_type: str = field(default=JSON, kw_only=True)

    def __str__(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"

    def call(self, client: ApiClient, path: str = "", **headers: Any) -> Any:
        body = "" if self.body is None else self.body if isinstance(self.body, bytes) else to_json(self.body)
        return client.generic(self.method, f"/api{path or self.path}", body, self.content_type, **headers)


def ours(*args: Any, **kwargs: Any) -> Operation:
    """An operation beyond the interface."""
    return Operation(*args, is_extension=True, **kwargs)


def has_shape(value: Any, shape: Any) -> bool:
    if isinstance(shape, Each):
        return isinstance(value, dict) and bool(value) and all(has_shape(one, shape.shape) for one in value.values())
    if isinstance(shape, tuple):
        return any(has_shape(value, one) for one in shape)
    if isinstance(shape, dict):
        return (
            isinstance(value, dict)
            and value.keys() == shape.keys()
            and all(has_shape(value[name], one) for name, one in shape.items())
        )
    if isinstance(shape, list):
        return isinstance(value, list) and bool(value) == bool(shape) and all(has_shape(one, shape[0]) for one in value)
    return type(value) in (shape if isinstance(shape, frozenset) else {shape})


def faults(response: Any, status: int = 400) -> list[tuple[int, str | None]]:
    """Return (code, field) of each fault in a refusal with this status."""
    assert response.status_code == status, response.content
    return [(error["code"], error.get("field")) for error in response.json()["errors"]]
